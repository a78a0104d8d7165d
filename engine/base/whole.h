/* whole.h - whole numbers: the lesser of two, and what divides unevenly. */
#pragma once

#include <stddef.h>

static inline int sl_least(int a, int b)
{
    return a < b ? a : b;
}

/* For a >= 0 and step > 0: how many steps cover a, and where the last of them ends. */
static inline int sl_steps(int a, int step)
{
    return (a + step - 1) / step;
}

static inline size_t sl_round_up(size_t a, size_t step)
{
    return (a + step - 1) / step * step;
}
