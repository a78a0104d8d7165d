/* attention_heads.h - shared by ops with heads: columns of a head, padding, dropout. */
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
