/* transevolve_scores.c - query-key scores, once for all depths of a block: softmax_j(scale q_i .
 * k_j).
 *
 * The depths share the softmax of the scores without biases b_j, because
 *     softmax_j(s_ij + b_j) = softmax_j(s_ij) softmax_j(b_j) / (their sum over j).
 * A piece of work is one head of one block of queries; in backward, of a whole sequence, because
 * the gradients of keys are sums over all queries. */
#include "arch/transevolve/transevolve.h"
#include "arch/transevolve/transevolve_score_table.h"
#include "base/int_math.h"

#include <math.h>
#include <string.h>

enum { QUERY, KEY };

/* Queries per head block, which share packed keys; rows whose scores are in fp32 at the same
 * time. */
enum { QUERIES_MAX = 512, ROWS = 64 };

/* -- forward ------------------------------------------------------------------------------ */

/* What one worker has to itself. */
struct forward_buffers {
    char *packed;  /* the keys of one head */
    float *scores; /* ROWS queries */
    char *left;
};

static size_t forward_layout(const struct sl_node *n, struct sl_scratch scratch,
                             struct forward_buffers *d)
{
    const struct sl_transevolve_score_table *m = n->args;
    const struct sl_kernels *k = n->tape->kernels;
    int width = m->key->cols / m->heads;
    d->packed = sl_scratch_take(&scratch, k->pack_bytes(width, m->max_keys));
    d->scores = sl_scratch_take(&scratch, ROWS * (size_t)m->max_keys * sizeof *d->scores);
    d->left = sl_scratch_take(&scratch, sl_head_rows_bytes(k, ROWS, width));
    return scratch.used;
}

static void pack_keys(const struct sl_kernels *k, const struct sl_head_rows *keys, void *packed)
{
    k->pack(packed, sl_head_row(keys, 0), keys->x->type, keys->x->stride, true, keys->columns,
            keys->rows, 0, keys->rows);
}

/* Scores of one query become its row of the table. */
static void softmax_row(const struct sl_node *n, const struct sl_head_block *u, int i,
                        float *scores)
{
    const struct sl_transevolve_score_table *m = n->args;
    const struct sl_kernels *k = n->tape->kernels;
    int visible = sl_head_block_visible(m, u, i), keys = u->keys_count;
    k->scale(scores, m->scale, scores, visible);
    k->softmax(scores, visible, NULL);
    memset(scores + visible, 0, (size_t)(keys - visible) * sizeof *scores);
    k->to_operands(sl_row_any(m->table, sl_head_block_row(m, u, i)), scores, keys);
}

/* Rows first.. of the block's square, transposed into columns. */
static void transpose_rows(const struct sl_node *n, const struct sl_head_block *u, int first,
                           int rows)
{
    const struct sl_transevolve_score_table *m = n->args;
    int keys = u->keys_count;
    char *out = sl_row_any(m->transposed, sl_head_block_key_row(m, u, 0));
    n->tape->kernels->transpose(out + (size_t)first * sl_type_bytes(m->transposed->type),
                                m->transposed->stride,
                                sl_row_any(m->table, sl_head_block_row(m, u, first)),
                                m->table->stride, rows, keys, first + rows == u->sequence->rows);
}

static void transevolve_scores_forward_rows(const struct sl_node *n, const struct sl_head_block *u,
                                            int first, int rows, const struct forward_buffers *d)
{
    const struct sl_transevolve_score_table *m = n->args;
    struct sl_head_rows query = sl_head_rows_of(m, m->query, u, first, rows);
    struct sl_gemm g = {
        .packed = d->packed, .y = d->scores, .y_stride = (size_t)m->max_keys, .n = u->keys_count};
    sl_head_rows_as_left_operand(n->tape->kernels, &query, d->left, &g);
    n->tape->kernels->gemm(&g);
    for (int i = 0; i < rows; i++)
        softmax_row(n, u, first + i, d->scores + (size_t)i * g.y_stride);
    if (m->transposed)
        transpose_rows(n, u, first, rows);
}

static void forward_head_block(const struct sl_node *n, int piece)
{
    const struct sl_transevolve_score_table *m = n->args;
    struct sl_head_block u = sl_head_block_at(m, piece);
    struct sl_head_rows keys = sl_head_keys_of(m, m->key, &u);
    struct forward_buffers d;
    (void)forward_layout(n, (struct sl_scratch){.base = n->spare}, &d);
    pack_keys(n->tape->kernels, &keys, d.packed);
    for (int i = 0; i < u.count; i += ROWS)
        transevolve_scores_forward_rows(n, &u, u.first + i, sl_min(ROWS, u.count - i), &d);
}

/* -- backward ----------------------------------------------------------------------------- */

