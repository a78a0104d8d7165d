/* quantize_avx512.h - the slot `quantize` with AVX-512, 64 numbers at a time. A vector at a time
 * would take longer than the products in tiles that follow. */
#pragma once

#include "base/int_math.h"
#include "kernels/int8.h"
#include "kernels/simd/vec.h"

/* A vector of numbers, with zeros past n. */
static inline __attribute__((always_inline)) __m512i load(const void *x, int at, int n,
                                                          const enum sl_type type)
{
    const float *single = (const float *)x + at;
    const uint16_t *half = (const uint16_t *)x + at;
    if (type == SL_F32)
        return n - at >= 16 ? _mm512_loadu_si512(single)
                            : _mm512_maskz_loadu_epi32(vec_mask(n - at), single);
    return n - at >= 32 ? _mm512_loadu_si512(half)
                        : _mm512_maskz_loadu_epi16(vec_mask32(n - at), half);
}

/* Without signs, the bits of floats and of bf16 are in their order; infinity and NaN are last. */
static inline __attribute__((always_inline)) float highest(const void *x, int n,
                                                           const enum sl_type type)
{
    const __m512i upper = _mm512_set1_epi32((int)0xffff0000);
    const __m512i no_sign = _mm512_set1_epi32(type == SL_F32 ? 0x7fffffff : 0x7fff7fff);
    __m512i most = _mm512_setzero_si512();
    for (int i = 0; i < n; i += type == SL_F32 ? 16 : 32) {
        const __m512i bits = _mm512_and_si512(load(x, i, n, type), no_sign);
        most = type == SL_F32 ? _mm512_max_epu32(most, bits) : _mm512_max_epu16(most, bits);
    }
    if (type == SL_BF16)
        most = _mm512_and_si512(_mm512_max_epu16(most, _mm512_slli_epi32(most, 16)), upper);
    const uint32_t bits = _mm512_reduce_max_epu32(most);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline __m512i whole(__m512i x, __m512 factor)
{
    return _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_castsi512_ps(x), factor));
}

/* 32 numbers as int16; of fp32, the halves alternate every four. */
static inline __attribute__((always_inline)) __m512i narrow(const void *x, int at, int n,
                                                            __m512 factor, const enum sl_type type)
{
    if (at >= n)
        return _mm512_setzero_si512();
    const __m512i first = load(x, at, n, type);
    if (type == SL_F32) {
        const __m512i second = load(x, at + 16 < n ? at + 16 : n, n, type);
        return _mm512_packs_epi32(whole(first, factor), whole(second, factor));
    }
    const __m512i even = whole(_mm512_slli_epi32(first, 16), factor);
    const __m512i odd = whole(_mm512_and_si512(first, _mm512_set1_epi32((int)0xffff0000)), factor);
    return _mm512_mask_blend_epi16(0xaaaaaaaa, even, _mm512_slli_epi32(odd, 16));
}

static inline __attribute__((always_inline)) void quantize_group(int8_t *out,
                                                                 struct sl_int8_group *to,
                                                                 const void *x, int n,
                                                                 const enum sl_type type)
{
    const float most = highest(x, n, type), one = sl_int8_scale(&to->scale, most, isfinite(most));
    const __m512 factor = _mm512_set1_ps(one);
    const __m512i signs = _mm512_set1_epi8((char)0x80), zero = _mm512_setzero_si512();
    const __m512i order = _mm512_set_epi32(15, 14, 11, 10, 7, 6, 3, 2, 13, 12, 9, 8, 5, 4, 1, 0);
    const __m512i quarters = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
    __m512i sums = zero;
    for (int i = 0; i < n; i += SL_INT8_STEP) {
        const __m512i low = narrow(x, i, n, factor, type),
                      high = narrow(x, i + 32, n, factor, type);
        const __m512i mixed = _mm512_packs_epi16(low, high);
        const __m512i all =
            _mm512_permutexvar_epi32(type == SL_F32 ? quarters : order, one > 0.0f ? mixed : zero);
        _mm512_storeu_si512(out + i, all);
        sums = _mm512_add_epi64(sums, _mm512_sad_epu8(_mm512_xor_si512(all, signs), zero));
    }
    to->sum = (int32_t)_mm512_reduce_add_epi64(sums) -
              128 * (int32_t)sl_round_up((size_t)n, SL_INT8_STEP);
}
