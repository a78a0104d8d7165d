/* logits.h - what is asked of logits, whoever they are for. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

bool sl_all_finite(const float *x, size_t count);
/* log(sum of exp(x)), which no x is too large for. */
double sl_log_sum_exp(const float *x, int count);
