/* logits.h - functions of logits for the engine only; the public ones are in sluice/logits.h. */
#pragma once

#include "sluice/logits.h"

#include <stdbool.h>
#include <stddef.h>

bool sl_all_finite(const float *x, size_t count);
/* log(sum of exp(x)); does not overflow. */
double sl_log_sum_exp(const float *x, int count);
