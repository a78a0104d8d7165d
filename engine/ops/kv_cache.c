/* kv_cache.c - where a head's keys and values are, and how new ones are appended. */
#include "ops/kv_cache.h"

#include "base/bf16.h"

#include <string.h>

static size_t row_bytes(const struct sl_cache_layer *layer)
{
    return (size_t)layer->head_dim * sl_type_bytes(layer->type);
}

char *sl_cache_rows(const struct sl_cache *cache, struct sl_cache_layer layer, int head,
                    bool values)
{
    const size_t columns = (size_t)layer.at + (2 * (size_t)head + values) * (size_t)layer.head_dim;
    return (char *)cache->operands + columns * (size_t)cache->capacity * sl_type_bytes(layer.type);
}

struct append {
    const struct sl_tape *t;
    const struct sl_batch *batch;
    struct sl_tensor *key_value;
    struct sl_cache_layer layer;
    size_t compact[SL_PANEL]; /* places in a row of a compact panel */
};

/* The key becomes a column of a matrix that the kernels packed: panels of SL_PANEL columns. */
static void append_key(float *keys, const float *key, size_t head_dim, size_t position)
{
    float *column = keys + position / SL_PANEL * head_dim * SL_PANEL + position % SL_PANEL;
    for (size_t i = 0; i < head_dim; i++)
        column[i * SL_PANEL] = key[i];
}

/* Every pair of its elements goes to the column of its group. */
static void append_key_pairs(uint32_t *keys, const uint16_t *key, size_t head_dim, size_t position)
{
    enum { GROUP = 16 };

    const size_t pairs = head_dim / 2;
    uint32_t *column = keys + position / GROUP * GROUP * pairs + position % GROUP;
    for (size_t i = 0; i < pairs; i++)
        memcpy(&column[i * GROUP], key + 2 * i, sizeof *column);
}

/* The value becomes one half of a pair, of which the even one comes first; the first value of a
 * panel clears it. */
static void append_value(uint32_t *values, const uint16_t *value, size_t head_dim, size_t position)
{
    uint32_t *pair = values + position / 2 * head_dim;
    if (position % SL_PANEL == 0)
        memset(pair, 0, SL_PANEL / 2 * head_dim * sizeof *pair);
    if (position % 2 == 0)
        for (size_t i = 0; i < head_dim; i++)
            pair[i] = value[i]; /* not read, so nothing waits for memory */
    else
        for (size_t i = 0; i < head_dim; i++)
            pair[i] |= (uint32_t)value[i] << 16;
}

static void round_to_bf16(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = sl_bf16_to_f32(sl_bf16_of(x[i]));
}

/* The key becomes a column of a compact matrix, the value a row. */
static void append_rounded(const struct append *a, const struct sl_cache *cache, int head,
                           const float *key, const float *value, size_t position)
{
    const struct sl_cache_layer *layer = &a->layer;
    const size_t width = (size_t)layer->head_dim;
    uint16_t *keys = (uint16_t *)(void *)sl_cache_rows(cache, *layer, head, false);
    uint16_t *values = (uint16_t *)(void *)sl_cache_rows(cache, *layer, head, true);
    keys += position / SL_PANEL * SL_PANEL * width + a->compact[position % SL_PANEL];
    values += position * width;
    for (size_t i = 0; i < width; i++)
        keys[i * SL_PANEL] = sl_bf16_of(key[i]);
    for (size_t i = 0; i < width; i++)
        values[i] = sl_bf16_of(value[i]);
}

/* A row of a head: into the cache, or in place, as if it had been there. */
static void round_row(const struct append *a, const struct sl_cache *cache, int head, int row,
                      size_t position)
{
    const size_t width = (size_t)a->layer.head_dim;
    float *key = sl_row(a->key_value, row) + (size_t)head * width;
    float *value = key + (size_t)a->layer.heads * width;
    if (cache) {
        append_rounded(a, cache, head, key, value, position);
        return;
    }
    round_to_bf16(key, width);
    round_to_bf16(value, width);
}

static void append_row(const struct append *a, const struct sl_cache *cache, int head,
                       const char *key, size_t position)
{
    const struct sl_cache_layer *layer = &a->layer;
    const size_t bytes = row_bytes(layer);
    const char *value = key + (size_t)layer->heads * bytes;
    char *keys = sl_cache_rows(cache, *layer, head, false);
    char *values = sl_cache_rows(cache, *layer, head, true);
    if (layer->packed && layer->type == SL_F32)
        append_key((float *)(void *)keys, (const float *)(const void *)key, (size_t)layer->head_dim,
                   position);
    else if (layer->packed && sl_keys_in_pairs(a->t->kernels, layer->head_dim))
        append_key_pairs((uint32_t *)(void *)keys, (const uint16_t *)(const void *)key,
                         (size_t)layer->head_dim, position);
    else
        memcpy(keys + position * bytes, key, bytes);
    if (layer->packed && layer->type == SL_BF16)
        append_value((uint32_t *)(void *)values, (const uint16_t *)(const void *)value,
                     (size_t)layer->head_dim, position);
    else
        memcpy(values + position * bytes, value, bytes);
}

/* A unit is a head of a sequence, since rows of a sequence share a pair. */
static void append_units(void *ctx, int first, int last, int worker)
{
    const struct append *a = ctx;
    (void)worker;
    for (int i = first; i < last; i++) {
        const struct sl_sequence *s = &a->batch->sequences[i / a->layer.heads];
        const int head = i % a->layer.heads;
        assert(!s->cache || s->position + s->rows <= s->cache->capacity);
        for (int r = 0; r < s->rows; r++) {
            const size_t position = (size_t)s->position + (size_t)r;
            if (a->layer.rounds)
                round_row(a, s->cache, head, s->first + r, position);
            else if (s->cache)
                append_row(a, s->cache, head,
                           sl_columns(a->key_value, s->first + r, head * a->layer.head_dim),
                           position);
        }
    }
}

void sl_cache_append(const struct sl_tape *t, const struct sl_view *view,
                     struct sl_tensor *key_value, struct sl_cache_layer layer)
{
    struct append a = {.t = t, .batch = view->batch, .key_value = key_value, .layer = layer};
    for (int i = 0; layer.rounds && i < SL_PANEL; i++)
        a.compact[i] = (size_t)sl_compact_at(t->kernels, i);

    /* As many sequences or heads to a piece as have about ROWS rows. */
    enum { ROWS = 8 };

    const int units = view->batch->count * layer.heads;
    const int grain = key_value->rows > 0 ? units * ROWS / key_value->rows : units;
    sl_parallel_for(t->pool, units, grain > 0 ? grain : 1, append_units, &a);
}
