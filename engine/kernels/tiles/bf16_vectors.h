/* bf16_vectors.h - rows of bf16 as tiles hold them. */
#pragma once

#include "base/int_math.h"
#include "kernels/simd/vec_math.h"

#include <immintrin.h>
#include <stdint.h>

/* A step of a packed matrix: 32 rows of 32 columns, as two tiles of 16 pairs of rows. */
enum { TILE_ROWS = 16, TILE_PAIRS = 16, TILE_K = 32, TILE_BYTES = 64, TILE_ELEMENTS = 512 };

/* Allocates from scratch memory; with base NULL it only counts the bytes. */
static inline void *sl_take(void *base, size_t *used, size_t bytes)
{
    void *piece = base ? (unsigned char *)base + *used : NULL;
    *used += sl_round_up(bytes, 64);
    return piece;
}

/* 32 floats, low then high, to bf16, nearest even. */
static inline __m512i sl_to_bf16_32(__m512 low, __m512 high)
{
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

/* 2^x, as exact as bf16 needs it. */
static inline __m512 sl_exp2(__m512 x)
{
    const __m512 f = _mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    const __m512 p = vec_fma(vec_polynomial(sl_exp2_terms, SL_EXP2_TERMS, f), f, vec_set(1.0f));
    return _mm512_scalef_ps(p, x); /* by the power of two below x */
}

/* Two halves of 16 bf16 each as 16 pairs. */
static inline __m512i sl_pair16(__m256i even, __m256i odd)
{
    return _mm512_or_si512(_mm512_cvtepu16_epi32(even),
                           _mm512_slli_epi32(_mm512_cvtepu16_epi32(odd), 16));
}

/* Two rows of 32 bf16 as two rows of 16 pairs. */
static inline void sl_pair_rows(__m512i even, __m512i odd, uint16_t *left, uint16_t *right)
{
    const __m512i low = _mm512_unpacklo_epi16(even, odd), high = _mm512_unpackhi_epi16(even, odd);
    const __m512i first = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
    const __m512i second = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
    _mm512_storeu_si512(left, _mm512_permutex2var_epi64(low, first, high));
    _mm512_storeu_si512(right, _mm512_permutex2var_epi64(low, second, high));
}

/* Rows of bf16 of which `rows` rows and `cols` columns exist. */
struct sl_bf16_rows {
    const uint16_t *data;
    size_t stride;
    int rows, cols;
};

/* TILE_K columns of a row; zeros where nothing exists. */
static inline __m512i sl_tile_row(const struct sl_bf16_rows *x, int row, int col)
{
    if (row >= x->rows)
        return _mm512_setzero_si512();
    return _mm512_maskz_loadu_epi16(vec_mask32(x->cols - col),
                                    x->data + (size_t)row * x->stride + col);
}
