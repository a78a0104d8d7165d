/* attention.c - multi-head attention within each sequence, with or without a cache.
 * Vaswani et al. 2017, section 3.2.2. One unit of work is a block of queries and some heads: all,
 * or those that share keys. */
#include "base/int_math.h"
#include "ops/kv_cache.h"
#include "ops/ops.h"

#include <math.h>

enum { QUERY, KEY_VALUE };

enum { QUERIES_MIN = 128, QUERIES_MAX = 512 }; /* of a block, unless a sequence is shorter */

enum { UNITS = 4 }; /* for each thread, as they differ in length */

/* Queries of one sequence that are computed together. */
struct block {
    int sequence, first, count; /* rows of the query tensor */
};

struct attend {
    struct sl_attention_args args;
    struct sl_dropout dropout;
    uint64_t random_key;
    struct block *blocks;
    int32_t *visible; /* per query: the end of the keys that it sees, */
    int32_t *from;    /* and the first; NULL: 0 */
    float *lse;       /* heads x queries, while training */
    int count, group; /* blocks; heads of a unit */
    int max_keys;     /* the maximum over sequences; sizes the scratch memory */
};

struct attention_ctx {
    const struct sl_node *n;
    char *workers;
    /* Each worker: kernel scratch, row keys, and gradients of shared keys and values. */
    size_t worker_bytes, keys_at, shared_at;
};

static int head_dim(const struct sl_node *n)
{
    const struct attend *a = n->args;
    return n->out->cols / a->args.heads;
}

/* How many heads share one of keys and values. */
static int heads_per_key(const struct attend *a)
{
    return a->args.heads / a->args.key_heads;
}

static struct sl_cache_layer cache_layer(const struct sl_node *n)
{
    const struct attend *a = n->args;
    const enum sl_type operand = n->in[KEY_VALUE]->type;
    const bool rounds = a->args.bf16_cache && operand == SL_F32 && !n->tape->training;
    return (struct sl_cache_layer){.at = rounds ? 2 * a->args.cache_at : a->args.cache_at,
                                   .heads = a->args.key_heads,
                                   .head_dim = head_dim(n),
                                   .type = rounds ? SL_BF16 : operand,
                                   .packed = true,
                                   .rounds = rounds};
}

/* -- both directions ---------------------------------------------------------------------- */

/* What the queries of a sequence attend to. */
struct keys {
    const struct sl_cache *cache; /* or NULL */
    int first, rows, cached;      /* rows of the view; before them, in the cache */
};

static struct keys keys_of(const struct sl_view *view, const struct sl_attention_args *args,
                           int sequence)
{
    const struct sl_sequence *s = &view->batch->sequences[sequence];
    if (!args->source)
        return (struct keys){s->cache, s->first, s->rows, s->cache ? s->cache->length : 0};
    const int source = args->source_of[sequence];
    struct keys k = {.cache = s->cache};
    if (source < 0) {
        k.cached = s->cache->source_length;
        return k;
    }
    k.first = args->source->batch->sequences[source].first;
    k.rows = args->source->batch->sequences[source].rows;
    return k;
}

/* The kernel's arguments for one block and the heads from `head` on. */
static struct sl_attention unit_of(const struct attention_ctx *p, const struct block *b, int head,
                                   int worker)
{
    const struct sl_node *n = p->n;
    const struct attend *a = n->args;
    const struct sl_tensor *q = n->in[QUERY], *kv = n->in[KEY_VALUE];
    const struct keys keys = keys_of(n->view, &a->args, b->sequence);
    const struct sl_cache *cache = keys.cache;
    const struct sl_cache_layer layer = cache_layer(n);
    int hd = layer.head_dim, shared = heads_per_key(a), key_head = head / shared;
    char *scratch = p->workers + (size_t)worker * p->worker_bytes;
    uint32_t *row_keys = (uint32_t *)(void *)(scratch + p->keys_at);
    for (int i = 0; a->dropout.threshold && i < b->count; i++) {
        int row = n->view->batch->row_base + sl_rows_at(a->args.rows, b->first + i);
        row_keys[i] = sl_dropout_head_key(a->random_key, row, head, a->args.heads);
    }
    return (struct sl_attention){
        .q = sl_columns(q, b->first, head * hd),
        .k = cache ? sl_cache_rows(cache, layer, key_head, false)
                   : sl_columns(kv, keys.first, key_head * hd),
        .v = cache ? sl_cache_rows(cache, layer, key_head, true)
                   : sl_columns(kv, keys.first, kv->cols / 2 + key_head * hd),
        .cached = cache,
        .bf16_cache = cache && layer.rounds,
        .out = sl_columns(n->out, b->first, head * hd),
        .q_stride = q->stride,
        .kv_stride = cache ? (size_t)hd : kv->stride,
        .out_stride = n->out->stride,
        .queries = b->count,
        .keys = keys.cached + keys.rows,
        .head_dim = hd,
        .heads = a->group,
        .kv_head = shared > 1 ? 0
                   : cache    ? 2 * (size_t)hd * (size_t)cache->capacity
                              : (size_t)hd,
        .visible = a->visible + b->first,
        .from = a->from ? a->from + b->first : NULL,
        .scale = 1.0f / sqrtf((float)hd),
        .dropout = a->dropout,
        .row_keys = row_keys,
        .lse = a->lse ? a->lse + (size_t)head * (size_t)q->rows + b->first : NULL,
        .scratch = scratch,
    };
}

