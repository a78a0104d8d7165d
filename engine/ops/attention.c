/* attention.c - multi-head attention within each sequence, with or without a cache.
 * Vaswani et al. 2017, section 3.2.2. One unit of work is a block of queries and one head, or
 * all heads. */
#include "base/int_math.h"
#include "base/random.h"
#include "ops/kv_cache.h"
#include "ops/ops.h"

#include <math.h>

enum { QUERY, KEY_VALUE };

enum { QUERIES_MAX = 128 };

/* Queries of one sequence that are computed together. */
struct block {
    int sequence, first, count; /* rows of the query tensor */
};

struct attend {
    struct sl_attention_args args;
    struct sl_dropout dropout;
    uint64_t random_key;
    struct block *blocks;
    int32_t *visible; /* per query */
    float *lse;       /* heads x queries, while training */
    int count, group; /* blocks; heads of a unit */
    int max_keys;     /* the maximum over sequences; sizes the scratch memory */
};

struct attention_ctx {
    const struct sl_node *n;
    char *workers;
    size_t worker_bytes, keys_at; /* each worker: kernel scratch, then row keys */
};

static int query_row(const struct attend *a, int i)
{
    return a->args.rows ? a->args.rows->index[i] : i;
}

static int head_dim(const struct sl_node *n)
{
    const struct attend *a = n->args;
    return n->out->cols / a->args.heads;
}

static struct sl_cache_layer cache_layer(const struct sl_node *n)
{
    const struct attend *a = n->args;
    return (struct sl_cache_layer){.at = a->args.cache_at,
                                   .heads = a->args.heads,
                                   .head_dim = head_dim(n),
                                   .type = n->in[KEY_VALUE]->type,
                                   .packed = true};
}

/* -- both directions ---------------------------------------------------------------------- */

/* The kernel's arguments for one block and the heads from `head` on. */
static struct sl_attention unit_of(const struct attention_ctx *p, const struct block *b, int head,
                                   int worker)
{
    const struct sl_node *n = p->n;
    const struct sl_tape *t = n->tape;
    const struct attend *a = n->args;
    const struct sl_tensor *q = n->in[QUERY], *kv = n->in[KEY_VALUE];
    const struct sl_sequence *sequence = &t->batch->sequences[b->sequence];
    const struct sl_cache *cache = sequence->cache;
    int hd = head_dim(n), width = n->out->cols;
    char *scratch = p->workers + (size_t)worker * p->worker_bytes;
    uint32_t *row_keys = (uint32_t *)(void *)(scratch + p->keys_at);
    for (int i = 0; a->dropout.threshold && i < b->count; i++) {
        int row = t->batch->row_base + query_row(a, b->first + i);
        row_keys[i] = sl_dropout_head_key(a->random_key, row, head, a->args.heads);
    }
    return (struct sl_attention){
        .q = sl_columns(q, b->first, head * hd),
        .k = cache ? sl_cache_rows(cache, cache_layer(n), head, false)
                   : sl_columns(kv, sequence->first, head * hd),
        .v = cache ? sl_cache_rows(cache, cache_layer(n), head, true)
                   : sl_columns(kv, sequence->first, width + head * hd),
        .cached = cache,
        .out = sl_columns(n->out, b->first, head * hd),
        .q_stride = q->stride,
        .kv_stride = cache ? (size_t)hd : kv->stride,
        .out_stride = n->out->stride,
        .queries = b->count,
        .keys = (cache ? cache->length : 0) + sequence->rows,
        .head_dim = hd,
        .heads = a->group,
        .kv_head = cache ? 2 * (size_t)hd * (size_t)cache->capacity : (size_t)hd,
        .visible = a->visible + b->first,
        .scale = 1.0f / sqrtf((float)hd),
        .dropout = a->dropout,
        .row_keys = row_keys,
        .lse = a->lse ? a->lse + (size_t)head * (size_t)q->rows + b->first : NULL,
        .scratch = scratch,
    };
}

