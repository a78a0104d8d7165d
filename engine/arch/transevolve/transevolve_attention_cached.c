/* transevolve_attention_cached.c - evolving attention with a KV cache: one or many new tokens per
 * call.
 *
 * A row's result must not depend on how many tokens of its text are in the same call. So every row
 * computes the softmax of its own scores and biases over the keys it sees, and sums over keys use
 * the same groups of keys for all rows: products of the same shape, with zeros for missing keys. */
#include "arch/transevolve/transevolve_score_table.h"
#include "base/int_math.h"

#include <string.h>

enum { SCORES, VALUE };

enum { GROUP = 64, QUERIES_MAX = 64, APPEND_ROWS = 64 };

struct attention {
    int depth, cache_values;
    const struct sl_transevolve_score_table *state;
};

static int groups_of(int keys)
{
    return sl_ceil_div(keys, GROUP);
}

/* -- the cache ---------------------------------------------------------------------------- */

/* Operands of one head, `columns` for each token, one token after another. */
struct cache_columns {
    const struct sl_tensor *x; /* what is appended to it */
    int at, columns, heads;
};

static char *cache_element(const struct cache_columns *m, const struct sl_cache *cache, int head,
                           int token)
{
    const int column = m->at + head * m->columns;
    const size_t elements =
        (size_t)column * (size_t)cache->capacity + (size_t)token * (size_t)m->columns;
    return (char *)cache->operands + elements * sl_type_bytes(m->x->type);
}

struct append {
    const struct sl_tape *t;
    const struct sl_view *view; /* of the keys */
    struct cache_columns cache_columns;
    const struct sl_tensor *floats; /* or NULL */
    int floats_at;
};

static void append_rows(void *ctx, int first, int last, int worker)
{
    const struct append *a = ctx;
    const struct cache_columns *m = &a->cache_columns;
    const size_t bytes = (size_t)m->columns * sl_type_bytes(m->x->type);
    (void)worker;
    for (int r = first; r < last; r++) {
        const struct sl_cache *cache = a->view->batch->sequences[a->view->row_sequence[r]].cache;
        int token = a->view->row_position[r];
        assert(token < cache->capacity);
        for (int h = 0; h < m->heads; h++)
            memcpy(cache_element(m, cache, h, token),
                   (char *)sl_row_any(m->x, r) + (size_t)h * bytes, bytes);
        for (int c = 0; a->floats && c < a->floats->cols; c++)
            cache->floats[(size_t)(a->floats_at + c) * (size_t)cache->capacity + (size_t)token] =
                sl_row(a->floats, r)[c];
    }
}

static const struct sl_view *view_of(const struct sl_node *n,
                                     const struct sl_transevolve_score_table *m)
{
    return m->source ? m->source : n->view;
}

static void append(struct append *a)
{
    sl_parallel_for(a->t->pool, a->cache_columns.x->rows, APPEND_ROWS, append_rows, a);
}

/* -- head blocks -------------------------------------------------------------------------- */

/* What one worker has to itself. */
struct buffers {
    char *group, *packed; /* GROUP tokens of a head that the cache has in part; packed groups */
    char *left;           /* QUERIES_MAX rows: queries, or probabilities */
    float *row, *sums;    /* scores of a query; QUERIES_MAX rows of values */
    char *spare;          /* an operand row of values */
    size_t packed_bytes;  /* of a group */
};

struct run {
    const struct sl_node *n;
    const struct sl_kernels *k;
    const struct sl_transevolve_score_table *m;
    struct cache_columns cache_columns;
    struct sl_head_block u;
    struct buffers d;
};

/* columns: of one head, in what is read from the cache. */
static size_t scratch_layout(const struct sl_node *n, const struct sl_transevolve_score_table *m,
                             int columns, struct sl_scratch scratch, struct buffers *d)
{
    const struct sl_kernels *k = n->tape->kernels;
    const int keys = m->table->cols, left = keys > columns ? keys : columns;
    const size_t as_keys = k->pack_bytes(columns, GROUP), as_rows = k->pack_bytes(GROUP, columns);
    d->packed_bytes = as_keys > as_rows ? as_keys : as_rows;
    d->group = sl_scratch_take(&scratch, GROUP * (size_t)columns * sl_type_bytes(k->operand));
    d->packed = sl_scratch_take(&scratch, (size_t)groups_of(keys) * d->packed_bytes);
    d->left = sl_scratch_take(&scratch, sl_head_rows_bytes(k, QUERIES_MAX, left));
    d->row = sl_scratch_take(&scratch, (size_t)keys * sizeof *d->row);
    d->sums = sl_scratch_take(&scratch, QUERIES_MAX * (size_t)columns * sizeof *d->sums);
    d->spare = sl_scratch_take(&scratch, sl_head_rows_bytes(k, 1, columns));
    return scratch.used;
}

