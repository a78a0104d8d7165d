/* attend_rows.c - attention one query at a time, from the steps a level provides.
 *
 * fp32 operands are used where they lie; bf16 operands are widened into scratch first. */
#include "base/whole.h"
#include "kernels/bf16.h"
#include "kernels/levels.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { LINE = 16 }; /* floats in a cache line */

/* One call's rows as fp32, wherever they are. */
struct view {
    const float *k, *v;
    size_t kv_stride;
    float *scores, *slopes; /* one float per key */
    float *q, *out;         /* one row each */
};

size_t sl_attend_rows_scratch(enum sl_type operand, int keys, int head_dim)
{
    const size_t row = sl_round_up((size_t)head_dim, LINE);
    const size_t widened = operand == SL_BF16 ? 2 * (size_t)keys * row : 0;
    return (2 * sl_round_up((size_t)keys, LINE) + 2 * row + widened) * sizeof(float);
}

static void widen_row(float *out, const void *operands, size_t offset, int n)
{
    const uint16_t *x = (const uint16_t *)operands + offset;
    for (int c = 0; c < n; c++)
        out[c] = sl_bf16_widen(x[c]);
}

static int most_visible(const struct sl_attend *a)
{
    int most = 0;
    for (int i = 0; i < a->queries; i++) {
        assert(a->visible[i] >= 0);
        assert(a->visible[i] <= a->keys);
        most = a->visible[i] > most ? a->visible[i] : most;
    }
    return most;
}

static struct view view_of(enum sl_type operand, const struct sl_attend *a)
{
    const size_t row = sl_round_up((size_t)a->head_dim, LINE),
                 keys = sl_round_up((size_t)a->keys, LINE);
    float *scratch = a->scratch;
    struct view w = {.k = a->k, .v = a->v, .kv_stride = a->kv_stride};
    w.scores = scratch;
    w.slopes = scratch + keys;
    w.q = w.slopes + keys;
    w.out = w.q + row;
    if (operand == SL_F32)
        return w;
    float *k = w.out + row, *v = k + (size_t)a->keys * row;
    const int most = most_visible(a);
    for (size_t j = 0; j < (size_t)most; j++) {
        widen_row(k + j * row, a->k, j * a->kv_stride, a->head_dim);
        widen_row(v + j * row, a->v, j * a->kv_stride, a->head_dim);
    }
    w.k = k;
    w.v = v;
    w.kv_stride = row;
    return w;
}

/* Row i of q, as fp32. */
static const float *query_row(enum sl_type operand, const struct sl_attend *a, const struct view *w,
                              int i)
{
    const size_t offset = (size_t)i * a->q_stride;
    if (operand == SL_F32)
        return (const float *)a->q + offset;
    widen_row(w->q, a->q, offset, a->head_dim);
    return w->q;
}

static void write_out(enum sl_type operand, const struct sl_attend *a, const float *row, int i)
{
    const size_t offset = (size_t)i * a->out_stride;
    if (operand == SL_F32) {
        memcpy((float *)a->out + offset, row, (size_t)a->head_dim * sizeof *row);
        return;
    }
    uint16_t *out = (uint16_t *)a->out + offset;
    for (int c = 0; c < a->head_dim; c++)
        out[c] = sl_bf16_narrow(row[c]);
}

/* A call under way: what it was asked for and with what it answers. */
struct run {
    const struct sl_row_steps *steps;
    const struct sl_kernels *table;
    enum sl_type operand;
    const struct sl_attend *a;
    struct view view;
};

static struct run run_of(const struct sl_row_steps *steps, enum sl_type operand,
                         const struct sl_attend *a)
{
    return (struct run){
        .steps = steps,
        .table = sl_kernels_at(steps->isa),
        .operand = operand,
        .a = a,
        .view = view_of(operand, a),
    };
}

/* scores = softmax(scale q . k) over the visible keys; returns its log-sum-exp. */
static float probabilities(const struct run *r, const float *q, int n)
{
    float *scores = r->view.scores;
    r->steps->dots(scores, q, r->view.k, r->view.kv_stride, n, r->a->head_dim);
    r->table->scale(scores, r->a->scale, scores, n);
    return r->table->softmax(scores, n);
}

static void drop(const struct run *r, float *row, int query, int n)
{
    if (r->a->dropout.threshold)
        r->table->dropout(row, row, r->a->dropout, r->a->row_keys[query], 0, n);
}

static void attend_one(const struct run *r, int i)
{
    const struct view *w = &r->view;
    const int n = r->a->visible[i], width = r->a->head_dim;
    float lse = -INFINITY;
    memset(w->out, 0, (size_t)width * sizeof *w->out);
    if (n > 0) {
        lse = probabilities(r, query_row(r->operand, r->a, w, i), n);
        drop(r, w->scores, i, n);
        r->steps->mix(w->out, w->scores, w->v, w->kv_stride, n, width);
    }
    write_out(r->operand, r->a, w->out, i);
    if (r->a->lse)
        r->a->lse[i] = lse;
}

void sl_attend_rows(const struct sl_row_steps *steps, enum sl_type operand,
                    const struct sl_attend *a)
{
    const struct run r = run_of(steps, operand, a);
    for (int i = 0; i < a->queries; i++)
        attend_one(&r, i);
}

/* With p = softmax(s), p' = dropout(p) and out = sum_j p'_j v_j:
 *     dv_j += p'_j dout        dp_j = dropout(dout . v_j)
 *     ds_j = p_j (dp_j - sum_i p_i dp_i) scale        dq = sum_j ds_j k_j        dk_j += ds_j q */
static void attend_one_back(const struct run *r, const struct sl_attend_back *b, int i)
{
    const struct sl_attend *a = r->a;
    const struct view *w = &r->view;
    const int n = a->visible[i], width = a->head_dim;
    const float *q = query_row(r->operand, a, w, i);
    const float *dout = b->dout + (size_t)i * b->dout_stride;
    float *p = w->scores, *ds = w->slopes;

    (void)probabilities(r, q, n);
    r->steps->dots(ds, dout, w->v, w->kv_stride, n, width);
    drop(r, ds, i, n);
    const float mean = r->table->dot(p, ds, n);
    for (int j = 0; j < n; j++)
        ds[j] = p[j] * (ds[j] - mean) * a->scale;
    r->steps->mix(b->dq + (size_t)i * b->dq_stride, ds, w->k, w->kv_stride, n, width);
    r->steps->spread(b->dk, b->dkv_stride, ds, q, n, width);
    drop(r, p, i, n);
    r->steps->spread(b->dv, b->dkv_stride, p, dout, n, width);
}

void sl_attend_rows_back(const struct sl_row_steps *steps, enum sl_type operand,
                         const struct sl_attend_back *b)
{
    const struct sl_attend *a = &b->forward;
    const struct run r = run_of(steps, operand, a);
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