static struct attention_ctx pass_of(const struct sl_node *n, bool backward)
{
    const struct attend *a = n->args;
    int max = 1;
    for (int i = 0; i < a->count; i++)
        max = a->blocks[i].count > max ? a->blocks[i].count : max;
    struct attention_ctx p = {.n = n};
    p.keys_at =
        sl_round_up(n->tape->kernels->attention_scratch(max, a->max_keys, head_dim(n)), SL_ALIGN);
    p.shared_at = p.keys_at + sl_round_up((size_t)max * sizeof(uint32_t), SL_ALIGN);
    p.worker_bytes = p.shared_at;
    if (backward && heads_per_key(a) > 1)
        p.worker_bytes +=
            sl_round_up(2 * (size_t)a->max_keys * (size_t)head_dim(n) * sizeof(float), SL_ALIGN);
    return p;
}

static size_t attend_scratch(const struct sl_node *n, bool backward)
{
    return (size_t)sl_thread_pool_size(n->tape->pool) * pass_of(n, backward).worker_bytes;
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
    const struct sl_cache *cache = p->n->view->batch->sequences[b->sequence].cache;
    if (!cache)
        return;
    const struct sl_cache_layer layer = cache_layer(p->n);
    const int head = i % per_block * a->group;
    const char *k = sl_cache_rows(cache, layer, head / heads_per_key(a), false);
    const char *v = sl_cache_rows(cache, layer, head / heads_per_key(a), true);
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
    struct attention_ctx p = pass_of(n, false);
    p.workers = sl_tape_scratch(n, attend_scratch(n, false));
    sl_cache_append(n->tape, a->args.source ? a->args.source : n->view, n->in[KEY_VALUE],
                    cache_layer(n));
    sl_clear_padding(n->out);
    sl_parallel_for(n->tape->pool, units_of(a), 1, forward_units, &p);
}

/* -- backward ----------------------------------------------------------------------------- */

/* The gradients of one block and head. dk, dv: of all keys of the sequence, replaced. */
static void backward_unit(const struct attention_ctx *p, const struct block *b, int head,
                          int worker, struct sl_attention_backward back)
{
    const struct sl_node *n = p->n;
    const size_t column = (size_t)head * (size_t)head_dim(n);
    back.forward = unit_of(p, b, head, worker);
    back.dout = sl_grad_row(n->out, b->first) + column;
    back.dq = sl_grad_row(n->in[QUERY], b->first) + column;
    back.dout_stride = back.dq_stride = (size_t)n->out->cols;
    n->tape->kernels->attention_backward(n->tape->kernels, &back);
}

static float *shared_gradients(const struct attention_ctx *p, int worker)
{
    char *scratch = p->workers + (size_t)worker * p->worker_bytes;
    return (float *)(void *)(scratch + p->shared_at);
}

static void add_rows(const struct sl_kernels *k, float *to, size_t stride, const float *from,
                     int rows, int cols)
{
    for (int r = 0; r < rows; r++)
        k->axpy(to + (size_t)r * stride, 1.0f, from + (size_t)r * (size_t)cols, cols);
}

/* A unit is a block and a head of keys. Of the heads that share it the first replaces its
 * gradients, and the others are added in order. */
static void backward_units(void *ctx, int first, int last, int worker)
{
    const struct attention_ctx *p = ctx;
    const struct sl_node *n = p->n;
    const struct attend *a = n->args;
    const int hd = head_dim(n), shared = heads_per_key(a), stride = n->in[KEY_VALUE]->cols;
    for (int i = first; i < last; i++) {
        const struct block *b = &a->blocks[i / a->args.key_heads];
        const struct keys keys = keys_of(n->view, &a->args, b->sequence);
        const int key_head = i % a->args.key_heads;
        float *dk = sl_grad_row(n->in[KEY_VALUE], keys.first) + (size_t)key_head * (size_t)hd;
        float *dv = dk + stride / 2;
        backward_unit(
            p, b, key_head * shared, worker,
            (struct sl_attention_backward){.dk = dk, .dv = dv, .dkv_stride = (size_t)stride});
        for (int other = 1; other < shared; other++) {
            float *own = shared_gradients(p, worker), *values = own + (size_t)(keys.rows * hd);
            backward_unit(
                p, b, key_head * shared + other, worker,
                (struct sl_attention_backward){.dk = own, .dv = values, .dkv_stride = (size_t)hd});
            add_rows(n->tape->kernels, dk, (size_t)stride, own, keys.rows, hd);
            add_rows(n->tape->kernels, dv, (size_t)stride, values, keys.rows, hd);
        }
    }
}