/* Keys that the last of some queries sees. */
static int seen_by(const struct run *r, int first, int rows)
{
    return sl_head_block_visible(r->m, &r->u, first + rows - 1);
}

/* Packs the visible part of the cache group by group, padded with zeros; keys become columns,
 * values rows. */
static void pack_groups(const struct run *r, bool keys)
{
    const struct cache_columns *cache_columns = &r->cache_columns;
    const size_t bytes = (size_t)cache_columns->columns * sl_type_bytes(r->k->operand);
    const int seen = seen_by(r, r->u.first, r->u.count);
    const int down = keys ? cache_columns->columns : GROUP,
              across = keys ? GROUP : cache_columns->columns;
    for (int g = 0; g < groups_of(seen); g++) {
        const char *src = cache_element(cache_columns, r->u.sequence->cache, r->u.head, g * GROUP);
        size_t there = (size_t)sl_min(GROUP, seen - g * GROUP);
        if (there < GROUP) {
            memcpy(r->d.group, src, there * bytes);
            memset(r->d.group + there * bytes, 0, (GROUP - there) * bytes);
            src = r->d.group;
        }
        r->k->pack(r->d.packed + (size_t)g * r->d.packed_bytes, src, r->k->operand,
                   (size_t)cache_columns->columns, keys, down, across, 0, across);
    }
}

/* Runs f over a head block, some of its queries at a time. */
static void for_query_chunks(struct run r, int piece, bool keys,
                             void (*f)(const struct run *r, int first, int rows))
{
    r.k = r.n->tape->kernels;
    r.u = sl_head_block_at(r.m, piece);
    (void)scratch_layout(r.n, r.m, r.cache_columns.columns, (struct sl_scratch){.base = r.n->spare},
                         &r.d);
    pack_groups(&r, keys);
    for (int i = 0; i < r.u.count; i += QUERIES_MAX)
        f(&r, r.u.first + i, sl_min(QUERIES_MAX, r.u.count - i));
}

static size_t count_spare(const struct sl_node *n, const struct sl_transevolve_score_table *m,
                          struct cache_columns cache_columns)
{
    struct buffers d;
    assert(!n->is_backward);
    return scratch_layout(n, m, cache_columns.columns, (struct sl_scratch){0}, &d);
}

/* -- scores ------------------------------------------------------------------------------- */

static struct cache_columns keys_of(const struct sl_transevolve_score_table *m)
{
    return (struct cache_columns){
        .x = m->key, .at = m->cache_keys, .columns = m->key->cols / m->heads, .heads = m->heads};
}

static void score_rows(const struct run *r, int first, int rows)
{
    struct sl_head_rows queries = sl_head_rows_of(r->m, r->m->query, &r->u, first, rows);
    const struct sl_tensor *table = r->m->table;
    int row = sl_head_block_row(r->m, &r->u, first);
    struct sl_gemm g = {.y_stride = table->stride, .n = GROUP};
    sl_head_rows_as_left_operand(r->k, &queries, r->d.left, &g);
    for (int group = 0; group < groups_of(seen_by(r, first, rows)); group++) {
        g.packed = r->d.packed + (size_t)group * r->d.packed_bytes;
        g.y = sl_row(table, row) + (size_t)group * GROUP;
        r->k->gemm(&g);
    }
    for (int i = 0; i < rows; i++) {
        float *scores = sl_row(table, row + i);
        r->k->scale(scores, r->m->scale, scores, sl_head_block_visible(r->m, &r->u, first + i));
    }
}

static void score_head_block(const struct sl_node *n, int piece)
{
    const struct sl_transevolve_score_table *m = n->args;
    for_query_chunks((struct run){.n = n, .m = m, .cache_columns = keys_of(m)}, piece, true,
                     score_rows);
}

static size_t scores_spare(const struct sl_node *n, bool backward)
{
    (void)backward;
    return count_spare(n, n->args, keys_of(n->args));
}

static void transevolve_scores_forward(const struct sl_node *n)
{
    const struct sl_transevolve_score_table *m = n->args;
    struct append a = {.t = n->tape,
                       .view = view_of(n, m),
                       .cache_columns = keys_of(m),
                       .floats = m->bias,
                       .floats_at = m->cache_bias};
    append(&a);
    sl_node_rows(n, m->block_count * m->heads, score_head_block);
}

