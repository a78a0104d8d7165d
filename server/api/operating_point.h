/* operating_point.h - which operating point of its model a request is computed at. */
#pragma once

#include "core/request.h"
#include "core/token_usage.h"
#include "params/budget_field.h"
#include "registry/registry.h"

/* The number of the point that the request's budget chooses: that of its body, or else of its
 * header. 0 without a budget, and for an endpoint that takes none (NULL). Sets the usage's budget
 * to that of the point. Fails if the model has no operating points, or none with so small a
 * budget. */
bool sv_choose_operating_point(const struct sv_request *request, const struct sv_model_ref *ref,
                               const struct sv_budget *budget, struct sv_usage *usage, int *number,
                               struct sv_error *error) SL_MUST_CHECK;
/* Adds the header with the budget of the operating point, if there is one. */
void sv_add_budget_header(struct sv_request *request, const struct sv_usage *usage);
