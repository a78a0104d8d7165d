/* weight_names.h - parameters of ours from the tensors of a published model. */
#pragma once

#include "pretrained/config_json.h"
#include "pretrained/weights.h"

struct sl_parameter;

/* Reads the values of all parameters; of a table with more rows than ours, the first. Fails for a
 * tensor that is missing, has another shape, holds NaN or infinity, or is left over. */
bool sl_weights_load(const struct sl_weights *weights, const struct sl_published *published,
                     const struct sl_parameter *parameters, int count, struct sl_err *err)
    SL_MUST_CHECK;