static const struct sl_op scores_cached = {.name = "transevolve_scores_cached",
                                           .forward = transevolve_scores_forward,
                                           .grain = 1,
                                           .spare_bytes = scores_spare};

void sl_transevolve_scores_cached(struct sl_tape *t, struct sl_transevolve_score_table *m)
{
    assert(!t->training);
    assert(!m->bidirectional);
    m->table = sl_tensor_take(t, m->query->rows * m->heads, groups_of(m->max_keys) * GROUP);
    (void)sl_tape_run(t, (struct sl_node){.op = &scores_cached,
                                          .out = m->table,
                                          .in = {m->query, m->key, m->bias},
                                          .args = m});
}

/* -- values ------------------------------------------------------------------------------- */

static struct cache_columns values_of(const struct sl_node *n)
{
    const struct attention *a = n->args;
    int heads = a->state->heads;
    return (struct cache_columns){
        .x = n->in[VALUE], .at = a->cache_values, .columns = n->out->cols / heads, .heads = heads};
}

/* Probabilities of one query as operands, zeros past the keys it sees. */
static void softmax_row(const struct run *r, int i, int keys, void *out)
{
    const struct attention *a = r->n->args;
    const struct sl_cache *cache = r->u.sequence->cache;
    int visible = sl_head_block_visible(r->m, &r->u, i);
    int column = r->m->cache_bias + a->depth * r->m->heads + r->u.head;
    const float *bias = cache->floats + (size_t)column * (size_t)cache->capacity;
    memcpy(r->d.row, sl_row(r->m->table, sl_head_block_row(r->m, &r->u, i)),
           (size_t)visible * sizeof *r->d.row);
    r->k->axpy(r->d.row, 1.0f, bias, visible);
    r->k->softmax(r->d.row, visible, NULL);
    memset(r->d.row + visible, 0, (size_t)(keys - visible) * sizeof *r->d.row);
    r->k->to_operands(out, r->d.row, keys);
}

static void weighted_value_rows(const struct run *r, int first, int rows)
{
    struct sl_head_rows out = sl_head_rows_of(r->m, r->n->out, &r->u, first, rows);
    const size_t element = sl_type_bytes(r->k->operand);
    const int groups = groups_of(seen_by(r, first, rows));
    struct sl_gemm g = {.x_stride = sl_operand_stride(r->k, groups * GROUP),
                        .y = r->d.sums,
                        .y_stride = (size_t)out.columns,
                        .m = rows,
                        .n = out.columns,
                        .k = GROUP};
    for (int i = 0; i < rows; i++)
        softmax_row(r, first + i, groups * GROUP, r->d.left + (size_t)i * g.x_stride * element);
    for (int group = 0; group < groups; group++) {
        g.x = r->d.left + (size_t)group * GROUP * element;
        g.packed = r->d.packed + (size_t)group * r->d.packed_bytes;
        g.accumulate = group > 0;
        r->k->gemm(&g);
    }
    for (int i = 0; i < rows; i++)
        sl_head_row_write(r->k, &out, i, g.y + (size_t)i * g.y_stride, r->d.spare);
}

static void attend_head_block(const struct sl_node *n, int piece)
{
    const struct attention *a = n->args;
    for_query_chunks((struct run){.n = n, .m = a->state, .cache_columns = values_of(n)}, piece,
                     false, weighted_value_rows);
}

static size_t attention_spare(const struct sl_node *n, bool backward)
{
    const struct attention *a = n->args;
    (void)backward;
    return count_spare(n, a->state, values_of(n));
}

static void transevolve_attention_forward(const struct sl_node *n)
{
    const struct attention *a = n->args;
    struct append values = {
        .t = n->tape, .view = view_of(n, a->state), .cache_columns = values_of(n)};
    append(&values);
    sl_clear_padding(n->out);
    sl_node_rows(n, a->state->block_count * a->state->heads, attend_head_block);
}

static const struct sl_op attention_cached = {.name = "transevolve_attention_cached",
                                              .forward = transevolve_attention_forward,
                                              .grain = 1,
                                              .spare_bytes = attention_spare};

struct sl_tensor *sl_transevolve_attention_cached(struct sl_tape *t,
                                                  const struct sl_transevolve_score_table *m,
                                                  struct sl_tensor *value, int depth,
                                                  int cache_values)
{
    struct attention *a = sl_tape_struct(t, 1, sizeof *a);
    *a = (struct attention){.depth = depth, .cache_values = cache_values, .state = m};
    return sl_tape_run(t, (struct sl_node){.op = &attention_cached,
                                           .out = sl_operand_take(t, m->query->rows, value->cols),
                                           .in = {m->table, value},
                                           .args = a});
}
