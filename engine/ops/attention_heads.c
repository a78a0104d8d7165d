/* attention_heads.c - padding and dropout of rows that are written head by head. */
#include "ops/attention_heads.h"

#include "base/random.h"

#include <string.h>

uint32_t sl_dropout_head_key(uint64_t random_key, int row, int head, int heads)
{
    uint64_t place = (uint64_t)row * (uint64_t)heads + (uint64_t)head;
    return (uint32_t)(sl_random_bits(random_key, place) >> 32);
}

void sl_clear_padding(const struct sl_tensor *x)
{
    size_t padding = (x->stride - (size_t)x->cols) * sl_type_bytes(x->type);
    for (int r = 0; padding && r < x->rows; r++)
        memset(sl_columns(x, r, x->cols), 0, padding);
}
