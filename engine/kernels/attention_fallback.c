/* attention_fallback.c - attention of fp32 operands, a block of queries at a time, by the products
 * and row functions of a level. Scores are a product of the queries with packed keys: plain
 * multiply-adds, no sum across a vector. Sums over keys have weights that are 0 for keys that a
 * query does not see. Every element is added up in an order of its own, along the head for scores
 * and along the keys else, and adding a product with 0 changes nothing, so the result of a query
 * does not depend on its block. */
#include "base/bf16.h"
#include "base/int_math.h"
#include "kernels/isa_levels.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    LINE = 16, /* floats in a cache line */
    BLOCK = 16 /* queries */
};

/* The arguments and scratch memory of a call. */
struct attention_ctx {
    const struct sl_kernels *kernels; /* the table of the level */
    const struct sl_attention *a;
    const float *q, *k, *v;
    float *weights, *ds;      /* BLOCK rows of a float per key, `stride` floats apart */
    float *scaled;            /* BLOCK queries times the scale */
    float *own_keys, *values; /* room for packed ones, and for values of bf16 as fp32 */
    const void *packed_keys;  /* compact if of bf16 */
    size_t stride;
};

static size_t packed_floats(int keys, int head_dim)
{
    return sl_round_up((size_t)keys, SL_PANEL) * (size_t)head_dim;
}

size_t sl_attention_rows_scratch(int queries, int keys, int head_dim)
{
    (void)queries;
    const size_t rows = 2 * sl_round_up((size_t)keys, LINE) + (size_t)head_dim;
    return (BLOCK * rows + 2 * packed_floats(keys, head_dim)) * sizeof(float);
}

/* The rows of a matrix of keys as columns of a packed one. */
static void pack_rows(const struct attention_ctx *r, float *packed, const float *rows)
{
    const struct sl_attention *a = r->a;
    r->kernels->pack(packed, rows, SL_F32, a->kv_stride, true, a->head_dim, a->keys, 0, a->keys);
}

static struct attention_ctx ctx_of(const struct sl_kernels *kernels, const struct sl_attention *a)
{
    float *scratch = a->scratch;
    const size_t stride = sl_round_up((size_t)a->keys, LINE);
    struct attention_ctx r = {
        .kernels = kernels,
        .a = a,
        .q = a->q,
        .k = a->k,
        .v = a->v,
        .weights = scratch,
        .ds = scratch + BLOCK * stride,
        .scaled = scratch + 2 * BLOCK * stride,
        .own_keys = scratch + 2 * BLOCK * stride + BLOCK * (size_t)a->head_dim,
        .packed_keys = a->k,
        .stride = stride,
    };
    r.values = r.own_keys + packed_floats(a->keys, a->head_dim);
    if (a->bf16_cache && a->queries > 1) {
        const uint16_t *values = a->v;
        for (size_t i = 0; i < (size_t)a->keys * (size_t)a->head_dim; i++)
            r.values[i] = sl_bf16_to_f32(values[i]);
        r.v = r.values;
    }
    if (!a->cached && a->keys > 0) {
        pack_rows(&r, r.own_keys, r.k);
        r.packed_keys = r.own_keys;
    }
    return r;
}

/* Some queries, and the keys that one of them sees: from a multiple of SL_PANEL on. */
struct block {
    int first, queries, from, keys;
};

static struct block block_of(const struct sl_attention *a, int first)
{
    struct block b = {
        .first = first, .queries = sl_min(a->queries - first, BLOCK), .from = a->keys};
    int end = 0;
    for (int i = first; i < first + b.queries; i++) {
        assert(a->visible[i] >= 0);
        assert(a->visible[i] <= a->keys);
        assert(sl_attention_from(a, i) >= 0);
        assert(sl_attention_from(a, i) <= a->visible[i]);
        b.from = sl_min(b.from, sl_attention_from(a, i));
        end = a->visible[i] > end ? a->visible[i] : end;
    }
    b.from -= b.from % SL_PANEL;
    b.keys = end > b.from ? end - b.from : 0;
    return b;
}

