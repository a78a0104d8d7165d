/* vec_generic.h - SL_VEC_LANES floats with the vector extensions of gcc and clang, for any
 * processor; vec.h says what each function does. The portable level has 4 where there is no header
 * of the processor's own: gcc makes SSE2 of it. Tests have 16 with SL_VEC_FMA, which makes the
 * results of AVX-512 without it. */
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifndef SL_VEC_LANES
#define SL_VEC_LANES 4
#endif
#if defined __FP_FAST_FMAF && !defined SL_VEC_FMA /* a multiply-add is one instruction */
#define SL_VEC_FMA
#endif

/* A tile of a product keeps VEC_TILE_ROWS x VEC_TILE_VECTORS sums in registers. */
enum { VEC_REGISTERS = 16, VEC_TILE_ROWS = 3, VEC_TILE_VECTORS = 4 };

enum { LANES = SL_VEC_LANES };

typedef float vec __attribute__((vector_size(4 * SL_VEC_LANES)));
typedef uint32_t uvec __attribute__((vector_size(4 * SL_VEC_LANES)));
typedef int32_t ivec __attribute__((vector_size(4 * SL_VEC_LANES)));
typedef uint16_t vec_halves __attribute__((vector_size(4 * SL_VEC_LANES)));
typedef int16_t vec_half_masks __attribute__((vector_size(2 * SL_VEC_LANES)));

struct vec_pair {
    vec low, high;
};

static inline vec vec_set(float a)
{
    return a - (vec){0.0f}; /* exact, also for -0 */
}

static inline vec vec_load_or(vec other, const float *x, int n)
{
    if (n >= LANES)
        memcpy(&other, x, sizeof other);
    else
        for (int i = 0; i < LANES; i++) /* from `i < n` alone gcc 14 does not see that i < LANES */
            if (i < n)
                other[i] = x[i];
    return other;
}

static inline vec vec_load(const float *x, int n)
{
    return vec_load_or((vec){0.0f}, x, n);
}

static inline void vec_store(float *y, int n, vec v)
{
    if (n >= LANES)
        memcpy(y, &v, sizeof v);
    else
        for (int i = 0; i < n; i++)
            y[i] = v[i];
}

static inline vec vec_first(vec v, int n)
{
    for (int i = n < 0 ? 0 : n; i < LANES; i++)
        v[i] = 0.0f;
    return v;
}

static inline vec vec_fma(vec a, vec b, vec c)
{
#ifdef SL_VEC_FMA
    for (int i = 0; i < LANES; i++)
        c[i] = fmaf(a[i], b[i], c[i]);
    return c;
#else
    return a * b + c;
#endif
}

static inline vec vec_fnma(vec a, vec b, vec c)
{
    return vec_fma(-a, b, c);
}

static inline vec vec_select(ivec mask, vec a, vec b)
{
    return (vec)((mask & (ivec)a) | (~mask & (ivec)b));
}

static inline vec vec_min(vec a, vec b)
{
    return vec_select(a < b, a, b);
}

static inline vec vec_max(vec a, vec b)
{
    return vec_select(a > b, a, b);
}

static inline vec vec_sqrt(vec v)
{
    for (int i = 0; i < LANES; i++)
        v[i] = sqrtf(v[i]);
    return v;
}

static inline vec vec_if_positive(vec x, vec a, vec b)
{
    return vec_select(x > 0.0f, a, b);
}

static inline vec vec_round(vec v)
{
    const float magic = 0x1.8p23f; /* leaves no bits for fractions */
    return (v + magic) - magic;
}

static inline float vec_sum(vec v)
{
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int i = 0; i < width; i++)
            v[i] += v[i + width];
    return v[0];
}

static inline float vec_highest(vec v)
{
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int i = 0; i < width; i++)
            v[i] = v[i] > v[i + width] ? v[i] : v[i + width];
    return v[0];
}

static inline vec vec_fold(const vec rows[LANES])
{
    vec sums;
    for (int i = 0; i < LANES; i++)
        sums[i] = vec_sum(rows[i]);
    return sums;
}

static inline void vec_transpose(vec rows[LANES])
{
#if SL_VEC_LANES == 4
    const vec a = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5);
    const vec b = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5);
    const vec c = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7);
    const vec d = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
    rows[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    rows[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    rows[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
    rows[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
#else
    for (int i = 0; i < LANES; i++)
        for (int j = 0; j < i; j++) {
            const float swapped = rows[i][j];
            rows[i][j] = rows[j][i];
            rows[j][i] = swapped;
        }
#endif
}

/* The halves of the words lie in the order of the lanes on little-endian processors only. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "halves of words are in order");

static inline struct vec_pair vec_drop(struct vec_pair v, uvec words, uint32_t threshold)
{
    const vec_halves kept = (vec_halves)((vec_halves)words >= (uint16_t)threshold);
    vec_half_masks low, high;
    memcpy(&low, &kept, sizeof low);
    memcpy(&high, (const char *)&kept + sizeof low, sizeof high);
    return (struct vec_pair){(vec)((ivec)v.low & __builtin_convertvector(low, ivec)),
                             (vec)((ivec)v.high & __builtin_convertvector(high, ivec))};
}