static struct attention_ctx pass_of(const struct sl_node *n)
{
    const struct attend *a = n->args;
    int max = 1;
    for (int i = 0; i < a->count; i++)
        max = a->blocks[i].count > max ? a->blocks[i].count : max;
    size_t bytes = n->tape->kernels->attention_scratch(max, a->max_keys, head_dim(n));
    bytes = sl_round_up(bytes, SL_ALIGN);
    size_t row_keys = sl_round_up((size_t)max * sizeof(uint32_t), SL_ALIGN);
    return (struct attention_ctx){.n = n, .worker_bytes = bytes + row_keys, .keys_at = bytes};
}

static size_t attend_scratch(const struct sl_node *n, bool backward)
{
    (void)backward;
    return (size_t)sl_thread_pool_size(n->tape->pool) * pass_of(n).worker_bytes;
}

/* -- forward ------------------------------------------------------------------------------ */

static int units_of(const struct attend *a)
{
    return a->count * (a->args.heads / a->group);
}

static struct sl_attention unit_at(const struct attention_ctx *p, int i, int worker)
{
    const struct attend *a = p->n->args;
    const int per_block = a->args.heads / a->group;
    return unit_of(p, &a->blocks[i / per_block], i % per_block * a->group, worker);
}

/* Prefetches the cache rows of the next unit's first head. */
static void fetch(const struct attention_ctx *p, int i)
{
    enum { LINE = 1024 };

    const struct attend *a = p->n->args;
    const int per_block = a->args.heads / a->group;
    const struct block *b = &a->blocks[i / per_block];
    const struct sl_cache *cache = p->n->tape->batch->sequences[b->sequence].cache;
    if (!cache)
        return;
    const struct sl_cache_layer layer = cache_layer(p->n);
    const int head = i % per_block * a->group;
    const char *k = sl_cache_rows(cache, layer, head, false);
    const char *v = sl_cache_rows(cache, layer, head, true);
    const size_t bytes =
        (size_t)(a->visible[b->first] * layer.head_dim) * sl_type_bytes(layer.type);
    for (size_t at = 0; at < bytes; at += LINE) {
        __builtin_prefetch(k + at, 0, 2);
        __builtin_prefetch(v + at, 0, 2);
    }
}

static void forward_units(void *ctx, int first, int last, int worker)
{
    const struct attention_ctx *p = ctx;
    for (int i = first; i < last; i++) {
        if (i + 1 < last)
            fetch(p, i + 1);
        const struct sl_attention unit = unit_at(p, i, worker);
        p->n->tape->kernels->attention(p->n->tape->kernels, &unit);
    }
}

static void attend_forward(const struct sl_node *n)
{
    const struct attend *a = n->args;
    struct attention_ctx p = pass_of(n);
    p.workers = sl_tape_scratch(n, attend_scratch(n, false));
    sl_cache_append(n->tape, n->in[KEY_VALUE], cache_layer(n));
    sl_clear_padding(n->out);
    sl_parallel_for(n->tape->pool, units_of(a), 1, forward_units, &p);
}

/* -- backward ----------------------------------------------------------------------------- */

static void backward_units(void *ctx, int first, int last, int worker)
{
    const struct attention_ctx *p = ctx;
    const struct sl_node *n = p->n;
    const struct attend *a = n->args;
    int hd = head_dim(n), width = n->out->cols;
    for (int i = first; i < last; i++) {
        const struct block *b = &a->blocks[i / a->args.heads];
        int head = i % a->args.heads, key = n->tape->batch->sequences[b->sequence].first;
        const size_t column = (size_t)head * (size_t)hd;
        struct sl_attention_backward back = {
            .forward = unit_of(p, b, head, worker),
            .dout = sl_grad_row(n->out, b->first) + column,
            .dq = sl_grad_row(n->in[QUERY], b->first) + column,
            .dk = sl_grad_row(n->in[KEY_VALUE], key) + column,
            .dv = sl_grad_row(n->in[KEY_VALUE], key) + width + column,
            .dout_stride = (size_t)width,
            .dq_stride = (size_t)width,
            .dkv_stride = 2 * (size_t)width,
        };
        n->tape->kernels->attention_backward(n->tape->kernels, &back);
    }
}

