/* logits.h - functions of logits for the engine only; the public ones are in sluice/logits.h. */
#pragma once

#include "sluice/logits.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

bool sl_all_finite(const float *x, size_t count);
/* log(sum of exp(x)); does not overflow. */
double sl_log_sum_exp(const float *x, int count);

/* Of two vectors of count numbers; of_zero if one of them has the length 0. */
double sl_cosine(const float *x, const float *y, int count, double of_zero);

static inline double sl_sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

/* log(1 + exp(x)); does not overflow. */
static inline double sl_softplus(double x)
{
    return x > 0.0 ? x + log1p(exp(-x)) : log1p(exp(x));
}
