/* avx512_math.h - functions of 16 floats at a time, and the sums and masks that go with them. */
#pragma once

#include "kernels/kernels.h"
#include "kernels/polynomials.h"

#include <assert.h>
#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

/* The first n of 16 or 32 lanes; n may be anything. */
static inline __mmask16 sl_first16(int n)
{
    const int count = n < 0 ? 0 : n > 16 ? 16 : n;
    return (__mmask16)((1u << count) - 1);
}

static inline __mmask32 sl_first32(int n)
{
    const int count = n < 0 ? 0 : n > 32 ? 32 : n;
    return (__mmask32)((1ull << count) - 1);
}

/* The four additions of a reduction, always in the same order: halves, quarters, pairs. */
static inline float sl_sum16(__m512 v)
{
    const __m256 h = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
}

static inline float sl_max16(__m512 v)
{
    const __m256 h = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    __m128 q = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_max_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_max_ss(q, _mm_movehdup_ps(q)));
}

/* 16 such sums or maxima at once, with the additions of sl_sum16: lane i is that of rows[i]. */
static inline __attribute__((always_inline)) __m512 sl_fold16(const __m512 rows[16], bool is_max)
{
    __m512 r[16];
    for (int i = 0; i < 8; i++) {
        const __m512 a = rows[2 * i % 4 * 4 + i / 2], b = rows[2 * i % 4 * 4 + 4 + i / 2];
        const __m512 x = _mm512_shuffle_f32x4(a, b, 0x44), y = _mm512_shuffle_f32x4(a, b, 0xee);
        r[i] = is_max ? _mm512_max_ps(x, y) : _mm512_add_ps(x, y);
    }
    for (int i = 0; i < 4; i++) {
        const __m512 x = _mm512_shuffle_f32x4(r[2 * i], r[2 * i + 1], 0x88);
        const __m512 y = _mm512_shuffle_f32x4(r[2 * i], r[2 * i + 1], 0xdd);
        r[i] = is_max ? _mm512_max_ps(x, y) : _mm512_add_ps(x, y);
    }
    for (int i = 0; i < 2; i++) {
        const __m512 x = _mm512_shuffle_ps(r[2 * i], r[2 * i + 1], 0x44);
        const __m512 y = _mm512_shuffle_ps(r[2 * i], r[2 * i + 1], 0xee);
        r[i] = is_max ? _mm512_max_ps(x, y) : _mm512_add_ps(x, y);
    }
    const __m512 x = _mm512_shuffle_ps(r[0], r[1], 0x88), y = _mm512_shuffle_ps(r[0], r[1], 0xdd);
    return is_max ? _mm512_max_ps(x, y) : _mm512_add_ps(x, y);
}

/* c0 + c1 x + ... by Horner's rule. Inlined, since the number of terms is then a constant. */
static inline __attribute__((always_inline)) __m512 sl_polynomial16(const float *c, int terms,
                                                                    __m512 x)
{
    __m512 p = _mm512_set1_ps(c[terms - 1]);
    for (int i = terms - 2; i >= 0; i--)
        p = _mm512_fmadd_ps(p, x, _mm512_set1_ps(c[i]));
    return p;
}

static inline __m512 sl_exp16(__m512 x)
{
    /* This order of operands propagates NaN. */
    x = _mm512_min_ps(_mm512_set1_ps(sl_exp_max), _mm512_max_ps(_mm512_set1_ps(sl_exp_min), x));
    const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(sl_log2_e)),
                                          _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(sl_ln2_high), x);
    r = _mm512_fnmadd_ps(n, _mm512_set1_ps(sl_ln2_low), r);
    __m512 p = sl_polynomial16(sl_exp_terms, SL_EXP_TERMS, r);
    p = _mm512_fmadd_ps(p, _mm512_mul_ps(r, r), _mm512_add_ps(r, _mm512_set1_ps(1.0f)));
    return _mm512_scalef_ps(p, n);
}

/* 2^x for x that is no NaN. */
static inline __m512 sl_exp2_16(__m512 x)
{
    const __m512 n = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m512 f = _mm512_sub_ps(x, n);
    __m512 p = sl_polynomial16(sl_exp2_terms, SL_EXP2_TERMS, f);
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(1.0f));
    return _mm512_scalef_ps(p, n);
}

/* ln x for positive, normal, finite x. */
static inline __m512 sl_log16(__m512 x)
{
    const __m512 m = _mm512_getmant_ps(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_src);
    const __m512 e = _mm512_getexp_ps(_mm512_div_ps(x, m)); /* of a power of two, exactly */
    const __m512 f = _mm512_sub_ps(m, _mm512_set1_ps(1.0f));
    const __m512 p = sl_polynomial16(sl_log_terms, SL_LOG_TERMS, f);
    return _mm512_fmadd_ps(e, _mm512_set1_ps(sl_ln2), _mm512_mul_ps(f, p));
}

/* The terms of GELU and its derivative for z = |x|: e^(-z^2 / 2) and 1 - Phi(z). */
struct sl_normal16 {
    __m512 bell, tail;
};

