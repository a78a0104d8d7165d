/* attention_pattern.c - lists of the keys that a query attends to. They depend only on its position
 * and the length of the sequence, so they are computed when needed. Child et al. 2019 (strides), Li
 * et al. 2019 (powers of two). */
#include "arch/eam/eam.h"
#include "base/int_math.h"

/* Every step-th number from first to last. */
static int stepped(int first, int last, int step, int32_t *keys)
{
    int count = 0;
    for (int j = first; j <= last; j += step)
        keys[count++] = j;
    return count;
}

static int powers(int row, int last, int32_t *keys)
{
    int count = 0, step = 1;
    while (step <= row / 2)
        step *= 2;
    for (; step > 0 && step <= row; step /= 2)
        keys[count++] = row - step;
    keys[count++] = row;
    for (step = 1; step <= last - row; step *= 2)
        keys[count++] = row + step;
    return count;
}

static int window_and_stride(struct sl_pattern p, int row, int last, int32_t *keys)
{
    int first = row > p.window ? row - p.window : 0, end = row + p.window;
    int count = stepped(0, first - 1, p.stride, keys);
    count += stepped(first, sl_min(end, last), 1, keys + count);
    return count + stepped((end / p.stride + 1) * p.stride, last, p.stride, keys + count);
}

int sl_pattern_keys(struct sl_pattern p, int row, int rows, int32_t *keys)
{
    assert(row >= 0);
    assert(row < rows);
    int last = p.causal ? row : rows - 1;
    switch (p.kind) {
    case SL_PATTERN_LOG: return powers(row, last, keys);
    case SL_PATTERN_STRIDE: return stepped(row % p.stride, last, p.stride, keys);
    case SL_PATTERN_WINDOW_STRIDE: return window_and_stride(p, row, last, keys);
    case SL_PATTERN_DENSE: return stepped(0, last, 1, keys);
    case SL_PATTERN_NONE: break;
    }
    return 0;
}
