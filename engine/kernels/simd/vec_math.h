/* vec_math.h - functions of vectors: exp, the activations, the random words of dropout. */
#pragma once

#include "kernels/kernels.h"
#include "kernels/polynomials.h"
#include "kernels/simd/vec.h"

#include <assert.h>
#include <math.h>

/* c0 + c1 x + ... by Horner's rule. Inlined, since the number of terms is then a constant. */
static inline __attribute__((always_inline)) vec vec_polynomial(const float *c, int terms, vec x)
{
    vec p = vec_set(c[terms - 1]);
    for (int i = terms - 2; i >= 0; i--)
        p = vec_fma(p, x, vec_set(c[i]));
    return p;
}

static inline vec vec_exp(vec x)
{
    /* This order of operands propagates NaN. */
    x = vec_min(vec_set(sl_exp_max), vec_max(vec_set(sl_exp_min), x));
    const vec n = vec_round(x * vec_set(sl_log2_e));
    vec r = vec_fnma(n, vec_set(sl_ln2_high), x);
    r = vec_fnma(n, vec_set(sl_ln2_low), r);
    vec p = vec_polynomial(sl_exp_terms, SL_EXP_TERMS, r);
    p = vec_fma(p, r * r, r + vec_set(1.0f));
    return vec_scale2(p, n);
}

/* The terms of GELU and its derivative for z = |x|: e^(-z^2 / 2) and 1 - Phi(z). */
struct vec_normal {
    vec bell, tail;
};

static inline struct vec_normal vec_normal(vec z)
{
    const vec one = vec_set(1.0f), bell = vec_exp(z * (z * vec_set(-0.5f)));
    const vec t = one / vec_fma(z, vec_set(sl_tail_p), one);
    const vec p = vec_polynomial(sl_tail_terms, SL_TAIL_TERMS, t);
    return (struct vec_normal){.bell = bell, .tail = bell * (p * t)};
}

/* x Phi(x) = max(x, 0) - |x| (1 - Phi(|x|)) */
static inline vec vec_gelu(vec x, const struct vec_normal *n)
{
    return vec_fnma(vec_abs(x), n->tail, vec_max(vec_set(0.0f), x));
}

/* Phi(x) + x phi(x) */
static inline vec vec_gelu_slope(vec x, const struct vec_normal *n)
{
    const vec phi = vec_if_positive(x, vec_set(1.0f) - n->tail, n->tail);
    return vec_fma(x, n->bell * vec_set(sl_density_0), phi);
}

static inline vec vec_sigmoid(vec x)
{
    const vec one = vec_set(1.0f);
    return one / (one + vec_exp(vec_set(0.0f) - x));
}

/* x sigmoid(u) and its derivative, with u' = u_slope. */
static inline void vec_swish(vec x, vec u, vec u_slope, vec *y, vec *slope)
{
    const vec p = vec_sigmoid(u);
    *y = x * p;
    *slope = vec_fma(*y * u_slope, vec_set(1.0f) - p, p);
}

/* tanh(x) = 2 sigmoid(2 x) - 1, and near 0, where that cancels, x times a polynomial of x^2. */
static inline vec vec_tanh(vec x)
{
    const vec square = x * x, small = vec_set(sl_tanh_small * sl_tanh_small);
    const vec near = vec_fma(x * square, vec_polynomial(sl_tanh_terms, SL_TANH_TERMS, square), x);
    const vec far = vec_fma(vec_set(2.0f), vec_sigmoid(x + x), vec_set(-1.0f));
    return vec_if_positive(square - small, far, near);
}

static inline void vec_gelu_tanh(vec x, vec *y, vec *slope)
{
    const vec scale = vec_set(sl_gelu_tanh_scale), square = x * x;
    const vec cubic = vec_set(sl_gelu_tanh_scale * 0.044715f);
    vec_swish(x, x * vec_fma(cubic, square, scale), vec_fma(cubic * square, vec_set(3.0f), scale),
              y, slope);
}

/* f(x) and f'(x); the compiler drops what is not used. */
static inline void vec_activate(vec x, enum sl_activation f, vec *y, vec *slope)
{
    const vec zero = vec_set(0.0f), one = vec_set(1.0f);
    const struct vec_normal n = vec_normal(vec_abs(x));
    switch (f) {
    case SL_LINEAR:
        *y = x;
        *slope = one;
        return;
    case SL_RELU:
        *y = vec_max(zero, x); /* a NaN stays */
        *slope = vec_if_positive(x, one, zero);
        return;
    case SL_GELU:
        *y = vec_gelu(x, &n);
        *slope = vec_gelu_slope(x, &n);
        return;
    case SL_GELU_TANH: vec_gelu_tanh(x, y, slope); return;
    case SL_SILU: vec_swish(x, x, one, y, slope); return;
    case SL_TANH:
        *y = vec_tanh(x);
        *slope = vec_fnma(*y, *y, one);
        return;
    }
    assert(false && "an activation without a formula");
}

/* The 32-bit finaliser of MurmurHash3. */
static inline uvec vec_hash(uvec h)
{
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

/* The random words of columns first .. first + 2 LANES - 1 of a row: kernels.h, sl_dropout. Each
 * has 16 bits for an even column and 16 for the odd one after it; first is even. */
static inline uvec vec_dropout_words(uint32_t row_key, uint32_t first)
{
    uvec lanes = {0};
    for (uint32_t i = 0; i < LANES; i++)
        lanes[i] = i;
    return vec_hash(row_key ^ (lanes + first / 2) * 0x9E3779B9u);
}

/* Four sums in turn, to hide the latency of an addition; the order depends on n alone. */
static inline float vec_sum_row(const float *x, int n)
{
    vec sums[4] = {vec_set(0.0f), vec_set(0.0f), vec_set(0.0f), vec_set(0.0f)};
    for (int i = 0; i < n; i += 4 * LANES)
        for (int j = 0; j < 4; j++)
            sums[j] += vec_load(x + i + j * LANES, n - i - j * LANES);
    return vec_sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

/* mean, or 0 when rms, and 1 / sqrt(var + epsilon) of a row */
static inline void vec_moments(const float *x, int n, float epsilon, bool rms, float stats[2])
{
    const float mean = rms ? 0.0f : vec_sum_row(x, n) / (float)n;
    const vec means = vec_set(mean);
    vec squares[4] = {vec_set(0.0f), vec_set(0.0f), vec_set(0.0f), vec_set(0.0f)};
    for (int i = 0; i < n; i += 4 * LANES)
        for (int j = 0; j < 4; j++) {
            const int rest = n - i - j * LANES;
            const vec d = vec_first(vec_load(x + i + j * LANES, rest) - means, rest);
            squares[j] = vec_fma(d, d, squares[j]);
        }
    const vec all = (squares[0] + squares[1]) + (squares[2] + squares[3]);
    stats[0] = mean;
    stats[1] = 1.0f / sqrtf(vec_sum(all) / (float)n + epsilon);
}
