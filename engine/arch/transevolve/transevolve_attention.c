/* transevolve_attention.c - attention at one depth: the table of transevolve_scores.c, weighted by
 * a bias per key.
 *
 *     y_i = sum_j e_ij w_j value_j / sum_j e_ij w_j      w = softmax(bias), e_i = softmax(scores_i)
 *
 * which equals softmax_j(scores_ij + bias_j) with one matrix product and no exponentials except
 * those of w. Where scores and biases peak at different keys, the denominator may be lost to
 * rounding; such rows are computed from their scores one by one. A piece of work is one head of one
 * block of queries; in backward, of a whole sequence, because the gradients of values are sums over
 * all queries. */
#include "arch/transevolve/transevolve.h"
#include "arch/transevolve/transevolve_score_table.h"
#include "base/int_math.h"

#include <string.h>

enum { TABLE, BIAS, VALUE };

/* Rows whose sums are in fp32 at a time. */
enum { ROWS = 64 };

/* Smaller sums of e_ij w_j are not used. fp32 ends at 1e-38, so underflow costs larger sums less
 * than 1e-12 per key. */
static const float total_min = 1e-25f;

struct attention {
    struct sl_transevolve_attention_args args;
    const struct sl_transevolve_score_table *state;
    float *inverse_sums; /* per row: 1 / sum_j e_ij w_j, 0 where that underflows; while training */
};

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* -- what one worker has to itself -------------------------------------------------------- */

struct buffers {
    float *w, *dw;       /* per key */
    float *scores;       /* per key, of a row that underflows */
    float *wide[2];      /* rows of a head */
    float *right;        /* what is packed: at most keys x (head + 1) */
    float *products;     /* ROWS x keys or x (head + 1), or keys x head */
    char *packed, *left; /* the right side of a product, the left one of ROWS rows */
    char *spare;         /* an operand row of a head */
};

static int head_columns(const struct sl_node *n)
{
    const struct attention *a = n->args;
    return n->out->cols / a->state->heads;
}

static size_t scratch_layout(const struct sl_node *n, struct sl_scratch scratch, struct buffers *d)
{
    const struct attention *a = n->args;
    const struct sl_transevolve_score_table *m = a->state;
    const struct sl_kernels *k = n->tape->kernels;
    const int head = head_columns(n), key = m->key->cols / m->heads;
    const int max = m->max_keys > m->max_queries ? m->max_keys : m->max_queries;
    const size_t keys = (size_t)max, widest = (size_t)(key > head ? key : head);
    const size_t columns = (size_t)head + 1, strip = ROWS * larger(keys, columns);
    d->w = sl_scratch_take(&scratch, keys * sizeof(float));
    d->dw = sl_scratch_take(&scratch, keys * sizeof(float));
    d->scores = sl_scratch_take(&scratch, keys * sizeof(float));
    d->wide[0] = sl_scratch_take(&scratch, widest * sizeof(float));
    d->wide[1] = sl_scratch_take(&scratch, widest * sizeof(float));
    d->right = sl_scratch_take(&scratch, keys * columns * sizeof(float));
    d->products = sl_scratch_take(&scratch, larger(strip, keys * columns) * sizeof(float));
    d->packed =
        sl_scratch_take(&scratch, larger(k->pack_bytes(max, head + 1), k->pack_bytes(head, max)));
    d->left = sl_scratch_take(&scratch, sl_head_rows_bytes(k, ROWS, head));
    d->spare = sl_scratch_take(&scratch, sl_head_rows_bytes(k, 1, head));
    return scratch.used;
}

/* The state of one head block. */
struct run {
    const struct sl_node *n;
    const struct sl_kernels *k;
    const struct attention *a;
    const struct sl_transevolve_score_table *m;
    struct sl_head_block u;
    struct buffers d;
    int queries, keys, head; /* of the sequence; columns */
};

static struct run run_of(const struct sl_node *n, struct sl_head_block u)
{
    const struct attention *a = n->args;
    struct run r = {.n = n,
                    .k = n->tape->kernels,
                    .a = a,
                    .m = a->state,
                    .u = u,
                    .queries = u.sequence->rows,
                    .keys = u.keys_count,
                    .head = head_columns(n)};
    (void)scratch_layout(n, (struct sl_scratch){.base = n->spare}, &r.d);
    return r;
}

