/* reference_math.c - random numbers, a dot product and softmax in double precision. */
#include "support/reference_math.h"

#include "base/random.h"

#include <math.h>

float *reference_random(const char *name, int count, double size)
{
    float *x = calloc((size_t)count, sizeof *x);
    cr_assert(x);
    for (int i = 0; i < count; i++)
        x[i] = (float)(size * sl_random_normal(sl_random_key(test_seed(), name), (uint64_t)i));
    return x;
}

double reference_dot(const float *x, const float *y, int n)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        sum += (double)x[i] * (double)y[i];
    return sum;
}

void reference_softmax(double *x, int n)
{
    double max = -(double)INFINITY, sum = 0.0;
    for (int i = 0; i < n; i++)
        max = fmax(max, x[i]);
    for (int i = 0; i < n; i++)
        sum += x[i] = exp(x[i] - max);
    for (int i = 0; i < n; i++)
        x[i] /= sum;
}

double reference_max_relative(const float *have, const float *want, size_t count)
{
    double difference = 0.0, max = 0.0;
    for (size_t i = 0; i < count; i++) {
        double d = fabs((double)have[i] - (double)want[i]);
        difference =
            d >= 0.0 ? fmax(difference, d) : (double)INFINITY; /* NaN is as far as can be */
        max = fmax(max, fabs((double)want[i]));
    }
    return difference / max;
}