/* What one worker has to itself. */
struct backward_buffers {
    char *packed_keys, *packed_queries; /* right operands: keys (or queries) x width */
    float *row;                         /* of gradients */
    char *gradients, *transposed;       /* of ROWS queries; of the whole square, transposed */
    size_t gradients_stride;            /* elements; of both */
};

static size_t backward_layout(const struct sl_node *n, struct sl_scratch scratch,
                              struct backward_buffers *d)
{
    const struct sl_transevolve_score_table *m = n->args;
    const struct sl_kernels *k = n->tape->kernels;
    int width = m->key->cols / m->heads;
    int max = m->max_keys > m->max_queries ? m->max_keys : m->max_queries;
    d->packed_keys = sl_scratch_take(&scratch, k->pack_bytes(max, width));
    d->packed_queries = sl_scratch_take(&scratch, k->pack_bytes(max, width));
    d->row = sl_scratch_take(&scratch, (size_t)max * sizeof *d->row);
    d->gradients = sl_scratch_take(&scratch, sl_head_rows_bytes(k, ROWS, max));
    d->transposed = sl_scratch_take(&scratch, sl_head_rows_bytes(k, max, max));
    d->gradients_stride = sl_operand_stride(k, max);
    return scratch.used;
}

static void pack_right(const struct sl_kernels *k, const struct sl_head_rows *p, void *packed)
{
    k->pack(packed, sl_head_row(p, 0), p->x->type, p->x->stride, false, p->rows, p->columns, 0,
            p->columns);
}

/* Score gradients of some queries as operands, and their transpose. */
static void narrow_slopes(const struct sl_node *n, const struct sl_head_block *u, int first,
                          int rows, const struct backward_buffers *d)
{
    const struct sl_transevolve_score_table *m = n->args;
    const struct sl_kernels *k = n->tape->kernels;
    const size_t element = sl_type_bytes(k->operand);
    int keys = u->keys_count;
    for (int i = 0; i < rows; i++) {
        int visible = sl_head_block_visible(m, u, first + i);
        const float *gradients = sl_grad_row(m->table, sl_head_block_row(m, u, first + i));
        k->scale(d->row, m->scale, gradients, visible);
        memset(d->row + visible, 0, (size_t)(keys - visible) * sizeof *d->row);
        k->to_operands(d->gradients + (size_t)i * d->gradients_stride * element, d->row, keys);
    }
    k->transpose(d->transposed + (size_t)first * element, d->gradients_stride, d->gradients,
                 d->gradients_stride, rows, keys, first + rows == u->sequence->rows);
}

/* Sets the gradient of a part to the product, or adds the product. */
static void multiply(const struct sl_kernels *k, const struct sl_head_rows *p, struct sl_gemm g)
{
    g.y = sl_grad_row(p->x, p->row) + p->column;
    g.y_stride = (size_t)p->x->cols;
    g.m = p->rows;
    g.n = p->columns;
    k->gemm(&g);
}

/* With s the gradient of the scores:  dq_i = scale sum_j s_ij k_j,  dk_j = scale sum_i s_ij q_i. */
static void backward_head(const struct sl_node *n, int piece)
{
    const struct sl_transevolve_score_table *m = n->args;
    const struct sl_kernels *k = n->tape->kernels;
    struct sl_head_block block = m->whole[piece / m->heads];
    const struct sl_head_block *u = &block;
    block.head = piece % m->heads;
    struct backward_buffers d;
    (void)backward_layout(n, (struct sl_scratch){.base = n->spare}, &d);
    int rows = u->sequence->rows;
    struct sl_head_rows queries = sl_head_rows_of(m, m->query, u, 0, rows);
    struct sl_head_rows keys = sl_head_keys_of(m, m->key, u);
    struct sl_gemm g = {.x_stride = d.gradients_stride, .k = keys.rows};
    pack_right(k, &keys, d.packed_keys);
    pack_right(k, &queries, d.packed_queries);
    g.x = d.gradients;
    g.packed = d.packed_keys;
    g.accumulate = !n->overwrite[QUERY];
    for (int i = 0; i < rows; i += ROWS) {
        struct sl_head_rows some = sl_head_rows_of(m, m->query, u, i, sl_min(ROWS, rows - i));
        narrow_slopes(n, u, i, some.rows, &d);
        multiply(k, &some, g);
    }
    g.x = d.transposed;
    g.k = rows;
    g.packed = d.packed_queries;
    g.accumulate = !n->overwrite[KEY];
    multiply(k, &keys, g);
}

/* -- recording ---------------------------------------------------------------------------- */

static size_t spare_bytes(const struct sl_node *n, bool backward)
{
    struct forward_buffers forward;
    struct backward_buffers back;
    struct sl_scratch counted = {0};
    return backward ? backward_layout(n, counted, &back) : forward_layout(n, counted, &forward);
}

