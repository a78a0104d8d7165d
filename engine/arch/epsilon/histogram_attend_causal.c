/* histogram_attend_causal.c - queries attend to the bins of their own and earlier rows:
 * Epsilon, section 3.3, with sums that end at the query's own row. Per head, with the assignments a
 * of histogram_assign.c and all rows i <= j of the text:
 *
 *     M_b = sum_i a_ib + 1e-6;   K^_b = sum_i a_ib K_i;   V^_b = sum_i a_ib V_i
 *     w_j = softmax_b(Q_j . K^_b / (M_b sqrt(head_dim)));   out_j = sum_b dropout(w_jb) V^_b / M_b
 *
 * Every sum is one chain of additions, row after row, so its bits do not depend on how a text is
 * divided into chunks. A cache holds only the sums, whatever the length of the text. Backward
 * computes them again instead of storing them. */
#include "arch/epsilon/epsilon.h"
#include "arch/epsilon/histogram_bins.h"

#include <math.h>
#include <string.h>

enum { QUERY, KEY_VALUE, ASSIGNMENTS };

enum { ROWS = 64 };

struct attend_causal {
    struct sl_histogram_attend_causal_args args;
    struct sl_bins_shape shape;
    int32_t *first; /* query of each sequence; and one past the last */
    struct sl_dropout dropout;
    uint64_t random_key;
};

/* Scratch memory of one direction. */
struct histogram_attend_causal_ctx {
    const struct sl_node *n;
    float *contexts;      /* forward: the result in fp32 */
    float *row_gradients; /* backward, per head and row: e, f and g */
    float *workers;
};

/* One head's sums, or their gradients: head_dim x bins, or transposed. */
struct sums {
    float *keys, *keys_transposed, *values, *values_transposed, *assignment_sums;
};

static size_t half_floats(const struct attend_causal *a)
{
    return sl_bins_floats(&a->shape) / 2;
}

/* A worker's memory: both sums and their transposes, the sums of assignments, two rows of bins. */
static size_t worker_floats(const struct attend_causal *a)
{
    return 4 * half_floats(a) + 3 * (size_t)a->shape.bins;
}

static size_t row_gradient_floats(const struct sl_node *n)
{
    return 3 * (size_t)n->in[ASSIGNMENTS]->cols * (size_t)n->in[ASSIGNMENTS]->rows;
}

static size_t histogram_attend_causal_scratch(const struct sl_node *n, bool backward)
{
    const struct attend_causal *a = n->args;
    size_t workers = (size_t)sl_thread_pool_size(n->tape->pool) * worker_floats(a);
    size_t contexts = (size_t)n->out->rows * (size_t)n->out->cols;
    return (workers + (backward ? row_gradient_floats(n) : contexts)) * sizeof(float);
}

static const float *keys_of(const struct sl_node *n, int row, int head)
{
    const struct attend_causal *a = n->args;
    return sl_row(n->in[KEY_VALUE], row) + sl_head_column(&a->shape, head);
}

static const float *assignments_of(const struct sl_node *n, int row, int head)
{
    const struct attend_causal *a = n->args;
    return sl_row(n->in[ASSIGNMENTS], row) + (size_t)head * (size_t)a->shape.bins;
}

static const float *query_of(const struct sl_node *n, int i, int head)
{
    const struct attend_causal *a = n->args;
    return sl_row(n->in[QUERY], i) + sl_head_column(&a->shape, head);
}

static float scale_of(const struct attend_causal *a)
{
    return 1.0f / sqrtf((float)a->shape.head_dim);
}

/* y (m x n) += x^T b for `rows` rows of x and b: one chain of additions per element. */
static void add_outer(const struct sl_node *n, const struct sl_small_gemm *p)
{
    struct sl_small_gemm outer = *p;
    outer.x_row = 1;
    outer.y_row = (size_t)p->n;
    outer.accumulate = true;
    n->tape->kernels->small_gemm(&outer);
}

/* y = or += x b for one row x of k numbers. */
static void row_times_matrix(const struct sl_node *n, float *y, const float *x, const float *b,
                             struct sl_small_gemm p)
{
    p.x = x;
    p.x_col = 1;
    p.b = b;
    p.b_row = (size_t)p.n;
    p.y = y;
    p.m = 1;
    n->tape->kernels->small_gemm(&p);
}

