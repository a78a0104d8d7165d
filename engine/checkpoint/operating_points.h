/* operating_points.h - the operating points in config.json, by falling budget:
 *
 *     "operating_points": [{"budget": 1.0, "gate_limit": 1.0, "loss": 1.4586, "accuracy": null,
 *                           "layer_ops_skipped": 0.0},
 *                          {"budget": 0.62, "gate_limit": 0.5, ...}]
 *
 * The first has the budget 1. The second member is the threshold of the architecture. */
#pragma once

#include "model/model.h"

struct json_t;

/* Reads the member of config.json, if it has one: at most SL_OPERATING_POINTS_MAX points. */
bool sl_operating_points_read(const struct json_t *root, const struct sl_arch *arch,
                              struct sl_operating_point *points, int *count, struct sl_err *err)
    SL_MUST_CHECK;
/* Adds the member if there are points; false: no memory. */
bool sl_operating_points_print(struct json_t *root, const struct sl_arch *arch,
                               const struct sl_operating_point *points, int count) SL_MUST_CHECK;
