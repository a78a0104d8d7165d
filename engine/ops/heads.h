/* heads.h - shared by ops with heads: columns, padding and the KV cache. */
#pragma once

#include "autograd/tape.h"

/* The element of a row, of either type, at a column. */
static inline void *sl_columns(const struct sl_tensor *x, int row, int column)
{
    return (char *)sl_row_any(x, row) + (size_t)column * sl_type_bytes(x->type);
}

/* The dropout key of one head of a row of the whole training batch. */
uint32_t sl_dropout_head_key(uint64_t random_key, int row, int head, int heads);

/* Zeroes the padding of operand rows, of which heads write only their own columns. */
void sl_clear_padding(const struct sl_tensor *x);

/* One attention layer's part of every cache. */
struct sl_cache_layer {
    size_t at; /* offset in bytes within a token's entry */
    int heads;
    size_t row_bytes; /* of one head's key, or value */
};

/* The keys of one head, one after another, or its values. */
char *sl_cache_rows(const struct sl_cache *cache, struct sl_cache_layer layer, int head,
                    bool values);

/* Appends the batch's keys and values (rows x 2 width, keys first) to the caches of sequences that
 * have one. */
void sl_cache_append(const struct sl_tape *t, const struct sl_tensor *key_value,
                     struct sl_cache_layer layer);
