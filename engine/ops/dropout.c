/* dropout.c - what the ops with dropout share: thresholds and keys. */
#include "base/random.h"
#include "ops/ops.h"

struct sl_dropout sl_dropout_of(float probability)
{
    assert(probability >= 0.0f);
    assert(probability < 1.0f);
    uint32_t threshold = (uint32_t)(probability * 65536.0f + 0.5f);
    return (struct sl_dropout){threshold, 65536.0f / (65536.0f - (float)threshold)};
}

uint32_t sl_dropout_row_key(const struct sl_tape *t, uint64_t key, int row)
{
    return (uint32_t)(sl_random_bits(key, (uint64_t)(t->batch->row_base + row)) >> 32);
}