/* y_ij = x_i . row_j of the packed rows */
static void multiply_packed(const struct attention_ctx *r, const struct block *b, float *y,
                            const float *x, size_t x_stride, const void *packed)
{
    const bool compact = r->a->bf16_cache;
    const size_t element = compact ? sizeof(uint16_t) : sizeof(float);
    r->kernels->gemm(&(struct sl_gemm){
        .x = x,
        .packed = (const char *)packed + (size_t)b->from * (size_t)r->a->head_dim * element,
        .compact = compact,
        .y = y,
        .x_stride = x_stride,
        .y_stride = r->stride,
        .m = b->queries,
        .n = b->keys,
        .k = r->a->head_dim,
    });
}

/* The weights of a block become scale q . k. */
static void scores(const struct attention_ctx *r, const struct block *b)
{
    const struct sl_attention *a = r->a;
    const size_t width = (size_t)a->head_dim;
    for (int i = 0; i < b->queries; i++)
        r->kernels->scale(r->scaled + (size_t)i * width, a->scale,
                          r->q + (size_t)(b->first + i) * a->q_stride, a->head_dim);
    multiply_packed(r, b, r->weights, r->scaled, width, r->packed_keys);
}

/* The keys of a query, counted from the block's first. */
struct span {
    int from, end;
};

static struct span span_of(const struct sl_attention *a, const struct block *b, int i)
{
    const int end = a->visible[b->first + i] - b->from;
    return (struct span){.from = sl_min(sl_attention_from(a, b->first + i) - b->from, end),
                         .end = end > 0 ? end : 0};
}

/* Dropout of a query's row, whose columns count from the block's first key. */
static void drop(const struct attention_ctx *r, const struct block *b, float *row, int i)
{
    const struct span seen = span_of(r->a, b, i);
    if (r->a->dropout.threshold && seen.end > 0)
        r->kernels->dropout(row, row, r->a->dropout, r->a->row_keys[b->first + i], b->from,
                            seen.end);
}

/* Zeros for the keys of the block that a query does not see. */
static void zero_unseen(const struct block *b, struct span seen, float *row)
{
    if (seen.from > 0)
        memset(row, 0, (size_t)seen.from * sizeof *row);
    memset(row + seen.end, 0, (size_t)(b->keys - seen.end) * sizeof *row);
}

/* The same for one query, which needs no product. */
static void sum_values(const struct attention_ctx *r, float *y, const struct block *b)
{
    const struct sl_attention *a = r->a;
    const struct sl_row_list all = {.stride = a->kv_stride, .n = b->keys, .width = a->head_dim};
    const size_t from = (size_t)b->from * a->kv_stride;
    if (a->bf16_cache)
        r->kernels->gather_sum_bf16(y, r->weights, (const uint16_t *)a->v + from, &all);
    else
        r->kernels->gather_sum(y, r->weights, r->v + from, &all);
}

/* y_i = sum_j weights_ij rows_j for `queries` queries. */
static void sum_keys(const struct attention_ctx *r, float *y, size_t y_stride, const float *weights,
                     const float *rows, int queries, int keys)
{
    r->kernels->small_gemm(&(struct sl_small_gemm){
        .x = weights,
        .x_row = r->stride,
        .x_col = 1,
        .b = rows,
        .b_row = r->a->kv_stride,
        .y = y,
        .y_row = y_stride,
        .m = queries,
        .n = r->a->head_dim,
        .k = keys,
    });
}

/* y_j += sum_i weights_ij rows_i for `keys` keys. */
static void sum_queries(const struct attention_ctx *r, float *y, size_t y_stride,
                        const float *weights, const float *rows, size_t stride, int queries,
                        int keys)
{
    r->kernels->small_gemm(&(struct sl_small_gemm){
        .x = weights,
        .x_row = 1,
        .x_col = r->stride,
        .b = rows,
        .b_row = stride,
        .y = y,
        .y_row = y_stride,
        .m = keys,
        .n = r->a->head_dim,
        .k = queries,
        .accumulate = true,
    });
}

