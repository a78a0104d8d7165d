/* kv_cache.h - keys and values of earlier tokens, head by head; shared by the attention ops. */
#pragma once

#include "autograd/tape.h"

/* One attention layer's part of every cache. */
struct sl_cache_layer {
    size_t at; /* offset in bytes within a token's entry */
    int heads;
    size_t row_bytes; /* of one head's key, or value */
    bool packs_keys;  /* keys are the columns of a packed matrix per head; fp32 only */
};

/* The keys of one head, one after another or packed, or its values one after another. */
char *sl_cache_rows(const struct sl_cache *cache, struct sl_cache_layer layer, int head,
                    bool values);

/* Appends the batch's keys and values (rows x 2 width, keys first) to the caches of sequences that
 * have one. */
void sl_cache_append(const struct sl_tape *t, const struct sl_tensor *key_value,
                     struct sl_cache_layer layer);
