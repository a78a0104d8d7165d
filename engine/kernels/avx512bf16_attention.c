/* avx512bf16_attention.c - attention of bf16 operands without tiles: copies of them in fp32, and
 * the kernels of AVX-512. Copies are exact, so a query's result does not depend on its block. */
#include "kernels/avx512bf16.h"
#include "kernels/isa_levels.h"

#include <assert.h>

/* Rows of head_dim elements, without padding between them. */
struct copies {
    float *q, *k, *v, *out;
    uint16_t *row; /* of the result, padded */
    void *rest;    /* scratch of the attention itself */
};

static struct copies lay_out(void *scratch, int queries, int keys, int head_dim, size_t *used)
{
    const size_t q = (size_t)queries * (size_t)head_dim, kv = (size_t)keys * (size_t)head_dim;
    struct copies c = {0};
    *used = 0;
    c.q = sl_bf16_take(scratch, used, q * sizeof *c.q);
    c.k = sl_bf16_take(scratch, used, kv * sizeof *c.k);
    c.v = sl_bf16_take(scratch, used, kv * sizeof *c.v);
    c.out = sl_bf16_take(scratch, used, q * sizeof *c.out);
    c.row = sl_bf16_take(scratch, used, sl_round_up((size_t)head_dim, TILE_K) * sizeof *c.row);
    c.rest = sl_bf16_take(scratch, used, 0);
    return c;
}

size_t sl_bf16_attention_scratch(int queries, int keys, int head_dim)
{
    size_t used;
    (void)lay_out(NULL, queries, keys, head_dim, &used);
    return used + sl_attention_rows_scratch(queries, keys, head_dim);
}

static void widen(float *to, const void *from, size_t stride, int rows, int n)
{
    for (int r = 0; r < rows; r++, to += n)
        sl_bf16_from_operands(to, (const uint16_t *)from + (size_t)r * stride, n);
}

static struct sl_attention widened(const struct sl_attention *a, const struct copies *c)
{
    struct sl_attention wide = *a;
    widen(c->q, a->q, a->q_stride, a->queries, a->head_dim);
    widen(c->k, a->k, a->kv_stride, a->keys, a->head_dim);
    widen(c->v, a->v, a->kv_stride, a->keys, a->head_dim);
    wide.q = c->q;
    wide.k = c->k;
    wide.v = c->v;
    wide.out = c->out;
    wide.q_stride = wide.kv_stride = wide.out_stride = (size_t)a->head_dim;
    wide.scratch = c->rest;
    return wide;
}

void sl_bf16_attention(const struct sl_kernels *kernels, const struct sl_attention *a)
{
    size_t used;
    assert(a->scratch);
    assert(!a->keys_packed);
    const size_t width = (size_t)a->head_dim;
    const struct copies c = lay_out(a->scratch, a->queries, a->keys, a->head_dim, &used);
    const struct sl_attention wide = widened(a, &c);
    sl_attention_rows(sl_kernels_for(SL_ISA_AVX512), &wide);
    for (size_t i = 0; i < (size_t)a->queries; i++) {
        kernels->to_operands(c.row, c.out + i * width, a->head_dim);
        memcpy((uint16_t *)a->out + i * a->out_stride, c.row, width * sizeof *c.row);
    }
}

void sl_bf16_attention_backward(const struct sl_kernels *kernels,
                                const struct sl_attention_backward *b)
{
    const struct sl_attention *a = &b->forward;
    size_t used;
    (void)kernels;
    assert(a->scratch);
    const struct copies c = lay_out(a->scratch, a->queries, a->keys, a->head_dim, &used);
    struct sl_attention_backward wide = *b;
    wide.forward = widened(a, &c);
    sl_attention_rows_backward(sl_kernels_for(SL_ISA_AVX512), &wide);
}
