/* tile_table.c - the table of a level with bf16 operands: what simd/ makes of rows, and products
 * and attention in tiles. Everything else is from AVX-512. */
#include "kernels/tiles/tile_attention.h"

static size_t attention_scratch(int queries, int keys, int head_dim)
{
    const size_t forward = SL_LEVEL(attention_scratch)(keys, head_dim);
    const size_t back = SL_LEVEL(attention_backward_scratch)(queries, head_dim);
    return forward > back ? forward : back;
}

void SL_LEVEL(kernels)(struct sl_kernels *t)
{
    SL_LEVEL(rows)(t);
    SL_LEVEL(gather)(t);
    SL_LEVEL(pack)(t);
    SL_LEVEL(int8)(t);
    SL_LEVEL(gemm)(t);
    t->pairs_keys = KEYS_IN_PAIRS;
    t->attention_scratch = attention_scratch;
    t->attention = SL_LEVEL(attention);
    t->attention_backward = SL_LEVEL(attention_backward);
}
