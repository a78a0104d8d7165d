/* logits.h - what the rest of the engine computes from logits, besides sluice/logits.h. */
#pragma once

#include "sluice/logits.h"

#include <stdbool.h>
#include <stddef.h>

bool sl_all_finite(const float *x, size_t count);
/* log(sum of exp(x)); does not overflow. */
double sl_log_sum_exp(const float *x, int count);