static inline struct sl_normal16 sl_normal16(__m512 z)
{
    const __m512 half = _mm512_mul_ps(z, _mm512_set1_ps(-0.5f));
    const __m512 bell = sl_exp16(_mm512_mul_ps(z, half));
    const __m512 one = _mm512_set1_ps(1.0f);
    const __m512 t = _mm512_div_ps(one, _mm512_fmadd_ps(z, _mm512_set1_ps(sl_tail_p), one));
    const __m512 p = sl_polynomial16(sl_tail_terms, SL_TAIL_TERMS, t);
    return (struct sl_normal16){.bell = bell, .tail = _mm512_mul_ps(bell, _mm512_mul_ps(p, t))};
}

/* x Phi(x) = max(x, 0) - |x| (1 - Phi(|x|)) */
static inline __m512 sl_gelu16(__m512 x, const struct sl_normal16 *n)
{
    return _mm512_fnmadd_ps(_mm512_abs_ps(x), n->tail, _mm512_max_ps(_mm512_setzero_ps(), x));
}

/* Phi(x) + x phi(x) */
static inline __m512 sl_gelu_slope16(__m512 x, const struct sl_normal16 *n)
{
    const __mmask16 positive = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_GT_OQ);
    const __m512 phi = _mm512_mask_sub_ps(n->tail, positive, _mm512_set1_ps(1.0f), n->tail);
    const __m512 density = _mm512_mul_ps(n->bell, _mm512_set1_ps(sl_density_0));
    return _mm512_fmadd_ps(x, density, phi);
}

/* f(x) and f'(x); the compiler drops what is not used. */
static inline void sl_activate16(__m512 x, enum sl_activation f, __m512 *y, __m512 *slope)
{
    const __m512 zero = _mm512_setzero_ps(), one = _mm512_set1_ps(1.0f);
    const struct sl_normal16 n = sl_normal16(_mm512_abs_ps(x));
    switch (f) {
    case SL_LINEAR:
        *y = x;
        *slope = one;
        return;
    case SL_RELU:
        *y = _mm512_max_ps(zero, x); /* a NaN stays */
        *slope = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, zero, _CMP_GT_OQ), one);
        return;
    case SL_GELU:
        *y = sl_gelu16(x, &n);
        *slope = sl_gelu_slope16(x, &n);
        return;
    }
    assert(false && "an activation without a formula");
}

static inline __m512 sl_sigmoid16(__m512 x)
{
    const __m512 one = _mm512_set1_ps(1.0f);
    const __m512 e = sl_exp16(_mm512_sub_ps(_mm512_setzero_ps(), x));
    return _mm512_div_ps(one, _mm512_add_ps(one, e));
}

/* The 32-bit finaliser of MurmurHash3: the random words of dropout. */
static inline __m512i sl_hash16(__m512i h)
{
    h = _mm512_xor_si512(h, _mm512_srli_epi32(h, 16));
    h = _mm512_mullo_epi32(h, _mm512_set1_epi32((int)0x85ebca6bu));
    h = _mm512_xor_si512(h, _mm512_srli_epi32(h, 13));
    h = _mm512_mullo_epi32(h, _mm512_set1_epi32((int)0xc2b2ae35u));
    return _mm512_xor_si512(h, _mm512_srli_epi32(h, 16));
}

/* Which of columns first .. first + 31 of a row dropout keeps; first is even. */
static inline __mmask32 sl_dropout_mask32(uint32_t threshold, uint32_t row_key, uint32_t first)
{
    const __m512i lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i pair = _mm512_add_epi32(_mm512_set1_epi32((int)(first / 2)), lanes);
    const __m512i scatter_axpy = _mm512_mullo_epi32(pair, _mm512_set1_epi32((int)0x9E3779B9u));
    const __m512i word = sl_hash16(_mm512_xor_si512(_mm512_set1_epi32((int)row_key), scatter_axpy));
    return _mm512_cmpge_epu16_mask(word, _mm512_set1_epi16((short)threshold));
}

/* softmax_backward for 16 elements from their e: the reference's operations in the same order. */
static inline void sl_softmax_backward16(const struct sl_softmax_backward *s, int j, __mmask16 mask,
                                         __m512 e)
{
    const __m512 w = _mm512_mul_ps(_mm512_set1_ps(s->rate), _mm512_maskz_loadu_ps(mask, s->w + j));
    const __m512 from_mean =
        _mm512_sub_ps(_mm512_maskz_loadu_ps(mask, s->dp + j), _mm512_set1_ps(s->mean));
    const __m512 slope = _mm512_mul_ps(_mm512_mul_ps(w, e), from_mean);
    const __m512 ds =
        s->overwrite ? slope : _mm512_add_ps(_mm512_maskz_loadu_ps(mask, s->ds + j), slope);
    _mm512_mask_storeu_ps(s->ds + j, mask, ds);
    _mm512_mask_storeu_ps(s->db + j, mask,
                          _mm512_add_ps(_mm512_maskz_loadu_ps(mask, s->db + j), slope));
}
