/* logits.c - what is asked of logits, whoever they are for. */
#include "infer/logits.h"

#include "sluice/infer.h"

#include <math.h>

bool sl_all_finite(const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

double sl_log_sum_exp(const float *x, int count)
{
    double most = (double)x[sl_highest(x, count)], sum = 0.0;
    for (int i = 0; i < count; i++)
        sum += exp((double)x[i] - most);
    // cppcheck-suppress invalidFunctionArg; count > 0, so one term is 1
    return most + log(sum);
}
