/* amx.h - the pieces of the AMX level, one per slot of its table; contracts in kernels.h. */
#pragma once

#include "kernels/kernels.h"

size_t sl_amx_pack_bytes(int k, int n);
void sl_amx_pack(void *packed, const void *src, enum sl_type type, size_t stride, bool transposed,
                 int k, int n, int n_first, int n_last);
void sl_amx_gemm(const struct sl_gemm *g);
void sl_amx_transpose(void *out, size_t out_stride, const void *x, size_t x_stride, int rows,
                      int cols, bool pad);
void sl_amx_to_operands(void *out, const float *x, int n);
void sl_amx_from_operands(float *out, const void *operands, int n);
void sl_amx_multiply_to_operands(void *out, const float *x, const void *by, int n);
void sl_amx_epilogue(const struct sl_kernels *kernels, const struct sl_epilogue *f);
void sl_amx_softmax_backward(const struct sl_softmax_backward *s);
void sl_amx_gather_dot(float *out, float a, const float *x, const void *rows,
                       const struct sl_row_list *l);
void sl_amx_gather_sum(float *out, const float *a, const void *rows, const struct sl_row_list *l);

/* Attention in tiles, for head_dim a multiple of 32. */
size_t sl_amx_attention_scratch(int queries, int keys, int head_dim);
void sl_amx_attention(const struct sl_attention *a);
/* The same for one query, with the same bits. */
void sl_amx_attention_decode(const struct sl_attention *a);
size_t sl_amx_attention_backward_scratch(int queries, int keys, int head_dim);
void sl_amx_attention_backward(const struct sl_attention_backward *b);
/* The same for any head_dim; copies of the operands take additional scratch memory. */
size_t sl_amx_attention_padded_bytes(int queries, int keys, int head_dim);
void sl_amx_attention_padded(const struct sl_attention *a);
void sl_amx_attention_padded_backward(const struct sl_attention_backward *b);
