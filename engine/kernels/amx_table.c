/* amx_table.c - the table of the AMX level: products and attention in tiles, everything else from
 * AVX512-BF16. */
#include "kernels/amx.h"
#include "kernels/amx_tiles.h"
#include "kernels/isa_levels.h"

static bool fills_tiles(int head_dim)
{
    return head_dim % TILE_K == 0;
}

static size_t attention_scratch(int queries, int keys, int head_dim)
{
    const int width = sl_ceil_div(head_dim, TILE_K) * TILE_K;
    const size_t forward = sl_amx_attention_scratch(queries, keys, width);
    const size_t back = sl_amx_attention_backward_scratch(queries, keys, width);
    const size_t copies =
        fills_tiles(head_dim) ? 0 : sl_amx_attention_padded_bytes(queries, keys, head_dim);
    return copies + (forward > back ? forward : back);
}

static void attention(const struct sl_kernels *kernels, const struct sl_attention *a)
{
    (void)kernels;
    if (fills_tiles(a->head_dim))
        sl_amx_attention(a);
    else
        sl_amx_attention_padded(a);
}

static void attention_backward(const struct sl_kernels *kernels,
                               const struct sl_attention_backward *b)
{
    (void)kernels;
    if (fills_tiles(b->forward.head_dim))
        sl_amx_attention_backward(b);
    else
        sl_amx_attention_padded_backward(b);
}

void sl_amx_kernels(struct sl_kernels *t)
{
    t->gemm = sl_amx_gemm;
    t->attention_scratch = attention_scratch;
    t->attention = attention;
    t->attention_backward = attention_backward;
}
