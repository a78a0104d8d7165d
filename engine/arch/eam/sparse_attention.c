/* sparse_attention.c - attention to selected keys: O(query-key pairs) work in both directions.
 * EAM's sparse attention, with lists of keys instead of a mask of -inf.
 *
 * A piece of work is one head of one sequence. Only this piece writes the gradients of the head's
 * keys and values, query by query in a fixed order, so no list of the queries of a key is needed.
 * Sums are fp32, and are the same for rows from the batch and from a cache. */
#include "arch/eam/eam.h"
#include "base/int_math.h"
#include "ops/kv_cache.h"

#include <math.h>
#include <string.h>

enum { QUERY, KEY_VALUE };

enum { LINE = 16 }; /* floats in a cache line */

/* The queries of one sequence: rows of the query tensor. */
struct queries {
    int first, count;
};

struct sparse {
    struct sl_sparse_attention_args args;
    struct queries *queries; /* per sequence */
    int max_keys;            /* of any sequence */
};

/* One head of one sequence: its keys and values, and a worker's memory. */
struct head {
    const struct sl_kernels *kernels;
    const void *k, *v; /* rows, `stride` elements apart */
    size_t stride;
    int sequence, column, width, rows;
    float scale;
    float *q, *out, *narrow; /* one row each, with room for its padding */
    float *p, *ds;           /* per listed key */
    int32_t *keys;           /* the list */
    int count;               /* and its length */
};

static int head_dim(const struct sl_node *n)
{
    const struct sparse *a = n->args;
    return n->out->cols / a->args.heads;
}

/* Room for an operand row with its padding, as floats. */
static size_t row_floats(const struct sl_node *n)
{
    return sl_round_up((size_t)head_dim(n), 32);
}

static struct sl_cache_layer cache_layer(const struct sl_node *n)
{
    const struct sparse *a = n->args;
    return (struct sl_cache_layer){.at = a->args.cache_at,
                                   .heads = a->args.heads,
                                   .head_dim = head_dim(n),
                                   .type = n->in[KEY_VALUE]->type};
}

/* -- a head ------------------------------------------------------------------------------- */

/* Of a thread: three rows of a head, and three lists of keys. */
static size_t spare_bytes(const struct sl_node *n, bool backward)
{
    const struct sparse *a = n->args;
    (void)backward;
    size_t row = sl_round_up(row_floats(n), LINE), list = sl_round_up((size_t)a->max_keys, LINE);
    return 3 * (row + list) * sizeof(float);
}

/* Where the keys and values are: in the cache, or in the batch. */
static void find_rows(struct head *h, const struct sl_node *n, int index)
{
    const struct sl_sequence *s = &n->view->batch->sequences[h->sequence];
    const struct sl_tensor *kv = n->in[KEY_VALUE];
    h->rows = s->rows;
    if (s->cache) {
        h->k = sl_cache_rows(s->cache, cache_layer(n), index, false);
        h->v = sl_cache_rows(s->cache, cache_layer(n), index, true);
        h->stride = (size_t)h->width;
        h->rows += s->cache->length;
    } else {
        h->k = sl_columns(kv, s->first, h->column);
        h->v = sl_columns(kv, s->first, n->out->cols + h->column);
        h->stride = kv->stride;
    }
}

static struct head head_of(const struct sl_node *n, int unit)
{
    const struct sparse *a = n->args;
    float *at = n->spare;
    size_t row = sl_round_up(row_floats(n), LINE);
    size_t list = sl_round_up((size_t)a->max_keys, LINE);
    struct head h = {.kernels = n->tape->kernels,
                     .sequence = unit / a->args.heads,
                     .column = unit % a->args.heads * head_dim(n),
                     .width = head_dim(n),
                     .q = at,
                     .out = at + row,
                     .narrow = at + 2 * row,
                     .p = at + 3 * row,
                     .ds = at + 3 * row + list,
                     .keys = (int32_t *)(void *)(at + 3 * row + 2 * list)};
    h.scale = 1.0f / sqrtf((float)h.width);
    find_rows(&h, n, unit % a->args.heads);
    return h;
}

static struct sl_row_list row_list_of(const struct head *h, size_t stride)
{
    return (struct sl_row_list){
        .indices = h->keys, .stride = stride, .n = h->count, .width = h->width};
}

/* Lists the keys of query i and their probabilities. */
static void compute_probabilities(struct head *h, const struct sl_node *n, int i)
{
    const struct sparse *a = n->args;
    const struct sl_sequence *s = &n->view->batch->sequences[h->sequence];
    int row = sl_rows_at(a->args.rows, i) - s->first + (s->cache ? s->position : 0);
    h->count = sl_pattern_keys(a->args.pattern, row, h->rows, h->keys);
    const struct sl_row_list keys = row_list_of(h, h->stride);
    h->kernels->from_operands(h->q, sl_columns(n->in[QUERY], i, h->column), h->width);
    h->kernels->gather_dot(h->p, h->scale, h->q, h->k, &keys);
    if (h->count > 0)
        h->kernels->softmax(h->p, h->count, NULL);
}

/* -- forward ------------------------------------------------------------------------------ */

static void write_output(const struct head *h, const struct sl_node *n, int i)
{
    void *out = sl_columns(n->out, i, h->column);
    const void *row = h->out;
    if (n->out->type != SL_F32) {
        h->kernels->to_operands(h->narrow, h->out,
                                h->width); /* its padding would overwrite the next head */
        row = h->narrow;
    }
    memcpy(out, row, (size_t)h->width * sl_type_bytes(n->out->type));
}

