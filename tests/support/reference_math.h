/* reference_math.h - the pieces of attention in double precision, for tests that write a formula
 * out. */
#pragma once

#include "support/test.h"

/* `count` normal random numbers times `size`, by name and seed; the caller frees them. */
float *reference_random(const char *name, int count, double size);

/* The sum of x[i] * y[i]. */
double reference_dot(const float *x, const float *y, int n);

/* Softmax in place. */
void reference_softmax(double *x, int n);

/* The largest difference over the largest of what is wanted; NaN is as far as can be. */
double reference_max_relative(const float *have, const float *want, size_t count);