/* -- both directions ---------------------------------------------------------------------- */

/* This depth's biases of the block's head. */
static int bias_column(const struct run *r)
{
    return r->a->args.depth * r->m->heads + r->u.head;
}

static float bias_of(const struct run *r, int key)
{
    return sl_row(r->m->bias, r->u.keys_first + key)[bias_column(r)];
}

static void bias_softmax(const struct run *r)
{
    for (int j = 0; j < r->keys; j++)
        r->d.w[j] = bias_of(r, j);
    r->k->softmax(r->d.w, r->keys, NULL);
}

/* A row that underflows: computes its probabilities from its scores, in place. */
static int underflow_row_probabilities(const struct run *r, int i)
{
    struct sl_head_rows q = sl_head_rows_of(r->m, r->m->query, &r->u, i, 1);
    struct sl_head_rows keys = sl_head_keys_of(r->m, r->m->key, &r->u);
    int visible = sl_head_block_visible(r->m, &r->u, i);
    r->k->from_operands(r->d.wide[0], sl_head_row(&q, 0), q.columns);
    for (int j = 0; j < visible; j++) {
        r->k->from_operands(r->d.wide[1], sl_head_row(&keys, j), keys.columns);
        float score = r->k->dot(r->d.wide[0], r->d.wide[1], keys.columns);
        r->d.scores[j] = r->m->scale * score + bias_of(r, j);
    }
    r->k->softmax(r->d.scores, visible, NULL);
    return visible;
}

/* -- forward ------------------------------------------------------------------------------ */

/* The right side, packed: w_j value_j and, in the last column, w_j. */
static void pack_values(const struct run *r)
{
    struct sl_head_rows values = sl_head_keys_of(r->m, r->n->in[VALUE], &r->u);
    const int columns = r->head + 1;
    for (int j = 0; j < r->keys; j++) {
        float *row = r->d.right + (size_t)j * (size_t)columns;
        r->k->from_operands(row, sl_head_row(&values, j), r->head);
        r->k->scale(row, r->d.w[j], row, r->head);
        row[r->head] = r->d.w[j];
    }
    r->k->pack(r->d.packed, r->d.right, SL_F32, (size_t)columns, false, r->keys, columns, 0,
               columns);
}

static void underflow_row(const struct run *r, int i, float *y)
{
    struct sl_head_rows values = sl_head_keys_of(r->m, r->n->in[VALUE], &r->u);
    int visible = underflow_row_probabilities(r, i);
    memset(y, 0, (size_t)r->head * sizeof *y);
    for (int j = 0; j < visible; j++) {
        r->k->from_operands(r->d.wide[1], sl_head_row(&values, j), r->head);
        r->k->axpy(y, r->d.scores[j], r->d.wide[1], r->head);
    }
}

/* Sums of one query become its row of the result; returns the inverse of its sum. */
static float finish(const struct run *r, int i, float *y)
{
    float total = y[r->head];
    if (!(total >= total_min)) {
        underflow_row(r, i, y);
        return 0.0f;
    }
    r->k->scale(y, 1.0f / total, y, r->head);
    return 1.0f / total;
}

static void transevolve_attention_forward_rows(const struct run *r, int first, int rows)
{
    struct sl_head_rows out = sl_head_rows_of(r->m, r->n->out, &r->u, first, rows);
    int row = sl_head_block_row(r->m, &r->u, first);
    struct sl_gemm g = {.x = sl_row_any(r->m->table, row),
                        .x_stride = r->m->table->stride,
                        .packed = r->d.packed,
                        .y = r->d.products,
                        .y_stride = (size_t)r->head + 1,
                        .m = rows,
                        .n = r->head + 1,
                        .k = r->keys};
    r->k->gemm(&g);
    for (int i = 0; i < rows; i++) {
        float *y = g.y + (size_t)i * g.y_stride, rate = finish(r, first + i, y);
        sl_head_row_write(r->k, &out, i, y, r->d.spare);
        if (r->a->inverse_sums)
            r->a->inverse_sums[row + i] = rate;
    }
}