static void attention_block(const struct attention_ctx *r, int first)
{
    const struct sl_attention *a = r->a;
    const struct block b = block_of(a, first);
    float *p = r->weights;
    if (b.keys > 0)
        scores(r, &b);
    for (int i = 0; i < b.queries; i++, p += r->stride) {
        const struct span seen = span_of(a, &b, i);
        float lse = -INFINITY;
        if (seen.end > seen.from)
            r->kernels->softmax(p + seen.from, seen.end - seen.from, a->lse ? &lse : NULL);
        zero_unseen(&b, seen, p);
        drop(r, &b, p, i);
        if (a->lse)
            a->lse[first + i] = lse;
    }
    float *out = (float *)a->out + (size_t)first * a->out_stride;
    if (b.queries == 1)
        sum_values(r, out, &b);
    else
        sum_keys(r, out, a->out_stride, r->weights, r->v + (size_t)b.from * a->kv_stride, b.queries,
                 b.keys);
}

void sl_attention_rows(const struct sl_kernels *kernels, const struct sl_attention *a)
{
    for (int head = 0; head < a->heads; head++) {
        const struct sl_attention one = sl_attention_head(kernels, a, head);
        const struct attention_ctx r = ctx_of(kernels, &one);
        for (int first = 0; first < a->queries; first += BLOCK)
            attention_block(&r, first);
    }
}

/* With p = softmax(s), p' = dropout(p) and out = sum_j p'_j v_j:
 *     dv_j += p'_j dout        dp_j = dropout(dout . v_j)
 *     ds_j = p_j (dp_j - sum_i p_i dp_i) scale        dq = sum_j ds_j k_j        dk_j += ds_j q
 * From s in p and dp before dropout in ds, this makes p' and ds. */
static void score_gradients(const struct attention_ctx *r, const struct block *b, int i, float *p,
                            float *ds)
{
    const struct span seen = span_of(r->a, b, i);
    const int n = seen.end - seen.from;
    if (n > 0) {
        r->kernels->softmax(p + seen.from, n, NULL);
        drop(r, b, ds, i);
        const float mean = r->kernels->dot(p + seen.from, ds + seen.from, n);
        for (int j = seen.from; j < seen.end; j++)
            ds[j] = p[j] * (ds[j] - mean) * r->a->scale;
    }
    zero_unseen(b, seen, p);
    zero_unseen(b, seen, ds);
    drop(r, b, p, i);
}

static void attention_backward_block(const struct attention_ctx *r,
                                     const struct sl_attention_backward *back, int first)
{
    const struct sl_attention *a = r->a;
    const struct block b = block_of(a, first);
    const float *dout = back->dout + (size_t)first * back->dout_stride;
    const float *q = r->q + (size_t)first * a->q_stride;
    const size_t from = (size_t)b.from * back->dkv_stride;
    float *p = r->weights, *ds = r->ds;
    if (b.keys > 0) {
        scores(r, &b);
        multiply_packed(r, &b, ds, dout, back->dout_stride, r->values);
    }
    for (int i = 0; i < b.queries; i++, p += r->stride, ds += r->stride)
        score_gradients(r, &b, i, p, ds);
    sum_keys(r, back->dq + (size_t)first * back->dq_stride, back->dq_stride, r->ds,
             r->k + (size_t)b.from * a->kv_stride, b.queries, b.keys);
    sum_queries(r, back->dk + from, back->dkv_stride, r->ds, q, a->q_stride, b.queries, b.keys);
    sum_queries(r, back->dv + from, back->dkv_stride, r->weights, dout, back->dout_stride,
                b.queries, b.keys);
}

void sl_attention_rows_backward(const struct sl_kernels *kernels,
                                const struct sl_attention_backward *b)
{
    const struct sl_attention *a = &b->forward;
    assert(!a->cached);
    const struct attention_ctx r = ctx_of(kernels, a);
    const size_t row_bytes = (size_t)a->head_dim * sizeof(float);
    for (int j = 0; j < a->keys; j++) {
        memset(b->dk + (size_t)j * b->dkv_stride, 0, row_bytes);
        memset(b->dv + (size_t)j * b->dkv_stride, 0, row_bytes);
    }
    if (a->keys > 0)
        pack_rows(&r, r.values, r.v);
    for (int first = 0; first < a->queries; first += BLOCK)
        attention_backward_block(&r, b, first);
}
