/* avx2_math.h - vector functions, sums and masks of 8 floats. */
#pragma once

#include "kernels/polynomials.h"

#include <immintrin.h>
#include <stdint.h>

/* The first n of 8 lanes; n may be anything. */
static inline __m256i sl_first8(int n)
{
    const __m256i lanes = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), lanes);
}

/* Only the first n floats at x are read; the other lanes are 0. */
static inline __m256 sl_load8(const float *x, int n)
{
    return n >= 8 ? _mm256_loadu_ps(x) : _mm256_maskload_ps(x, sl_first8(n));
}

static inline void sl_store8(float *y, int n, __m256 v)
{
    if (n >= 8)
        _mm256_storeu_ps(y, v);
    else
        _mm256_maskstore_ps(y, sl_first8(n), v);
}

static inline __m256 sl_zero_past8(__m256 v, int n)
{
    return n >= 8 ? v : _mm256_and_ps(v, _mm256_castsi256_ps(sl_first8(n)));
}

/* The three additions of a reduction, always in the same order: halves, quarters, pairs. */
static inline float sl_sum8(__m256 v)
{
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
}

/* The sums of eight vectors, each as sl_sum8 takes it. */
static inline __m256 sl_sum8_of_8(const __m256 v[8])
{
    __m256 quarters[4], pairs[2];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        quarters[i] = _mm256_add_ps(_mm256_permute2f128_ps(v[i], v[i + 4], 0x20),
                                    _mm256_permute2f128_ps(v[i], v[i + 4], 0x31));
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++)
        pairs[i] = _mm256_add_ps(_mm256_shuffle_ps(quarters[2 * i], quarters[2 * i + 1], 0x44),
                                 _mm256_shuffle_ps(quarters[2 * i], quarters[2 * i + 1], 0xEE));
    return _mm256_add_ps(_mm256_shuffle_ps(pairs[0], pairs[1], 0x88),
                         _mm256_shuffle_ps(pairs[0], pairs[1], 0xDD));
}

static inline float sl_max8(__m256 v)
{
    __m128 q = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    q = _mm_max_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_max_ss(q, _mm_movehdup_ps(q)));
}

/* 2^n for whole n from -126 to 127, made in the exponent field. */
static inline __m256 sl_power8(__m256i n)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}

/* c0 + c1 x + ... by Horner's rule. Inlined, since the number of terms is then a constant. */
static inline __attribute__((always_inline)) __m256 sl_polynomial8(const float *c, int terms,
                                                                   __m256 x)
{
    __m256 p = _mm256_set1_ps(c[terms - 1]);
    for (int i = terms - 2; i >= 0; i--)
        p = _mm256_fmadd_ps(p, x, _mm256_set1_ps(c[i]));
    return p;
}

static inline __m256 sl_exp8(__m256 x)
{
    /* This order of operands propagates NaN. */
    x = _mm256_min_ps(_mm256_set1_ps(sl_exp_max), _mm256_max_ps(_mm256_set1_ps(sl_exp_min), x));
    const __m256 n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(sl_log2_e)),
                                     _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(sl_ln2_high), x);
    r = _mm256_fnmadd_ps(n, _mm256_set1_ps(sl_ln2_low), r);
    __m256 p = sl_polynomial8(sl_exp_terms, SL_EXP_TERMS, r);
    p = _mm256_fmadd_ps(p, _mm256_mul_ps(r, r), _mm256_add_ps(r, _mm256_set1_ps(1.0f)));
    /* In two steps, since 2^n alone may be subnormal or infinite. */
    const __m256i whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1);
    p = _mm256_mul_ps(p, sl_power8(half));
    return _mm256_mul_ps(p, sl_power8(_mm256_sub_epi32(whole, half)));
}

/* The terms of GELU and its derivative for z = |x|: e^(-z^2 / 2) and 1 - Phi(z). */
struct sl_normal8 {
    __m256 bell, tail;
};

static inline struct sl_normal8 sl_normal8(__m256 z)
{
    const __m256 half = _mm256_mul_ps(z, _mm256_set1_ps(-0.5f));
    const __m256 bell = sl_exp8(_mm256_mul_ps(z, half));
    const __m256 one = _mm256_set1_ps(1.0f);
    const __m256 t = _mm256_div_ps(one, _mm256_fmadd_ps(z, _mm256_set1_ps(sl_tail_p), one));
    const __m256 p = sl_polynomial8(sl_tail_terms, SL_TAIL_TERMS, t);
    return (struct sl_normal8){.bell = bell, .tail = _mm256_mul_ps(bell, _mm256_mul_ps(p, t))};
}

static inline __m256 sl_abs8(__m256 x)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
}

/* x Phi(x) = max(x, 0) - |x| (1 - Phi(|x|)) */
static inline __m256 sl_gelu8(__m256 x, const struct sl_normal8 *n)
{
    return _mm256_fnmadd_ps(sl_abs8(x), n->tail, _mm256_max_ps(_mm256_setzero_ps(), x));
}

/* Phi(x) + x phi(x) */
static inline __m256 sl_gelu_slope8(__m256 x, const struct sl_normal8 *n)
{
    const __m256 positive = _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_GT_OQ);
    const __m256 phi =
        _mm256_blendv_ps(n->tail, _mm256_sub_ps(_mm256_set1_ps(1.0f), n->tail), positive);
    const __m256 density = _mm256_mul_ps(n->bell, _mm256_set1_ps(sl_density_0));
    return _mm256_fmadd_ps(x, density, phi);
}

static inline __m256 sl_sigmoid8(__m256 x)
{
    const __m256 one = _mm256_set1_ps(1.0f);
    const __m256 e = sl_exp8(_mm256_sub_ps(_mm256_setzero_ps(), x));
    return _mm256_div_ps(one, _mm256_add_ps(one, e));
}

/* The 32-bit finaliser of MurmurHash3: the random words of dropout. */
static inline __m256i sl_hash8(__m256i h)
{
    h = _mm256_xor_si256(h, _mm256_srli_epi32(h, 16));
    h = _mm256_mullo_epi32(h, _mm256_set1_epi32((int)0x85ebca6bu));
    h = _mm256_xor_si256(h, _mm256_srli_epi32(h, 13));
    h = _mm256_mullo_epi32(h, _mm256_set1_epi32((int)0xc2b2ae35u));
    return _mm256_xor_si256(h, _mm256_srli_epi32(h, 16));
}

/* All bits set in the lanes of columns first .. first + 7 that dropout keeps; first is even. */
static inline __m256 sl_dropout_mask8(uint32_t threshold, uint32_t row_key, uint32_t first)
{
    const __m256i column =
        _mm256_add_epi32(_mm256_set1_epi32((int)first), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));
    const __m256i scatter_axpy =
        _mm256_mullo_epi32(_mm256_srli_epi32(column, 1), _mm256_set1_epi32((int)0x9E3779B9u));
    const __m256i word = sl_hash8(_mm256_xor_si256(_mm256_set1_epi32((int)row_key), scatter_axpy));
    /* Odd columns take the upper half of the word. */
    const __m256i half = _mm256_blend_epi32(_mm256_and_si256(word, _mm256_set1_epi32(0xffff)),
                                            _mm256_srli_epi32(word, 16), 0xaa);
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(half, _mm256_set1_epi32((int)threshold - 1)));
}
