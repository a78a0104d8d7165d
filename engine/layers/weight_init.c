/* weight_init.c - initial values: the distributions and tables that several papers use. */
#include "base/random.h"
#include "layers/builder.h"

#include <math.h>

static uint64_t index_of(int row, int col, int cols)
{
    return (uint64_t)row * (uint64_t)cols + (uint64_t)col;
}

static double constant(const struct sl_init *init, uint64_t key, int row, int col, int cols)
{
    (void)key, (void)row, (void)col, (void)cols;
    return (double)init->value;
}

static double normal(const struct sl_init *init, uint64_t key, int row, int col, int cols)
{
    return (double)init->value * sl_random_normal(key, index_of(row, col, cols));
}

static double uniform(const struct sl_init *init, uint64_t key, int row, int col, int cols)
{
    return (double)init->value * (2.0 * sl_random_uniform(key, index_of(row, col, cols)) - 1.0);
}

static double wave(int row, double exponent, bool cosine)
{
    double angle = row * pow(10000.0, -exponent);
    return cosine ? cos(angle) : sin(angle);
}

static double sinusoidal(const struct sl_init *init, uint64_t key, int row, int col, int cols)
{
    const int pair = col / 2;
    (void)init, (void)key;
    return wave(row, 2.0 * pair / cols, col % 2);
}

static double sinusoidal_halves(const struct sl_init *init, uint64_t key, int row, int col,
                                int cols)
{
    int half = cols / 2, frequency = col % half;
    (void)init, (void)key;
    return wave(row, (double)frequency / (half > 1 ? half - 1 : 1), col >= half);
}

struct sl_init sl_constant(float value)
{
    return (struct sl_init){.element = constant, .value = value};
}

struct sl_init sl_normal(float deviation)
{
    return (struct sl_init){.element = normal, .value = deviation};
}

struct sl_init sl_uniform(float bound)
{
    return (struct sl_init){.element = uniform, .value = bound};
}

struct sl_init sl_glorot(int ins, int outs)
{
    return sl_uniform(sqrtf(6.0f / (float)(ins + outs)));
}

struct sl_init sl_sinusoidal(bool halves)
{
    return (struct sl_init){.element = halves ? sinusoidal_halves : sinusoidal};
}
