/* amx.h - the pieces of the AMX level, one per slot of its table; contracts in kernels.h. */
#pragma once

#include "kernels/kernels.h"

void sl_amx_gemm(const struct sl_gemm *g);

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
