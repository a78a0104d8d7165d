/* attention_fallback.c - attention of fp32 operands, a block of queries at a time, by the products
 * and row functions of a level. Scores are a product of the queries with packed keys: plain
 * multiply-adds, no sum across a vector. Sums over keys have weights that are 0 for keys that a
 * query does not see. Every element is added up in an order of its own, along the head for scores
 * and along the keys else, and adding a product with 0 changes nothing, so the result of a query
 * does not depend on its block. */
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
    float *own_keys, *values; /* room for packed ones */
    const float *packed_keys;
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
    if (!a->cached && a->keys > 0) {
        pack_rows(&r, r.own_keys, r.k);
        r.packed_keys = r.own_keys;
    }
    return r;
}

/* y_ij = x_i . row_j of the packed rows */
static void multiply_packed(const struct attention_ctx *r, float *y, const float *x,
                            size_t x_stride, const float *packed, int queries, int keys)
{
    r->kernels->gemm(&(struct sl_gemm){
        .x = x,
        .packed = packed,
        .y = y,
        .x_stride = x_stride,
        .y_stride = r->stride,
        .m = queries,
        .n = keys,
        .k = r->a->head_dim,
    });
}

/* The weights of a block become scale q . k. */
static void scores(const struct attention_ctx *r, int first, int queries, int keys)
{
    const struct sl_attention *a = r->a;
    const size_t width = (size_t)a->head_dim;
    for (int i = 0; i < queries; i++)
        r->kernels->scale(r->scaled + (size_t)i * width, a->scale,
                          r->q + (size_t)(first + i) * a->q_stride, a->head_dim);
    multiply_packed(r, r->weights, r->scaled, width, r->packed_keys, queries, keys);
}

static void drop(const struct attention_ctx *r, float *row, int query, int n)
{
    if (r->a->dropout.threshold && n > 0)
        r->kernels->dropout(row, row, r->a->dropout, r->a->row_keys[query], 0, n);
}

static int max_visible(const struct sl_attention *a, int first, int last)
{
    int max_keys = 0;
    for (int i = first; i < last; i++) {
        assert(a->visible[i] >= 0);
        assert(a->visible[i] <= a->keys);
        max_keys = a->visible[i] > max_keys ? a->visible[i] : max_keys;
    }
    return max_keys;
}

static void zero_tail(float *row, int n, int max_keys)
{
    memset(row + n, 0, (size_t)(max_keys - n) * sizeof *row);
}

/* y_i = sum_j weights_ij rows_j for `queries` queries. A single query needs no product. */
static void sum_keys(const struct attention_ctx *r, float *y, size_t y_stride, const float *weights,
                     const float *rows, int queries, int keys)
{
    if (queries == 1) {
        const struct sl_row_list all = {
            .stride = r->a->kv_stride, .n = keys, .width = r->a->head_dim};
        r->kernels->gather_sum(y, weights, rows, &all);
        return;
    }
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

static void attention_block(const struct attention_ctx *r, int first, int last)
{
    const struct sl_attention *a = r->a;
    const int max_keys = max_visible(a, first, last);
    float *p = r->weights;
    if (max_keys > 0)
        scores(r, first, last - first, max_keys);
    for (int i = first; i < last; i++, p += r->stride) {
        const int n = a->visible[i];
        float lse = -INFINITY;
        if (n > 0)
            r->kernels->softmax(p, n, a->lse ? &lse : NULL);
        drop(r, p, i, n);
        zero_tail(p, n, max_keys);
        if (a->lse)
            a->lse[i] = lse;
    }
    sum_keys(r, (float *)a->out + (size_t)first * a->out_stride, a->out_stride, r->weights, r->v,
             last - first, max_keys);
}

void sl_attention_rows(const struct sl_kernels *kernels, const struct sl_attention *a)
{
    for (int head = 0; head < a->heads; head++) {
        const struct sl_attention one = sl_attention_head(kernels, a, head);
        const struct attention_ctx r = ctx_of(kernels, &one);
        for (int first = 0; first < a->queries; first += BLOCK)
            attention_block(&r, first, sl_min(a->queries, first + BLOCK));
    }
}

/* With p = softmax(s), p' = dropout(p) and out = sum_j p'_j v_j:
 *     dv_j += p'_j dout        dp_j = dropout(dout . v_j)
 *     ds_j = p_j (dp_j - sum_i p_i dp_i) scale        dq = sum_j ds_j k_j        dk_j += ds_j q
 * From s in p and dp before dropout in ds, this makes p' and ds. */
static void score_gradients(const struct attention_ctx *r, int i, float *p, float *ds)
{
    const int n = r->a->visible[i];
    r->kernels->softmax(p, n, NULL);
    drop(r, ds, i, n);
    const float mean = r->kernels->dot(p, ds, n);
    for (int j = 0; j < n; j++)
        ds[j] = p[j] * (ds[j] - mean) * r->a->scale;
    drop(r, p, i, n);
}

static void attention_backward_block(const struct attention_ctx *r,
                                     const struct sl_attention_backward *b, int first, int last)
{
    const struct sl_attention *a = r->a;
    const int max_keys = max_visible(a, first, last), queries = last - first;
    float *p = r->weights, *ds = r->ds;
    if (max_keys > 0) {
        scores(r, first, queries, max_keys);
        multiply_packed(r, ds, b->dout + (size_t)first * b->dout_stride, b->dout_stride, r->values,
                        queries, max_keys);
    }
    for (int i = first; i < last; i++, p += r->stride, ds += r->stride) {
        if (a->visible[i] > 0)
            score_gradients(r, i, p, ds);
        zero_tail(p, a->visible[i], max_keys);
        zero_tail(ds, a->visible[i], max_keys);
    }
    sum_keys(r, b->dq + (size_t)first * b->dq_stride, b->dq_stride, r->ds, r->k, queries, max_keys);
    sum_queries(r, b->dk, b->dkv_stride, r->ds, r->q + (size_t)first * a->q_stride, a->q_stride,
                queries, max_keys);
    sum_queries(r, b->dv, b->dkv_stride, r->weights, b->dout + (size_t)first * b->dout_stride,
                b->dout_stride, queries, max_keys);
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
        attention_backward_block(&r, b, first, sl_min(a->queries, first + BLOCK));
}
