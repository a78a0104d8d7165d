/* kv_cache.h - keys and values of earlier tokens, head by head; shared by the attention ops. */
#pragma once

#include "autograd/tape.h"

/* One attention layer's part of every cache. */
struct sl_cache_layer {
    int at; /* the first column, of elements of `type` */
    int heads;
    int head_dim;
    enum sl_type type;
    bool packed; /* in the forms that the kernels' attention reads (kernels.h); else plain rows */
    bool rounds; /* operands are fp32, and become bf16 here */
};

/* The keys, or the values, of one head. */
char *sl_cache_rows(const struct sl_cache *cache, struct sl_cache_layer layer, int head,
                    bool values);

/* Appends the keys and values of a view (rows x 2 width, keys first) to the caches of sequences
 * that have one. If the layer `rounds`, key_value is rounded to what bf16 holds, too, with a cache
 * or without. */
void sl_cache_append(const struct sl_tape *t, const struct sl_view *view,
                     struct sl_tensor *key_value, struct sl_cache_layer layer);