static void forward_head_block(const struct sl_node *n, int piece)
{
    const struct attention *a = n->args;
    const struct run r = run_of(n, sl_head_block_at(a->state, piece));
    bias_softmax(&r);
    pack_values(&r);
    for (int i = 0; i < r.u.count; i += ROWS)
        transevolve_attention_forward_rows(&r, r.u.first + i, sl_min(ROWS, r.u.count - i));
}

/* -- backward ----------------------------------------------------------------------------- */

static const float *dy_of(const struct run *r, int i)
{
    int row = r->u.sequence->first + i;
    return sl_grad_row(r->n->out, row) + (size_t)r->u.head * (size_t)r->head;
}

/* dp_ij = dy_i . value_j for some queries, in products: as many keys as any of them sees. */
static void probability_gradients(const struct run *r, int first, int rows)
{
    const size_t stride = sl_operand_stride(r->k, r->head), element = sl_type_bytes(r->k->operand);
    int seen = sl_head_block_visible(r->m, &r->u, first + rows - 1);
    struct sl_gemm g = {.x = r->d.left,
                        .x_stride = stride,
                        .packed = r->d.packed,
                        .y = r->d.products,
                        .y_stride = (size_t)r->keys,
                        .m = rows,
                        .n = seen,
                        .k = r->head};
    for (int i = 0; i < rows; i++)
        r->k->to_operands(r->d.left + (size_t)i * stride * element, dy_of(r, first + i), r->head);
    r->k->gemm(&g);
}

/* sum_j p_ij dp_ij, which is dy_i . y_i. */
static float mean_gradient(const struct run *r, int i)
{
    struct sl_head_rows y = sl_head_rows_of(r->m, r->n->out, &r->u, i, 1);
    r->k->from_operands(r->d.wide[0], sl_head_row(&y, 0), r->head);
    return r->k->dot(r->d.wide[0], dy_of(r, i), r->head);
}

static void underflow_row_backward(const struct run *r, int i, const struct sl_softmax_backward *s)
{
    (void)underflow_row_probabilities(r, i);
    for (int j = 0; j < s->n; j++) {
        float gradient = r->d.scores[j] * (s->dp[j] - s->mean);
        s->ds[j] = s->overwrite ? gradient : s->ds[j] + gradient;
        s->db[j] += gradient;
    }
}

/* With p_ij = rate_i w_j e_ij:  ds_ij = p_ij (dp_ij - sum_j p_ij dp_ij),  dbias_j = sum_i ds_ij. */
static void softmax_backward_rows(const struct run *r, int first, int rows)
{
    for (int i = first; i < first + rows; i++) {
        int row = sl_head_block_row(r->m, &r->u, i);
        struct sl_softmax_backward s = {.e = sl_row_any(r->m->table, row),
                                        .w = r->d.w,
                                        .dp = r->d.products + (size_t)(i - first) * (size_t)r->keys,
                                        .ds = sl_grad_row(r->m->table, row),
                                        .db = r->d.dw,
                                        .rate = r->a->inverse_sums[row],
                                        .mean = mean_gradient(r, i),
                                        .overwrite = r->n->overwrite[TABLE],
                                        .n = sl_head_block_visible(r->m, &r->u, i)};
        if (s.rate > 0.0f)
            r->k->softmax_backward(&s);
        else
            underflow_row_backward(r, i, &s);
    }
}

/* dvalue_j = sum_i p_ij dy_i = w_j sum_i e_ij (rate_i dy_i), with the transposed table. */
static void value_gradients(const struct run *r)
{
    struct sl_head_rows values = sl_head_keys_of(r->m, r->n->in[VALUE], &r->u);
    const size_t head = (size_t)r->head;
    int row = sl_head_block_row(r->m, &r->u, 0);
    for (int i = 0; i < r->queries; i++)
        r->k->scale(r->d.right + (size_t)i * head, r->a->inverse_sums[row + i], dy_of(r, i),
                    r->head);
    r->k->pack(r->d.packed, r->d.right, SL_F32, head, false, r->queries, r->head, 0, r->head);
    struct sl_gemm g = {.x = sl_row_any(r->m->transposed, sl_head_block_key_row(r->m, &r->u, 0)),
                        .x_stride = r->m->transposed->stride,
                        .packed = r->d.packed,
                        .y = r->d.products,
                        .y_stride = head,
                        .m = r->keys,
                        .n = r->head,
                        .k = r->queries};
    r->k->gemm(&g);
    for (int j = 0; j < r->keys; j++) {
        float *dv = sl_grad_row(values.x, values.row + j) + values.column;
        const float *y = g.y + (size_t)j * head;
        if (r->n->overwrite[VALUE])
            r->k->scale(dv, r->d.w[j], y, r->head);
        else
            r->k->axpy(dv, r->d.w[j], y, r->head);
    }
}

