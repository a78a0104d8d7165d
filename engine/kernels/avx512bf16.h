/* avx512bf16.h - the pieces of the level of bf16 operands, one per slot of its table; contracts in
 * kernels.h. And vectors of bf16. AMX shares all but products and attention. */
#pragma once

#include "base/int_math.h"
#include "kernels/kernels.h"
#include "kernels/simd/vec_math.h"

#include <immintrin.h>
#include <stdint.h>

/* A step of a packed matrix: 32 rows of 32 columns, as two tiles of 16 pairs of rows. */
enum { TILE_ROWS = 16, TILE_PAIRS = 16, TILE_K = 32 };

size_t sl_bf16_pack_bytes(int k, int n);
void sl_bf16_pack(void *packed, const void *src, enum sl_type type, size_t stride, bool transposed,
                  int k, int n, int n_first, int n_last);
void sl_bf16_transpose(void *out, size_t out_stride, const void *x, size_t x_stride, int rows,
                       int cols, bool pad);
void sl_bf16_to_operands(void *out, const float *x, int n);
void sl_bf16_from_operands(float *out, const void *operands, int n);
void sl_bf16_multiply_to_operands(void *out, const float *x, const void *by, int n);
void sl_bf16_epilogue(const struct sl_kernels *kernels, const struct sl_epilogue *f);
void sl_bf16_softmax_backward(const struct sl_softmax_backward *s);
void sl_bf16_gather_dot(float *out, float a, const float *x, const void *rows,
                        const struct sl_row_list *l);
void sl_bf16_gather_sum(float *out, const float *a, const void *rows, const struct sl_row_list *l);
void sl_bf16_gemm(const struct sl_gemm *g);

/* Attention by the fp32 kernels of AVX-512, over copies of the operands. */
size_t sl_bf16_attention_scratch(int queries, int keys, int head_dim);
void sl_bf16_attention(const struct sl_kernels *kernels, const struct sl_attention *a);
void sl_bf16_attention_backward(const struct sl_kernels *kernels,
                                const struct sl_attention_backward *b);

/* Allocates from scratch memory; with base NULL it only counts the bytes. */
static inline void *sl_bf16_take(void *base, size_t *used, size_t bytes)
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

/* The even and the odd ones of 32 bf16, as fp32. */
static inline __m512 sl_even16(__m512i row)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(row, 16));
}

static inline __m512 sl_odd16(__m512i row)
{
    return _mm512_castsi512_ps(_mm512_and_si512(row, _mm512_set1_epi32((int)0xffff0000)));
}

/* Two halves of 16 bf16 each as 16 pairs. */
static inline __m512i sl_pair16(__m256i even, __m256i odd)
{
    return _mm512_or_si512(_mm512_cvtepu16_epi32(even),
                           _mm512_slli_epi32(_mm512_cvtepu16_epi32(odd), 16));
}
