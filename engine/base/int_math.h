/* int_math.h - minimum, and division and rounding of integers upwards. */
#pragma once

#include <stddef.h>

static inline int sl_min(int a, int b)
{
    return a < b ? a : b;
}

/* For a >= 0 and step > 0. */
static inline int sl_ceil_div(int a, int step)
{
    return (a + step - 1) / step;
}

static inline size_t sl_round_up(size_t a, size_t step)
{
    return (a + step - 1) / step * step;
}