/* -- forward ------------------------------------------------------------------------------ */

/* Where a head's sums are: in the cache of its text, where they may continue earlier ones, or in
 * the worker's memory, starting at zero. */
static struct sums sums_of(const struct sl_node *n, int sequence, int head, float *worker)
{
    const struct attend_causal *a = n->args;
    const struct sl_cache *cache = n->view->batch->sequences[sequence].cache;
    size_t floats = 2 * half_floats(a) + (size_t)a->shape.bins;
    float *at = cache ? cache->state + a->args.cache_at + (size_t)head * floats : worker;
    if (!cache || cache->length == 0)
        memset(at, 0, floats * sizeof *at);
    return (struct sums){.keys = at,
                         .values_transposed = at + half_floats(a),
                         .assignment_sums = at + 2 * half_floats(a)};
}

/* Adds a range of rows to the sums. */
static void accumulate_rows(const struct sl_node *n, const struct sums *s, int head, int from,
                            int to)
{
    const struct attend_causal *a = n->args;
    int dim = a->shape.head_dim, bins = a->shape.bins;
    if (from == to)
        return;
    size_t stride = n->in[KEY_VALUE]->stride, assignments_stride = n->in[ASSIGNMENTS]->stride;
    const float *keys = keys_of(n, from, head), *assignments = assignments_of(n, from, head);
    add_outer(n, &(struct sl_small_gemm){.x = keys,
                                         .x_col = stride,
                                         .b = assignments,
                                         .b_row = assignments_stride,
                                         .y = s->keys,
                                         .m = dim,
                                         .n = bins,
                                         .k = to - from});
    add_outer(n, &(struct sl_small_gemm){.x = assignments,
                                         .x_col = assignments_stride,
                                         .b = keys + n->in[KEY_VALUE]->cols / 2,
                                         .b_row = stride,
                                         .y = s->values_transposed,
                                         .m = bins,
                                         .n = dim,
                                         .k = to - from});
    for (int r = from; r < to; r++, assignments += assignments_stride)
        for (int b = 0; b < bins; b++)
            s->assignment_sums[b] += assignments[b];
}

/* y = dropout(x) of a query's weights or their gradients; y may be x. */
static void drop(const struct sl_node *n, int i, int head, float *y, const float *x)
{
    const struct attend_causal *a = n->args;
    int row = n->view->batch->row_base + i;
    uint32_t key = sl_dropout_head_key(a->random_key, row, head, a->shape.heads);
    n->tape->kernels->dropout(y, x, a->dropout, key, 0, a->shape.bins);
}

/* s_j and 1 / M of one query; w_j = softmax(s_j). */
static void score(const struct sl_node *n, const struct sums *s, const float *query, float *scores,
                  float *inverse)
{
    const struct attend_causal *a = n->args;
    float scale = scale_of(a);
    row_times_matrix(n, scores, query, s->keys,
                     (struct sl_small_gemm){.n = a->shape.bins, .k = a->shape.head_dim});
    for (int b = 0; b < a->shape.bins; b++) {
        inverse[b] = 1.0f / sl_bin_divisor(s->assignment_sums[b]);
        scores[b] *= inverse[b] * scale;
    }
}

static void attend_query(const struct histogram_attend_causal_ctx *p, const struct sums *s, int i,
                         int head, float *spare)
{
    const struct sl_node *n = p->n;
    const struct attend_causal *a = n->args;
    int bins = a->shape.bins, dim = a->shape.head_dim;
    float *weights = spare, *inverse = spare + bins;
    float *out = p->contexts + (size_t)i * (size_t)n->out->cols + sl_head_column(&a->shape, head);
    score(n, s, query_of(n, i, head), weights, inverse);
    n->tape->kernels->softmax(weights, bins, NULL);
    if (a->dropout.threshold)
        drop(n, i, head, weights, weights);
    for (int b = 0; b < bins; b++)
        weights[b] *= inverse[b];
    row_times_matrix(n, out, weights, s->values_transposed,
                     (struct sl_small_gemm){.n = dim, .k = bins});
}

