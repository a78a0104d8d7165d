/* logits.c - argmax, softmax and log-softmax; long sums are in double. */
#include "infer/logits.h"

#include <math.h>

int sl_argmax(const float *x, int n)
{
    int best = 0;
    for (int i = 1; i < n; i++)
        best = x[i] > x[best] ? i : best;
    return best;
}

int sl_largest(const float *x, int n, int most, int *indices)
{
    int kept = 0;
    for (int i = 0; i < n; i++) {
        if (kept == most && !(x[i] > x[indices[kept - 1]]))
            continue;
        int at = kept < most ? kept++ : kept - 1;
        for (; at > 0 && x[indices[at - 1]] < x[i]; at--)
            indices[at] = indices[at - 1];
        indices[at] = i;
    }
    return kept;
}

bool sl_all_finite(const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

double sl_log_sum_exp(const float *x, int count)
{
    double max = (double)x[sl_argmax(x, count)], sum = 0.0;
    for (int i = 0; i < count; i++)
        sum += exp((double)x[i] - max);
    // cppcheck-suppress invalidFunctionArg; count > 0, so one term is 1
    return max + log(sum);
}

void sl_softmax(const float *logits, int classes, float *out)
{
    double max = (double)logits[sl_argmax(logits, classes)], sum = 0.0;
    for (int i = 0; i < classes; i++)
        sum += exp((double)logits[i] - max);
    for (int i = 0; i < classes; i++)
        out[i] = (float)(exp((double)logits[i] - max) / sum);
}

void sl_sigmoids(const float *logits, int count, float *out)
{
    for (int i = 0; i < count; i++)
        out[i] = (float)sl_sigmoid((double)logits[i]);
}

void sl_log_softmax(const float *logits, int vocab, float *out)
{
    double whole = sl_log_sum_exp(logits, vocab);
    for (int i = 0; i < vocab; i++)
        out[i] = (float)((double)logits[i] - whole);
}

double sl_cosine(const float *x, const float *y, int count, double of_zero)
{
    double xy = 0.0, xx = 0.0, yy = 0.0;
    for (int i = 0; i < count; i++) {
        xy += (double)x[i] * (double)y[i];
        xx += (double)x[i] * (double)x[i];
        yy += (double)y[i] * (double)y[i];
    }
    return xx > 0.0 && yy > 0.0 ? xy / sqrt(xx * yy) : of_zero;
}
