/* token_windows.c - where a window starts and how long it is. */
#include "data/token_windows.h"

#include "base/random.h"

#include <assert.h>

uint64_t sl_window_key(uint64_t seed, uint64_t step)
{
    return sl_random_bits(sl_random_key(seed, "windows"), step);
}

static struct sl_window window_from(struct sl_span part, int64_t start, int64_t rows)
{
    assert(rows > 0);
    assert(start >= 0);
    assert(start + rows < part.count);
    return (struct sl_window){
        .tokens = part.ids + start, .targets = part.ids + start + 1, .rows = (int)rows};
}

struct sl_window sl_window_random(struct sl_span part, int context, uint64_t key, uint64_t index)
{
    assert(context > 0);
    assert(part.count >= (int64_t)context + 2);
    uint64_t starts = (uint64_t)(part.count - context - 1);
    return window_from(part, (int64_t)sl_random_below(key, index, starts), context);
}

int64_t sl_window_count(struct sl_span part, int context)
{
    assert(context > 0);
    return part.count < 2 ? 0 : (part.count - 1 + context - 1) / context;
}

struct sl_window sl_window_at(struct sl_span part, int context, int64_t index)
{
    assert(index >= 0);
    assert(index < sl_window_count(part, context));
    int64_t start = index * context, left = part.count - 1 - start;
    return window_from(part, start, left < context ? left : context);
}