static void forward_head(const struct histogram_attend_causal_ctx *p, int sequence, int head,
                         float *worker)
{
    const struct sl_node *n = p->n;
    const struct attend_causal *a = n->args;
    const struct sl_sequence *text = &n->view->batch->sequences[sequence];
    struct sums s = sums_of(n, sequence, head, worker);
    float *spare = worker + 4 * half_floats(a) + (size_t)a->shape.bins;
    int done = text->first;
    for (int i = a->first[sequence]; i < a->first[sequence + 1]; i++) {
        accumulate_rows(n, &s, head, done, sl_rows_at(a->args.rows, i) + 1);
        done = sl_rows_at(a->args.rows, i) + 1;
        attend_query(p, &s, i, head, spare);
    }
    if (text->cache)
        accumulate_rows(n, &s, head, done, text->first + text->rows);
}

static void forward_heads(void *ctx, int first, int last, int worker)
{
    const struct histogram_attend_causal_ctx *p = ctx;
    const struct attend_causal *a = p->n->args;
    float *spare = p->workers + (size_t)worker * worker_floats(a);
    for (int i = first; i < last; i++)
        forward_head(p, i / a->shape.heads, i % a->shape.heads, spare);
}

static void convert_rows(void *ctx, int first, int last, int worker)
{
    const struct histogram_attend_causal_ctx *p = ctx;
    const struct sl_tensor *out = p->n->out;
    (void)worker;
    for (int i = first; i < last; i++)
        p->n->tape->kernels->to_operands(sl_row_any(out, i),
                                         p->contexts + (size_t)i * (size_t)out->cols, out->cols);
}

static void histogram_attend_causal_forward(const struct sl_node *n)
{
    const struct attend_causal *a = n->args;
    struct histogram_attend_causal_ctx p = {
        .n = n, .contexts = sl_tape_scratch(n, histogram_attend_causal_scratch(n, false))};
    p.workers = p.contexts + (size_t)n->out->rows * (size_t)n->out->cols;
    sl_parallel_for(n->tape->pool, n->view->batch->count * a->shape.heads, 1, forward_heads, &p);
    sl_parallel_for(n->tape->pool, n->out->rows, ROWS, convert_rows, &p);
}

/* -- backward ----------------------------------------------------------------------------- */

/* With dw_j = dropout(dout_j V^ / M) and ds_j = w_j (dw_j - <w_j, dw_j>), forwards for every row
 *
 *     e_jb = ds_jb / (M_b sqrt(head_dim));   f_jb = dropout(w_jb) / M_b
 *     g_jb = -(ds_jb s_jb + w_jb dw_jb) / M_b;   dQ_j = sum_b e_jb K^_b
 *
 * and then backwards, with the sums over all rows j >= i of a text,
 *
 *     dK^_b = sum_j e_jb Q_j;   dV^_b = sum_j f_jb dout_j;   dM_b = sum_j g_jb
 *     dK_i = sum_b a_ib dK^_b;   dV_i = sum_b a_ib dV^_b
 *     da_ib = K_i . dK^_b + V_i . dV^_b + dM_b */
static struct sums zero_sums(const struct attend_causal *a, float *worker)
{
    size_t half = half_floats(a);
    memset(worker, 0, (4 * half + (size_t)a->shape.bins) * sizeof *worker);
    return (struct sums){.keys = worker,
                         .keys_transposed = worker + half,
                         .values = worker + 2 * half,
                         .values_transposed = worker + 3 * half,
                         .assignment_sums = worker + 4 * half};
}

/* y += x^T b and y_transposed += b^T x, one row each; y is as many rows as x has numbers. */
static void add_outer_and_transpose(const struct sl_node *n, float *y, float *y_transposed,
                                    const float *x, const float *b)
{
    const struct attend_causal *a = n->args;
    int dim = a->shape.head_dim, bins = a->shape.bins;
    if (y)
        add_outer(n, &(struct sl_small_gemm){.x = x, .b = b, .y = y, .m = dim, .n = bins, .k = 1});
    if (y_transposed)
        add_outer(n, &(struct sl_small_gemm){
                         .x = b, .b = x, .y = y_transposed, .m = bins, .n = dim, .k = 1});
}

static float *row_gradients_of(const struct histogram_attend_causal_ctx *p, int row, int head)
{
    const struct attend_causal *a = p->n->args;
    size_t place = (size_t)head * (size_t)p->n->in[ASSIGNMENTS]->rows + (size_t)row;
    return p->row_gradients + place * 3 * (size_t)a->shape.bins;
}