/* The contribution of rows that underflow. */
static void single_row_backward_values(const struct run *r)
{
    struct sl_head_rows values = sl_head_keys_of(r->m, r->n->in[VALUE], &r->u);
    int row = sl_head_block_row(r->m, &r->u, 0);
    for (int i = 0; i < r->queries; i++) {
        if (r->a->inverse_sums[row + i] > 0.0f)
            continue;
        int visible = underflow_row_probabilities(r, i);
        for (int j = 0; j < visible; j++)
            r->k->axpy(sl_grad_row(values.x, values.row + j) + values.column, r->d.scores[j],
                       dy_of(r, i), r->head);
    }
}

static void backward_unit(const struct run *r)
{
    struct sl_head_rows values = sl_head_keys_of(r->m, r->n->in[VALUE], &r->u);
    bias_softmax(r);
    memset(r->d.dw, 0, (size_t)r->keys * sizeof *r->d.dw);
    r->k->pack(r->d.packed, sl_head_row(&values, 0), values.x->type, values.x->stride, true,
               r->head, r->keys, 0, r->keys);
    for (int i = 0; i < r->queries; i += ROWS) {
        int rows = sl_min(ROWS, r->queries - i);
        probability_gradients(r, i, rows);
        softmax_backward_rows(r, i, rows);
    }
    for (int j = 0; j < r->keys; j++)
        sl_grad_row(r->n->in[BIAS], values.row + j)[bias_column(r)] += r->d.dw[j];
    value_gradients(r);
    single_row_backward_values(r);
}

static void backward_head(const struct sl_node *n, int piece)
{
    const struct attention *a = n->args;
    struct sl_head_block block = a->state->whole[piece / a->state->heads];
    block.head = piece % a->state->heads;
    const struct run r = run_of(n, block);
    backward_unit(&r);
}

/* -- recording ---------------------------------------------------------------------------- */

static size_t spare_bytes(const struct sl_node *n, bool backward)
{
    struct buffers d;
    (void)backward;
    return scratch_layout(n, (struct sl_scratch){0}, &d);
}

static void transevolve_attention_forward(const struct sl_node *n)
{
    const struct attention *a = n->args;
    sl_clear_padding(n->out);
    sl_node_rows(n, a->state->block_count * a->state->heads, forward_head_block);
}

static void transevolve_attention_backward(const struct sl_node *n)
{
    const struct attention *a = n->args;
    const struct sl_tensor *bias = n->in[BIAS];
    if (n->overwrite[BIAS])
        memset(bias->grad, 0, (size_t)bias->rows * (size_t)bias->cols * sizeof *bias->grad);
    sl_node_rows(n, n->view->batch->count * a->state->heads, backward_head);
}

static const struct sl_op attention = {.name = "transevolve_attention",
                                       .forward = transevolve_attention_forward,
                                       .backward = transevolve_attention_backward,
                                       .grain = 1,
                                       .spare_bytes = spare_bytes};

struct sl_tensor *sl_transevolve_attention(struct sl_tape *t,
                                           const struct sl_transevolve_score_table *state,
                                           struct sl_tensor *value,
                                           struct sl_transevolve_attention_args args)
{
    assert(value->rows == state->key->rows);
    assert(value->cols % state->heads == 0);
    assert((args.depth + 1) * state->heads <= state->bias->cols);
    if (state->cached)
        return sl_transevolve_attention_cached(t, state, value, args.depth, args.cache_values);
    struct attention *a = sl_tape_struct(t, 1, sizeof *a);
    *a = (struct attention){.args = args, .state = state};
    struct sl_tensor *out = sl_operand_take(t, state->query->rows, value->cols);
    if (t->training)
        a->inverse_sums = sl_tape_take(t, (size_t)state->table->rows, sizeof *a->inverse_sums);
    return sl_tape_run(
        t, (struct sl_node){
               .op = &attention, .out = out, .in = {state->table, state->bias, value}, .args = a});
}