static void transevolve_scores_forward(const struct sl_node *n)
{
    const struct sl_transevolve_score_table *m = n->args;
    sl_node_rows(n, m->block_count * m->heads, forward_head_block);
}

static void transevolve_scores_backward(const struct sl_node *n)
{
    const struct sl_transevolve_score_table *m = n->args;
    sl_node_rows(n, n->view->batch->count * m->heads, backward_head);
}

static const struct sl_op scores = {.name = "transevolve_scores",
                                    .forward = transevolve_scores_forward,
                                    .backward = transevolve_scores_backward,
                                    .grain = 1,
                                    .spare_bytes = spare_bytes};

/* All queries of a sequence, and what they attend to. */
static struct sl_head_block whole_of(const struct sl_tape *t,
                                     const struct sl_transevolve_score_table *m, int s)
{
    const struct sl_sequence *sequence = &t->view->batch->sequences[s];
    struct sl_head_block b = {.sequence = sequence,
                              .count = sequence->rows,
                              .keys_first = sequence->first,
                              .keys_count = sequence->rows,
                              .keys_cached = sequence->cache ? sequence->cache->length : 0};
    if (!m->source)
        return b;
    const int source = m->source_of[s];
    b.keys_cached = source < 0 ? sequence->cache->source_length : 0;
    b.keys_first = source < 0 ? 0 : m->source->batch->sequences[source].first;
    b.keys_count = source < 0 ? 0 : m->source->batch->sequences[source].rows;
    return b;
}

/* Divides every sequence's queries into blocks, and finds the maximum number of keys. A dry run
 * knows the longest sequence but not how a real batch divides its rows, so the table has the same
 * width for all. */
static void cut(struct sl_tape *t, struct sl_transevolve_score_table *m)
{
    const struct sl_batch *batch = t->view->batch;
    size_t max = (size_t)batch->rows / QUERIES_MAX + (size_t)batch->count;
    m->blocks = sl_tape_struct(t, max, sizeof *m->blocks);
    m->whole = sl_tape_struct(t, (size_t)batch->count, sizeof *m->whole);
    m->cached = batch->sequences[0].cache;
    for (int s = 0; s < batch->count; s++) {
        const struct sl_sequence *sequence = &batch->sequences[s];
        const struct sl_cache *cache = sequence->cache;
        assert(m->cached == (cache != NULL));
        assert(!cache || cache->length == sequence->position);
        m->whole[s] = whole_of(t, m, s);
        int keys = m->whole[s].keys_count + m->whole[s].keys_cached;
        m->max_queries = sequence->rows > m->max_queries ? sequence->rows : m->max_queries;
        if (cache && sl_tape_is_dry(t))
            keys = cache->capacity;
        m->max_keys = keys > m->max_keys ? keys : m->max_keys;
        for (int i = 0; i < sequence->rows; i += QUERIES_MAX) {
            struct sl_head_block *block = &m->blocks[m->block_count++];
            *block = m->whole[s];
            block->first = i;
            block->count = sl_min(QUERIES_MAX, sequence->rows - i);
        }
    }
}

struct sl_transevolve_score_table *sl_transevolve_scores(struct sl_tape *t, struct sl_tensor *query,
                                                         struct sl_tensor *key,
                                                         struct sl_tensor *bias,
                                                         struct sl_transevolve_scores_args args)
{
    assert(query->rows == t->view->batch->rows);
    assert(key->rows == (args.source ? args.source : t->view)->batch->rows);
    assert(key->cols == query->cols);
    assert(bias->rows == key->rows);
    assert(key->cols % args.heads == 0);
    assert(bias->cols % args.heads == 0);
    struct sl_transevolve_score_table *m = sl_tape_struct(t, 1, sizeof *m);
    *m = (struct sl_transevolve_score_table){.heads = args.heads,
                                             .bidirectional = args.bidirectional,
                                             .cache_keys = args.cache_keys,
                                             .cache_bias = args.cache_bias,
                                             .source = args.source,
                                             .source_of = args.source_of,
                                             .scale = sqrtf((float)args.heads / (float)query->cols),
                                             .query = query,
                                             .key = key,
                                             .bias = bias};
    cut(t, m);
    if (m->cached) {
        sl_transevolve_scores_cached(t, m);
        return m;
    }
    m->table = sl_operand_take(t, query->rows * args.heads, m->max_keys);
    if (t->training)
        m->transposed = sl_operand_take(t, key->rows * args.heads, m->max_queries);
    (void)sl_tape_run(
        t, (struct sl_node){.op = &scores, .out = m->table, .in = {query, key}, .args = m});
    return m;
}