/* e, f and g of one row, from the sums at it. spare: two rows of bins. */
static void backward_row(const struct histogram_attend_causal_ctx *p, const struct sums *s, int row,
                         int head, float *spare)
{
    const struct sl_node *n = p->n;
    const struct attend_causal *a = n->args;
    int bins = a->shape.bins, dim = a->shape.head_dim;
    float *e = row_gradients_of(p, row, head), *f = e + bins, *g = f + bins;
    float *dw = spare, *inverse = spare + bins, scale = scale_of(a);
    score(n, s, query_of(n, row, head), g, inverse);
    memcpy(f, g, (size_t)bins * sizeof *f);
    n->tape->kernels->softmax(f, bins, NULL);
    row_times_matrix(n, dw, sl_grad_row(n->out, row) + sl_head_column(&a->shape, head), s->values,
                     (struct sl_small_gemm){.n = bins, .k = dim});
    for (int b = 0; b < bins; b++)
        dw[b] *= inverse[b];
    if (a->dropout.threshold)
        drop(n, row, head, dw, dw);
    float mean = n->tape->kernels->dot(f, dw, bins);
    for (int b = 0; b < bins; b++) {
        float ds = f[b] * (dw[b] - mean);
        e[b] = ds * scale * inverse[b];
        g[b] = -(ds * g[b] + f[b] * dw[b]) * inverse[b];
    }
    if (a->dropout.threshold)
        drop(n, row, head, f, f);
    for (int b = 0; b < bins; b++)
        f[b] *= inverse[b];
}

/* Computes the sums again, then e, f and g of every row and the gradient of its query. */
static void backward_query_pass(const struct histogram_attend_causal_ctx *p,
                                const struct sl_sequence *text, int head, float *worker)
{
    const struct sl_node *n = p->n;
    const struct attend_causal *a = n->args;
    struct sums s = zero_sums(a, worker);
    float *spare = s.assignment_sums + a->shape.bins;
    for (int r = text->first; r < text->first + text->rows; r++) {
        const float *key = keys_of(n, r, head), *assignments = assignments_of(n, r, head);
        add_outer_and_transpose(n, s.keys, s.keys_transposed, key, assignments);
        add_outer_and_transpose(n, s.values, NULL, key + n->in[KEY_VALUE]->cols / 2, assignments);
        for (int b = 0; b < a->shape.bins; b++)
            s.assignment_sums[b] += assignments[b];
        backward_row(p, &s, r, head, spare);
        row_times_matrix(n, sl_grad_row(n->in[QUERY], r) + sl_head_column(&a->shape, head),
                         row_gradients_of(p, r, head), s.keys_transposed,
                         (struct sl_small_gemm){.n = a->shape.head_dim,
                                                .k = a->shape.bins,
                                                .accumulate = !n->overwrite[QUERY]});
    }
}

/* The gradients of a row's contribution, from those of the sums. */
static void backward_key_value_row(const struct sl_node *n, const struct sums *d, int row, int head)
{
    const struct attend_causal *a = n->args;
    int bins = a->shape.bins, dim = a->shape.head_dim, width = n->in[KEY_VALUE]->cols / 2;
    const float *key = keys_of(n, row, head), *assignments = assignments_of(n, row, head);
    float *dkey = sl_grad_row(n->in[KEY_VALUE], row) + sl_head_column(&a->shape, head);
    float *dassignments = sl_grad_row(n->in[ASSIGNMENTS], row) + (size_t)head * (size_t)bins;
    struct sl_small_gemm to_row = {.n = dim, .k = bins, .accumulate = !n->overwrite[KEY_VALUE]};
    struct sl_small_gemm to_bins = {.n = bins, .k = dim, .accumulate = true};
    row_times_matrix(n, dkey, assignments, d->keys_transposed, to_row);
    row_times_matrix(n, dkey + width, assignments, d->values_transposed, to_row);
    if (n->overwrite[ASSIGNMENTS])
        memcpy(dassignments, d->assignment_sums, (size_t)bins * sizeof *dassignments);
    else
        n->tape->kernels->axpy(dassignments, 1.0f, d->assignment_sums, bins);
    row_times_matrix(n, dassignments, key, d->keys, to_bins);
    row_times_matrix(n, dassignments, key + width, d->values, to_bins);
}