static void attend_backward(const struct sl_node *n)
{
    const struct attend *a = n->args;
    assert(n->overwrite[QUERY]);
    assert(n->overwrite[KEY_VALUE]);
    struct attention_ctx p = pass_of(n);
    p.workers = sl_tape_scratch(n, attend_scratch(n, true));
    sl_parallel_for(n->tape->pool, a->count * a->args.heads, 1, backward_units, &p);
}

static const struct sl_op attend = {.name = "attention",
                                    .scratch = attend_scratch,
                                    .forward = attend_forward,
                                    .backward = attend_backward};

/* -- recording ---------------------------------------------------------------------------- */

/* Cuts the queries into blocks that stay within one sequence. While training a block is a whole
 * sequence, because the gradients of keys are sums over all queries. */
static void cut(const struct sl_tape *t, struct attend *a, int queries)
{
    int i = 0;
    for (int s = 0; s < t->batch->count; s++) {
        const struct sl_sequence *sequence = &t->batch->sequences[s];
        int end = i;
        while (end < queries && query_row(a, end) < sequence->first + sequence->rows)
            end++;
        int max = t->training ? sequence->rows : QUERIES_MAX;
        do {
            int count = sl_min(end - i, max);
            if (count > 0 || t->training)
                a->blocks[a->count++] = (struct block){s, i, count};
            i += count;
        } while (i < end);
    }
}

static void see(const struct sl_tape *t, struct attend *a, int queries)
{
    for (int i = 0; i < queries; i++) {
        int row = query_row(a, i);
        const struct sl_sequence *sequence = &t->batch->sequences[t->row_sequence[row]];
        assert(!sequence->cache || sequence->cache->length == sequence->position);
        assert(!a->args.bidirectional || !sequence->cache);
        a->visible[i] = 1 + (sequence->cache ? t->row_position[row] : row - sequence->first);
        if (a->args.bidirectional)
            a->visible[i] = sequence->rows;
    }
    for (int s = 0; s < t->batch->count; s++) {
        const struct sl_sequence *sequence = &t->batch->sequences[s];
        int keys = sl_tape_is_dry(t) && sequence->cache
                       ? sequence->cache->capacity
                       : (sequence->cache ? sequence->cache->length : 0) + sequence->rows;
        a->max_keys = keys > a->max_keys ? keys : a->max_keys;
    }
}

/* As many as leave units for all threads: several for each, as blocks differ in length; one for
 * each while decoding, where a unit takes a microsecond. */
static int heads_of_a_unit(const struct sl_tape *t, const struct attend *a)
{
    const bool decodes = !t->training && t->batch->rows == t->batch->count;
    const int wanted = (decodes ? 1 : 4) * sl_thread_pool_size(t->pool);
    int group = t->training ? 1 : a->args.heads;
    while (group % 2 == 0 && a->count * (a->args.heads / group) < wanted)
        group /= 2;
    return group;
}

struct sl_tensor *sl_attention(struct sl_tape *t, struct sl_tensor *query,
                               struct sl_tensor *key_value, struct sl_attention_args args)
{
    assert(query->rows == (args.rows ? args.rows->count : t->batch->rows));
    assert(key_value->rows == t->batch->rows);
    assert(key_value->cols == 2 * query->cols);
    assert(query->cols % args.heads == 0);
    struct attend *a = sl_tape_struct(t, 1, sizeof *a);
    a->args = args;
    size_t blocks = (size_t)query->rows / QUERIES_MAX + (size_t)t->batch->count;
    a->blocks = sl_tape_struct(t, blocks, sizeof *a->blocks);
    a->visible = sl_tape_struct(t, (size_t)query->rows, sizeof *a->visible);
    cut(t, a, query->rows);
    see(t, a, query->rows);
    a->group = heads_of_a_unit(t, a);
    if (t->training && args.dropout > 0.0f) {
        a->dropout = sl_dropout_of(args.dropout);
        a->random_key = sl_tape_random(t);
    }
    struct sl_tensor *out = sl_operand_take(t, query->rows, query->cols);
    if (t->training)
        a->lse = sl_tape_take(t, (size_t)query->rows * (size_t)args.heads, sizeof *a->lse);
    return sl_tape_run(
        t, (struct sl_node){.op = &attend, .out = out, .in = {query, key_value}, .args = a});
}
