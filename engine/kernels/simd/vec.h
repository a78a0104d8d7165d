/* vec.h - vectors of LANES floats, as wide as the level that includes this was compiled for.
 *
 * Sums, differences, products and quotients are written with C's operators, which gcc and clang
 * define for vectors. What the operators lack is in one header per instruction set:
 *
 *     vec_set(a)                 a in every lane
 *     vec_load(x, n)             the first n floats at x, zeros after them; n may be any number
 *     vec_load_bf16(x, n)        the same of bf16
 *     vec_load_or(v, x, n)       vec_load with the lanes of v after them
 *     vec_store(y, n, v)         writes the first n lanes
 *     vec_first(v, n)            the first n lanes, zeros after them
 *     vec_fma(a, b, c)           a b + c, rounded once where the processor can
 *     vec_fnma(a, b, c)          c - a b, likewise
 *     vec_min(a, b) vec_max(a, b) b when either is NaN
 *     vec_sqrt(v)
 *     vec_if_positive(x, a, b)   a where x > 0, else b
 *     vec_round(v)               to whole numbers, nearest even; |v| < 2^22
 *     vec_scale2(p, n)           p 2^n for whole n from -150 to 130
 *     vec_sum(v) vec_highest(v)  over all lanes; halves first, then quarters, and so on
 *     vec_fold(rows)             of LANES vectors: lane i is vec_sum(rows[i])
 *     vec_transpose(rows)        of LANES vectors: lane j of rows[i] becomes lane i of rows[j]
 *     vec_drop(pair, words, t)   zeros in those of 2 LANES lanes whose 16 bits of words are below t
 */
#pragma once

#include <stdint.h>
#include <string.h>

#if defined SL_VEC_LANES
#include "kernels/simd/vec_generic.h"
#elif defined __AVX512F__
#include "kernels/simd/vec_avx512.h"
#elif defined __AVX2__
#include "kernels/simd/vec_avx2.h"
#elif defined __ARM_NEON
#include "kernels/simd/vec_neon.h"
#else
#include "kernels/simd/vec_generic.h"
#endif

/* LANES whole floats. */
static inline vec vec_loadu(const float *x)
{
    vec v;
    memcpy(&v, x, sizeof v);
    return v;
}

#ifndef SL_VEC_LOAD_BF16
static inline vec vec_load_bf16(const uint16_t *x, int n)
{
    typedef uint16_t halves __attribute__((vector_size(2 * LANES)));

    halves h = {0};
    if (n >= LANES)
        memcpy(&h, x, sizeof h);
    else
        for (int i = 0; i < n; i++)
            h[i] = x[i];
    return (vec)(__builtin_convertvector(h, uvec) << 16);
}
#endif

static inline void vec_storeu(float *y, vec v)
{
    memcpy(y, &v, sizeof v);
}

/* A sum whose type is vec, which the one of `a + b` is not for `?:`. */
static inline vec vec_add(vec a, vec b)
{
    return a + b;
}

static inline vec vec_abs(vec v)
{
    return (vec)((uvec)v & 0x7fffffffu);
}

#ifndef SL_VEC_SCALE2
/* 2^n for n from -126 to 127, made in the exponent field. */
static inline vec vec_power2(uvec n)
{
    return (vec)((n + 127u) << 23);
}

/* In two steps, since 2^n alone may be subnormal or infinite. */
static inline vec vec_scale2(vec p, vec n)
{
    const uvec whole = (uvec) __builtin_convertvector(n, ivec), half = (uvec)((ivec)whole >> 1);
    return p * vec_power2(half) * vec_power2(whole - half);
}
#endif
