/* initialize.c - initial values of one parameter, by kind of distribution. */
#include "model/initialize.h"

#include "base/random.h"

#include <math.h>

/* Sines and cosines of a position; side by side per frequency, or all sines first. */
static double sine_of(int row, int col, int cols, bool halves)
{
    int half = cols / 2, pair = halves ? col % half : col / 2;
    bool cosine = halves ? col >= half : col % 2;
    double share = halves ? (double)pair / (half > 1 ? half - 1 : 1) : 2.0 * pair / cols;
    double angle = row * pow(10000.0, -share);
    return cosine ? cos(angle) : sin(angle);
}

/* One of TransEvolve's frozen factors. Arguments reach 10^4: their fraction needs a double. */
static double rotation_of(int row, int col, struct sl_init init, uint64_t key)
{
    int half = init.span / 2, pair = row % half;
    double turns = sl_random_normal(key, (uint64_t)col * (uint64_t)half + (uint64_t)pair);
    double angle = M_PI * init.time * pair * turns;
    return (double)init.value * (row < half ? sin(angle) : cos(angle));
}

static double initial_value(const struct sl_parameter *p, struct sl_init init, uint64_t key,
                            size_t i)
{
    switch (init.kind) {
    case SL_INIT_NORMAL: return (double)init.value * sl_random_normal(key, i);
    case SL_INIT_UNIFORM: return (double)init.value * (2.0 * sl_random_uniform(key, i) - 1.0);
    case SL_INIT_SINES:
        return sine_of((int)(i / (size_t)p->cols), (int)(i % (size_t)p->cols), p->cols,
                       init.value > 0.0f);
    case SL_INIT_ROTATION:
        return rotation_of((int)(i / (size_t)p->cols), (int)(i % (size_t)p->cols), init, key);
    case SL_INIT_CONSTANT: break;
    }
    return (double)init.value;
}

void sl_initialize(struct sl_parameter *p, struct sl_init init, uint64_t seed)
{
    uint64_t key = sl_random_key(seed, p->name);
    size_t count = sl_parameter_floats(p);
    for (size_t i = 0; i < count; i++)
        p->data[i] = (float)initial_value(p, init, key, i);
}
