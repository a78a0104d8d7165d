/* random.c - counter-based random numbers: SplitMix64 entered at any index. */
#include "base/random.h"

#include <assert.h>
#include <math.h>

/* 2^64 / golden ratio: the step of SplitMix64's counter. */
static const uint64_t golden = 0x9e3779b97f4a7c15;

uint64_t sl_random_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

/* Fowler, Noll and Vo's hash 1a, 64 bits. */
static uint64_t fnv1a(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (const char *c = text; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3;
    return hash;
}

uint64_t sl_random_key(uint64_t seed, const char *purpose)
{
    assert(purpose);
    return sl_random_mix(fnv1a(purpose) ^ sl_random_mix(seed + golden));
}

uint64_t sl_random_bits(uint64_t key, uint64_t index)
{
    return sl_random_mix(key + (index + 1) * golden);
}

/* The upper 53 bits: the precision of a double. */
double sl_random_uniform(uint64_t key, uint64_t index)
{
    return (double)(sl_random_bits(key, index) >> 11) * 0x1p-53;
}

/* Box and Muller 1958, the cosine half:  sqrt(-2 ln u) cos(2 pi v),  u in (0, 1]. */
double sl_random_normal(uint64_t key, uint64_t index)
{
    double u = 1.0 - sl_random_uniform(key, 2 * index);
    double v = sl_random_uniform(key, 2 * index + 1);
    return sqrt(-2.0 * log(u)) * cos(2.0 * M_PI * v);
}

/* The upper half of a 128-bit product: Lemire 2019 without the rejection step, which biases a value
 * by at most n / 2^64. */
uint64_t sl_random_below(uint64_t key, uint64_t index, uint64_t n)
{
    assert(n > 0);
    __extension__ unsigned __int128 product = sl_random_bits(key, index);
    return (uint64_t)((product * n) >> 64);
}
