/* gradient_check.h - the gradient of every parameter, compared with finite differences of the
 * loss. */
#pragma once

#include "model/model.h"

/* Checks the gradient of every parameter of m, for one batch of sequences of these lengths (0 ends
 * the list). m needs an engine of fixture_exact_engine. */
void gradient_check_model(struct sl_model *m, const int *lengths);