static void attend_backward(const struct sl_node *n)
{
    const struct attend *a = n->args;
    assert(n->overwrite[QUERY]);
    assert(n->overwrite[KEY_VALUE]);
    struct attention_ctx p = pass_of(n, true);
    p.workers = sl_tape_scratch(n, attend_scratch(n, true));
    sl_parallel_for(n->tape->pool, a->count * a->args.key_heads, 1, backward_units, &p);
}

static const struct sl_op attend = {.name = "attention",
                                    .scratch = attend_scratch,
                                    .forward = attend_forward,
                                    .backward = attend_backward};

/* -- recording ---------------------------------------------------------------------------- */

/* Keys are packed once for each block: so it is as long as leaves units for all threads. */
static int most_queries(const struct sl_tape *t, const struct attend *a, int queries)
{
    const int wanted = UNITS * sl_thread_pool_size(t->pool), sequences = t->view->batch->count;
    int most = QUERIES_MAX;
    while (most > QUERIES_MIN && (queries / most + sequences) * a->args.key_heads < wanted)
        most /= 2;
    return most;
}

/* Cuts the queries into blocks that stay within one sequence. While training a block is a whole
 * sequence, because the gradients of keys are sums over all queries. */
static void cut(const struct sl_tape *t, struct attend *a, int queries)
{
    const int most = most_queries(t, a, queries);
    int i = 0;
    for (int s = 0; s < t->view->batch->count; s++) {
        const struct sl_sequence *sequence = &t->view->batch->sequences[s];
        int end = i;
        while (end < queries && sl_rows_at(a->args.rows, end) < sequence->first + sequence->rows)
            end++;
        int max = t->training ? sequence->rows : most;
        do {
            int count = sl_min(end - i, max);
            if (count > 0 || t->training)
                a->blocks[a->count++] = (struct block){s, i, count};
            i += count;
        } while (i < end);
    }
}

/* The keys that a batch row sees, counted from its sequence's first, cached ones included. */
static void see_row(const struct sl_tape *t, struct attend *a, int i)
{
    const int row = sl_rows_at(a->args.rows, i), window = a->args.window;
    if (a->args.source) {
        const struct keys keys = keys_of(t->view, &a->args, t->view->row_sequence[row]);
        a->visible[i] = keys.cached + keys.rows;
        return;
    }
    const struct sl_sequence *sequence = &t->view->batch->sequences[t->view->row_sequence[row]];
    assert(!sequence->cache || sequence->cache->length == sequence->position);
    assert(!a->args.bidirectional || !sequence->cache);
    const int at = sequence->cache ? t->view->row_position[row] : row - sequence->first;
    a->visible[i] = a->args.bidirectional ? sequence->rows : at + 1;
    if (window > 0) {
        a->visible[i] = sl_min(a->visible[i], at + window + 1);
        a->from[i] = at > window ? at - window : 0;
    }
}

static void see(const struct sl_tape *t, struct attend *a, int queries)
{
    for (int i = 0; i < queries; i++)
        see_row(t, a, i);
    for (int s = 0; s < t->view->batch->count; s++) {
        const struct keys k = keys_of(t->view, &a->args, s);
        int keys = sl_tape_is_dry(t) && k.cache ? k.cache->capacity : k.cached + k.rows;
        a->max_keys = keys > a->max_keys ? keys : a->max_keys;
    }
}

/* As many as leave units for all threads: one for each while decoding, where a unit takes a
 * microsecond. */
static int heads_of_a_unit(const struct sl_tape *t, const struct attend *a)
{
    if (heads_per_key(a) > 1)
        return t->training ? 1 : heads_per_key(a);
    const bool decodes = !t->training && t->view->batch->rows == t->view->batch->count;
    const int wanted = (decodes ? 1 : UNITS) * sl_thread_pool_size(t->pool);
    int group = t->training ? 1 : a->args.heads;
    while (group % 2 == 0 && a->count * (a->args.heads / group) < wanted)
        group /= 2;
    return group;
}

struct sl_tensor *sl_attention(struct sl_tape *t, struct sl_tensor *query,
                               struct sl_tensor *key_value, struct sl_attention_args args)
{
    args.key_heads = args.key_heads > 0 ? args.key_heads : args.heads;
    assert(query->rows == (args.rows ? args.rows->count : t->view->batch->rows));
    assert(key_value->rows == (args.source ? args.source : t->view)->batch->rows);
    assert(!args.source || args.window == 0);
    assert(query->cols % args.heads == 0);
    assert(args.heads % args.key_heads == 0);
    assert(key_value->cols == 2 * (query->cols / args.heads * args.key_heads));
    struct attend *a = sl_tape_struct(t, 1, sizeof *a);
    a->args = args;
    size_t blocks = (size_t)query->rows / QUERIES_MIN + (size_t)t->view->batch->count;
    a->blocks = sl_tape_struct(t, blocks, sizeof *a->blocks);
    a->visible = sl_tape_struct(t, (size_t)query->rows, sizeof *a->visible);
    if (args.window > 0)
        a->from = sl_tape_struct(t, (size_t)query->rows, sizeof *a->from);
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
