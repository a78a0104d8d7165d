/* operating_points.h - the operating points in config.json, by falling budget:
 *
 *     "operating_points": [{"budget": 1.0, "gate_limit": 1.0, "loss": 1.4586, "accuracy": null,
 *                           "layer_ops_skipped": 0.0},
 *                          {"budget": 0.62, "gate_limit": 0.5, ...}]
 *
 * The first has the budget 1. The second member is the threshold of the architecture. */
#pragma once

#include "checkpoint/model_config.h"

struct json_t;

/* Reads the member of config.json, if it has one. The architecture must be known. */
bool sl_operating_points_read(struct sl_model_config *model_config, const struct json_t *root,
                              struct sl_err *err) SL_MUST_CHECK;
/* Adds the member if there are points; false: no memory. */
bool sl_operating_points_print(struct json_t *root, const struct sl_model_config *model_config)
    SL_MUST_CHECK;
