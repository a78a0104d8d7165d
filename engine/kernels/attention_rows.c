/* attention_rows.c - attention with the row functions of a level, one query at a time. Only sums
 * over keys are computed for a block of queries at once: as a matrix product whose weights are 0
 * for keys that a query does not see. Every element is summed in the order of the keys, and adding
 * a product with 0 changes nothing, so the result of a query does not depend on its block. */
#include "base/int_util.h"
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
    float *weights, *ds; /* BLOCK rows of a float per key, `stride` floats apart */
    size_t stride;
};

size_t sl_attention_rows_scratch(int queries, int keys, int head_dim)
{
    (void)queries;
    (void)head_dim;
    return 2 * BLOCK * sl_round_up((size_t)keys, LINE) * sizeof(float);
}

static struct attention_ctx ctx_of(const struct sl_kernels *kernels, const struct sl_attention *a)
{
    float *scratch = a->scratch;
    const size_t stride = sl_round_up((size_t)a->keys, LINE);
    return (struct attention_ctx){
        .kernels = kernels,
        .a = a,
        .q = a->q,
        .k = a->k,
        .v = a->v,
        .weights = scratch,
        .ds = scratch + BLOCK * stride,
        .stride = stride,
    };
}

static struct sl_row_list first_rows(const struct sl_attention *a, int n)
{
    return (struct sl_row_list){.stride = a->kv_stride, .n = n, .width = a->head_dim};
}

/* p = softmax(scale q . k) over the n keys that query i sees; returns its log-sum-exp. */
static float probabilities(const struct attention_ctx *r, float *p, int i, int n)
{
    const struct sl_row_list keys = first_rows(r->a, n);
    r->kernels->gather_dot(p, r->a->scale, r->q + (size_t)i * r->a->q_stride, r->k, &keys);
    return r->kernels->softmax(p, n);
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
        const struct sl_row_list all = first_rows(r->a, keys);
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
    for (int i = first; i < last; i++, p += r->stride) {
        const int n = a->visible[i];
        const float lse = n > 0 ? probabilities(r, p, i, n) : -INFINITY;
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
    const struct attention_ctx r = ctx_of(kernels, a);
    for (int first = 0; first < a->queries; first += BLOCK)
        attention_block(&r, first, sl_min(a->queries, first + BLOCK));
}

/* With p = softmax(s), p' = dropout(p) and out = sum_j p'_j v_j:
 *     dv_j += p'_j dout        dp_j = dropout(dout . v_j)
 *     ds_j = p_j (dp_j - sum_i p_i dp_i) scale        dq = sum_j ds_j k_j        dk_j += ds_j q
 * This leaves p' in p, and ds. */
static void score_gradients(const struct attention_ctx *r, const struct sl_attention_backward *b,
                            int i, float *p, float *ds)
{
    const int n = r->a->visible[i];
    const struct sl_row_list values = first_rows(r->a, n);
    (void)probabilities(r, p, i, n);
    r->kernels->gather_dot(ds, 1.0f, b->dout + (size_t)i * b->dout_stride, r->v, &values);
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
    for (int i = first; i < last; i++, p += r->stride, ds += r->stride) {
        if (a->visible[i] > 0)
            score_gradients(r, b, i, p, ds);
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
    const struct attention_ctx r = ctx_of(kernels, a);
    const size_t row_bytes = (size_t)a->head_dim * sizeof(float);
    for (int j = 0; j < a->keys; j++) {
        memset(b->dk + (size_t)j * b->dkv_stride, 0, row_bytes);
        memset(b->dv + (size_t)j * b->dkv_stride, 0, row_bytes);
    }
    for (int first = 0; first < a->queries; first += BLOCK)
        attention_backward_block(&r, b, first, sl_min(a->queries, first + BLOCK));
}
