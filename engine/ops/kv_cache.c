/* kv_cache.c - where a head's keys and values are, and how new ones are appended. */
#include "ops/kv_cache.h"

#include <string.h>

enum { APPEND_ROWS = 8 }; /* per piece; a row is copied to as many places as there are heads */

char *sl_cache_rows(const struct sl_cache *cache, struct sl_cache_layer layer, int head,
                    bool values)
{
    size_t before = layer.at + (2 * (size_t)head + values) * layer.row_bytes;
    return (char *)cache->operands + before * (size_t)cache->capacity;
}

struct append {
    const struct sl_tape *t;
    const struct sl_tensor *key_value;
    struct sl_cache_layer layer;
};

/* The key becomes a column of a matrix that the kernels packed: panels of SL_PANEL columns. */
static void append_packed(float *keys, const float *key, size_t head_dim, int position)
{
    float *column = keys + (size_t)(position / SL_PANEL) * head_dim * SL_PANEL;
    column += position % SL_PANEL;
    for (size_t i = 0; i < head_dim; i++)
        column[i * SL_PANEL] = key[i];
}

static void append_rows(void *ctx, int first, int last, int worker)
{
    const struct append *a = ctx;
    const size_t bytes = a->layer.row_bytes;
    (void)worker;
    for (int r = first; r < last; r++) {
        const struct sl_cache *cache = a->t->batch->sequences[a->t->row_sequence[r]].cache;
        if (!cache)
            continue;
        assert(a->t->row_position[r] < cache->capacity);
        const size_t place = (size_t)a->t->row_position[r] * bytes;
        const char *key = sl_row_any(a->key_value, r);
        const char *value = key + (size_t)a->layer.heads * bytes;
        for (int h = 0; h < a->layer.heads; h++, key += bytes, value += bytes) {
            char *keys = sl_cache_rows(cache, a->layer, h, false);
            if (a->layer.packs_keys)
                append_packed((float *)(void *)keys, (const float *)(const void *)key,
                              bytes / sizeof(float), a->t->row_position[r]);
            else
                memcpy(keys + place, key, bytes);
            memcpy(sl_cache_rows(cache, a->layer, h, true) + place, value, bytes);
        }
    }
}

void sl_cache_append(const struct sl_tape *t, const struct sl_tensor *key_value,
                     struct sl_cache_layer layer)
{
    struct append a = {t, key_value, layer};
    sl_parallel_for(t->pool, key_value->rows, APPEND_ROWS, append_rows, &a);
}