static void backward_key_value_pass(const struct histogram_attend_causal_ctx *p,
                                    const struct sl_sequence *text, int head, float *worker)
{
    const struct sl_node *n = p->n;
    const struct attend_causal *a = n->args;
    struct sums d = zero_sums(a, worker);
    for (int r = text->first + text->rows - 1; r >= text->first; r--) {
        const float *e = row_gradients_of(p, r, head), *f = e + a->shape.bins,
                    *g = f + a->shape.bins;
        const float *dout = sl_grad_row(n->out, r) + sl_head_column(&a->shape, head);
        add_outer_and_transpose(n, d.keys, d.keys_transposed, query_of(n, r, head), e);
        add_outer_and_transpose(n, d.values, d.values_transposed, dout, f);
        for (int b = 0; b < a->shape.bins; b++)
            d.assignment_sums[b] += g[b];
        backward_key_value_row(n, &d, r, head);
    }
}

static void backward_heads(void *ctx, int first, int last, int worker)
{
    const struct histogram_attend_causal_ctx *p = ctx;
    const struct attend_causal *a = p->n->args;
    float *spare = p->workers + (size_t)worker * worker_floats(a);
    for (int i = first; i < last; i++) {
        const struct sl_sequence *text = &p->n->view->batch->sequences[i / a->shape.heads];
        backward_query_pass(p, text, i % a->shape.heads, spare);
        backward_key_value_pass(p, text, i % a->shape.heads, spare);
    }
}

static void histogram_attend_causal_backward(const struct sl_node *n)
{
    const struct attend_causal *a = n->args;
    struct histogram_attend_causal_ctx p = {
        .n = n, .row_gradients = sl_tape_scratch(n, histogram_attend_causal_scratch(n, true))};
    p.workers = p.row_gradients + row_gradient_floats(n);
    sl_parallel_for(n->tape->pool, n->view->batch->count * a->shape.heads, 1, backward_heads, &p);
}

static const struct sl_op attend_causal = {.name = "histogram_attend_causal",
                                           .scratch = histogram_attend_causal_scratch,
                                           .forward = histogram_attend_causal_forward,
                                           .backward = histogram_attend_causal_backward};

/* Queries are ascending, so those of a sequence are contiguous. */
static int32_t *first_queries(struct sl_tape *t, const struct attend_causal *a, int count)
{
    const struct sl_batch *batch = t->view->batch;
    int32_t *first = sl_tape_struct(t, (size_t)batch->count + 1, sizeof *first);
    int i = 0;
    for (int s = 0; s < batch->count; s++) {
        const struct sl_sequence *text = &batch->sequences[s];
        assert(!text->cache || text->cache->length == text->position);
        first[s] = i;
        while (i < count && sl_rows_at(a->args.rows, i) < text->first + text->rows)
            i++;
    }
    assert(i == count);
    first[batch->count] = count;
    return first;
}

struct sl_tensor *sl_histogram_attend_causal(struct sl_tape *t, struct sl_tensor *query,
                                             struct sl_tensor *key_value,
                                             struct sl_tensor *assignments,
                                             struct sl_histogram_attend_causal_args args)
{
    assert(query->type == SL_F32);
    assert(key_value->type == SL_F32);
    assert(key_value->rows == t->view->batch->rows);
    assert(assignments->rows == t->view->batch->rows);
    assert(query->rows == (args.rows ? args.rows->count : t->view->batch->rows));
    assert(!args.rows || !t->training);
    struct attend_causal *a = sl_tape_struct(t, 1, sizeof *a);
    a->args = args;
    a->shape = (struct sl_bins_shape){args.heads, query->cols / args.heads,
                                      assignments->cols / args.heads};
    a->first = first_queries(t, a, query->rows);
    if (t->training && args.dropout > 0.0f) {
        a->dropout = sl_dropout_of(args.dropout);
        a->random_key = sl_tape_random(t);
    }
    return sl_tape_run(t, (struct sl_node){.op = &attend_causal,
                                           .out = sl_operand_take(t, query->rows, query->cols),
                                           .in = {query, key_value, assignments},
                                           .args = a});
}