static void forward_query(struct head *h, const struct sl_node *n, int i)
{
    compute_probabilities(h, n, i);
    const struct sl_row_list values = row_list_of(h, h->stride);
    h->kernels->gather_sum(h->out, h->p, h->v, &values);
    write_output(h, n, i);
}

static void forward_unit(const struct sl_node *n, int unit)
{
    const struct sparse *a = n->args;
    const struct queries *queries = &a->queries[unit / a->args.heads];
    if (queries->count == 0)
        return;
    struct head h = head_of(n, unit);
    for (int i = queries->first; i < queries->first + queries->count; i++)
        forward_query(&h, n, i);
}

static void sparse_forward(const struct sl_node *n)
{
    const struct sparse *a = n->args;
    sl_cache_append(n->tape, n->view, n->in[KEY_VALUE], cache_layer(n));
    sl_clear_padding(n->out);
    sl_node_rows(n, n->view->batch->count * a->args.heads, forward_unit);
}

/* -- backward ----------------------------------------------------------------------------- */

/* With p = softmax(s) and out = sum_j p_j v_j, over the listed keys:
 *     dv_j += p_j dout        dp_j = dout . v_j
 *     ds_j = p_j (dp_j - sum_i p_i dp_i) scale        dq = sum_j ds_j k_j        dk_j += ds_j q */
static void backward_query(struct head *h, const struct sl_node *n, int i)
{
    const struct sl_tensor *kv = n->in[KEY_VALUE];
    const float *dout = sl_grad_row(n->out, i) + h->column;
    float *dk = sl_grad_row(kv, n->view->batch->sequences[h->sequence].first) + h->column;
    compute_probabilities(h, n, i);
    const struct sl_row_list rows = row_list_of(h, h->stride);
    const struct sl_row_list gradients = row_list_of(h, (size_t)kv->cols);
    h->kernels->gather_dot(h->ds, 1.0f, dout, h->v, &rows);
    const float mean = h->kernels->dot(h->p, h->ds, h->count);
    for (int j = 0; j < h->count; j++)
        h->ds[j] = h->p[j] * (h->ds[j] - mean) * h->scale;
    h->kernels->gather_sum(sl_grad_row(n->in[QUERY], i) + h->column, h->ds, h->k, &rows);
    h->kernels->scatter_axpy(dk, h->ds, h->q, &gradients);
    h->kernels->scatter_axpy(dk + n->out->cols, h->p, dout, &gradients);
}

static void clear_gradients(const struct head *h, const struct sl_node *n)
{
    const size_t bytes = (size_t)h->width * sizeof(float);
    const int first = n->view->batch->sequences[h->sequence].first;
    for (int r = first; r < first + h->rows; r++) {
        memset(sl_grad_row(n->in[KEY_VALUE], r) + h->column, 0, bytes);
        memset(sl_grad_row(n->in[KEY_VALUE], r) + n->out->cols + h->column, 0, bytes);
    }
}

static void backward_unit(const struct sl_node *n, int unit)
{
    const struct sparse *a = n->args;
    const struct queries *queries = &a->queries[unit / a->args.heads];
    struct head h = head_of(n, unit);
    clear_gradients(&h, n);
    for (int i = queries->first; i < queries->first + queries->count; i++)
        backward_query(&h, n, i);
}

static void sparse_backward(const struct sl_node *n)
{
    const struct sparse *a = n->args;
    assert(n->overwrite[QUERY]);
    assert(n->overwrite[KEY_VALUE]);
    sl_node_rows(n, n->view->batch->count * a->args.heads, backward_unit);
}

static const struct sl_op sparse = {.name = "sparse_attention",
                                    .forward = sparse_forward,
                                    .backward = sparse_backward,
                                    .grain = 1,
                                    .spare_bytes = spare_bytes};

/* -- recording ---------------------------------------------------------------------------- */

static void assign_queries(const struct sl_tape *t, struct sparse *a, int queries)
{
    int i = 0;
    for (int s = 0; s < t->view->batch->count; s++) {
        const struct sl_sequence *sequence = &t->view->batch->sequences[s];
        const struct sl_cache *cache = sequence->cache;
        assert(!cache || a->args.pattern.causal);
        assert(!cache || cache->length == sequence->position);
        int keys = (cache ? cache->length : 0) + sequence->rows;
        if (cache && sl_tape_is_dry(t))
            keys = cache->capacity;
        a->max_keys = keys > a->max_keys ? keys : a->max_keys;
        a->queries[s].first = i;
        while (i < queries && sl_rows_at(a->args.rows, i) < sequence->first + sequence->rows)
            i++;
        a->queries[s].count = i - a->queries[s].first;
    }
    assert(i == queries);
}

struct sl_tensor *sl_sparse_attention(struct sl_tape *t, struct sl_tensor *query,
                                      struct sl_tensor *key_value,
                                      struct sl_sparse_attention_args args)
{
    assert(query->rows == (args.rows ? args.rows->count : t->view->batch->rows));
    assert(key_value->rows == t->view->batch->rows);
    assert(key_value->cols == 2 * query->cols);
    assert(query->type == t->kernels->operand);
    assert(key_value->type == t->kernels->operand);
    assert(query->cols % args.heads == 0);
    struct sparse *a = sl_tape_struct(t, 1, sizeof *a);
    a->args = args;
    a->queries = sl_tape_struct(t, (size_t)t->view->batch->count, sizeof *a->queries);
    assign_queries(t, a, query->rows);
    struct sl_tensor *out = args.operand ? sl_operand_take(t, query->rows, query->cols)
                                         : sl_tensor_take(t, query->rows, query->cols);
    return sl_tape_run(
        t, (struct sl_node){.op = &sparse, .out = out, .in = {query, key_value}, .args = a});
}
