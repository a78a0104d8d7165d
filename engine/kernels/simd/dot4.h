/* dot4.h - sums of int8 products: LANES sums of int32, to each of which the products of 4 pairs of
 * int8 are added. Exact everywhere.
 *
 *     dot4(sums, x, w)   sums_i + x_4i w_4i + ... + x_4i+3 w_4i+3
 *     dot4_store(y, v)   writes LANES numbers from -128 to 127 as int8
 *
 * Where the processor has VPDPBUSD, w is unsigned: what is packed is 128 higher (DOT4_BIAS).
 * VPMADDUBSW multiplies unsigned by signed bytes, too, and saturates a sum of two products. With
 * |w| and x with the sign of w instead, such a sum is at most 2 127 127 and fits. */
#pragma once

#include "kernels/simd/vec.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

typedef int32_t sums4 __attribute__((vector_size(4 * LANES)));
typedef int8_t bytes4 __attribute__((vector_size(LANES)));

#if defined __AVX512VNNI__ && !defined SL_VEC_LANES

enum { DOT4_BIAS = 128, DOT4_ROWS = 12 };

static inline sums4 dot4(sums4 sums, sums4 x, sums4 w)
{
    return (sums4)_mm512_dpbusd_epi32((__m512i)sums, (__m512i)w, (__m512i)x);
}

#elif defined __AVXVNNI__ && !defined SL_VEC_LANES

enum { DOT4_BIAS = 128, DOT4_ROWS = 6 };

static inline sums4 dot4(sums4 sums, sums4 x, sums4 w)
{
    return (sums4)_mm256_dpbusd_avx_epi32((__m256i)sums, (__m256i)w, (__m256i)x);
}

#elif defined __AVX512BW__ && !defined SL_VEC_LANES

enum { DOT4_BIAS = 0, DOT4_ROWS = 12 };

static inline sums4 dot4(sums4 sums, sums4 x, sums4 w)
{
    const __m512i zero = _mm512_setzero_si512(), v = (__m512i)w;
    const __m512i signs =
        _mm512_mask_sub_epi8((__m512i)x, _mm512_movepi8_mask(v), zero, (__m512i)x);
    const __m512i pairs = _mm512_maddubs_epi16(_mm512_abs_epi8(v), signs);
    return sums + (sums4)_mm512_madd_epi16(pairs, _mm512_set1_epi16(1));
}

#elif defined __AVX2__ && !defined SL_VEC_LANES

enum { DOT4_BIAS = 0, DOT4_ROWS = 4 };

static inline sums4 dot4(sums4 sums, sums4 x, sums4 w)
{
    const __m256i v = (__m256i)w, signs = _mm256_sign_epi8((__m256i)x, v);
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(v), signs);
    return sums + (sums4)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}

#else

enum { DOT4_BIAS = 0, DOT4_ROWS = 4 };

typedef int16_t dot4_halves __attribute__((vector_size(4 * LANES)));

static inline sums4 dot4(sums4 sums, sums4 x, sums4 w)
{
#if defined __ARM_NEON && !defined SL_VEC_LANES
    const int8x16_t a = (int8x16_t)x, b = (int8x16_t)w;
    const int16x8_t low = vmull_s8(vget_low_s8(a), vget_low_s8(b)), high = vmull_high_s8(a, b);
    return (sums4)vpadalq_s16((int32x4_t)sums, vpaddq_s16(low, high)); /* 2 127 127 fits */
#else
    const dot4_halves a = (dot4_halves)x, b = (dot4_halves)w;
    const dot4_halves a_even = (a << 8) >> 8, b_even = (b << 8) >> 8, a_odd = a >> 8,
                      b_odd = b >> 8;
#if defined __SSE2__ && defined SL_VEC_LANES && SL_VEC_LANES == 4
    const __m128i even = _mm_madd_epi16((__m128i)a_even, (__m128i)b_even);
    const __m128i odd = _mm_madd_epi16((__m128i)a_odd, (__m128i)b_odd);
    return sums + (sums4)even + (sums4)odd;
#else
    const sums4 pairs = (sums4)(a_even * b_even + a_odd * b_odd); /* 2 127 127 fits */
    return sums + ((pairs << 16) >> 16) + (pairs >> 16);
#endif
#endif
}

#endif

/* gcc 12 makes a byte at a time of the conversion. */
static inline void dot4_store(int8_t *y, sums4 v)
{
#if defined __AVX2__ && !defined __AVX512F__ && !defined SL_VEC_LANES
    const __m128i low = _mm256_castsi256_si128((__m256i)v);
    const __m128i halves = _mm_packs_epi32(low, _mm256_extracti128_si256((__m256i)v, 1));
    _mm_storel_epi64((__m128i *)(void *)y, _mm_packs_epi16(halves, halves));
#elif defined __SSE2__ && defined SL_VEC_LANES && SL_VEC_LANES == 4
    const __m128i halves = _mm_packs_epi32((__m128i)v, (__m128i)v);
    const int32_t four = _mm_cvtsi128_si32(_mm_packs_epi16(halves, halves));
    memcpy(y, &four, sizeof four);
#else
    const bytes4 narrow = __builtin_convertvector(v, bytes4);
    memcpy(y, &narrow, sizeof narrow);
#endif
}
