/* attend_rows.c - attention one query at a time, by the row slots of a level. */
#include "base/whole.h"
#include "kernels/levels.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { LINE = 16 }; /* floats in a cache line */

/* A call under way: what it was asked for and with what it answers. */
struct run {
    const struct sl_kernels *at; /* the table of the level */
    const struct sl_attend *a;
    const float *q, *k, *v;
    float *scores, *slopes; /* one float per key */
};

size_t sl_attend_rows_scratch(int queries, int keys, int head_dim)
{
    (void)queries;
    (void)head_dim;
    return 2 * sl_round_up((size_t)keys, LINE) * sizeof(float);
}

static struct run run_of(const struct sl_kernels *at, const struct sl_attend *a)
{
    float *scratch = a->scratch;
    return (struct run){
        .at = at,
        .a = a,
        .q = a->q,
        .k = a->k,
        .v = a->v,
        .scores = scratch,
        .slopes = scratch + sl_round_up((size_t)a->keys, LINE),
    };
}

static struct sl_listing first_rows(size_t stride, int n, int width)
{
    return (struct sl_listing){.stride = stride, .n = n, .width = width};
}

/* scores = softmax(scale q . k) over the visible keys; returns its log-sum-exp. */
static float probabilities(const struct run *r, int i, int n)
{
    const struct sl_attend *a = r->a;
    const struct sl_listing keys = first_rows(a->kv_stride, n, a->head_dim);
    r->at->dots(r->scores, a->scale, r->q + (size_t)i * a->q_stride, r->k, &keys);
    return r->at->softmax(r->scores, n);
}

static void drop(const struct run *r, float *row, int query, int n)
{
    if (r->a->dropout.threshold)
        r->at->dropout(row, row, r->a->dropout, r->a->row_keys[query], 0, n);
}

static void attend_one(const struct run *r, int i)
{
    const struct sl_attend *a = r->a;
    float *out = (float *)a->out + (size_t)i * a->out_stride;
    const int n = a->visible[i];
    float lse = -INFINITY;
    assert(n >= 0);
    assert(n <= a->keys);
    memset(out, 0, (size_t)a->head_dim * sizeof *out);
    if (n > 0) {
        lse = probabilities(r, i, n);
        drop(r, r->scores, i, n);
        const struct sl_listing values = first_rows(a->kv_stride, n, a->head_dim);
        r->at->mix(out, r->scores, r->v, &values);
    }
    if (a->lse)
        a->lse[i] = lse;
}

void sl_attend_rows(const struct sl_kernels *at, const struct sl_attend *a)
{
    const struct run r = run_of(at, a);
    for (int i = 0; i < a->queries; i++)
        attend_one(&r, i);
}

/* With p = softmax(s), p' = dropout(p) and out = sum_j p'_j v_j:
 *     dv_j += p'_j dout        dp_j = dropout(dout . v_j)
 *     ds_j = p_j (dp_j - sum_i p_i dp_i) scale        dq = sum_j ds_j k_j        dk_j += ds_j q */
static void attend_one_back(const struct run *r, const struct sl_attend_back *b, int i)
{
    const struct sl_attend *a = r->a;
    const int n = a->visible[i];
    const struct sl_listing rows = first_rows(a->kv_stride, n, a->head_dim);
    const struct sl_listing slopes = first_rows(b->dkv_stride, n, a->head_dim);
    const float *q = r->q + (size_t)i * a->q_stride;
    const float *dout = b->dout + (size_t)i * b->dout_stride;
    float *p = r->scores, *ds = r->slopes;

    (void)probabilities(r, i, n);
    r->at->dots(ds, 1.0f, dout, r->v, &rows);
    drop(r, ds, i, n);
    const float mean = r->at->dot(p, ds, n);
    for (int j = 0; j < n; j++)
        ds[j] = p[j] * (ds[j] - mean) * a->scale;
    r->at->mix(b->dq + (size_t)i * b->dq_stride, ds, r->k, &rows);
    r->at->spread(b->dk, ds, q, &slopes);
    drop(r, p, i, n);
    r->at->spread(b->dv, p, dout, &slopes);
}

void sl_attend_rows_back(const struct sl_kernels *at, const struct sl_attend_back *b)
{
    const struct sl_attend *a = &b->forward;
    const struct run r = run_of(at, a);
    const size_t row_bytes = (size_t)a->head_dim * sizeof(float);
    for (int j = 0; j < a->keys; j++) {
        memset(b->dk + (size_t)j * b->dkv_stride, 0, row_bytes);
        memset(b->dv + (size_t)j * b->dkv_stride, 0, row_bytes);
    }
    for (int i = 0; i < a->queries; i++) {
        if (a->visible[i] > 0)
            attend_one_back(&r, b, i);
        else
            memset(b->dq + (size_t)i * b->dq_stride, 0, row_bytes);
    }
}
