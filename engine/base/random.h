/* random.h - counter-based random numbers.
 *
 * A value depends only on (seed, purpose, index): not on the order of calls or the number of
 * threads. So a resumed run gets the same numbers, and a parameter's initial values do not change
 * when another parameter is added. */
#pragma once

#include <stdint.h>

/* 64 random bits (the finaliser of SplitMix64, Steele et al. 2014). */
uint64_t sl_random_mix(uint64_t x);

/* A key for one purpose under one seed; names are hashed with FNV-1a. */
uint64_t sl_random_key(uint64_t seed, const char *purpose);

uint64_t sl_random_bits(uint64_t key, uint64_t index);
double sl_random_uniform(uint64_t key, uint64_t index); /* [0, 1) */
double sl_random_normal(uint64_t key, uint64_t index);  /* mean 0, variance 1 */

/* 0 .. n-1, uniform to within 2^-32. */
uint64_t sl_random_below(uint64_t key, uint64_t index, uint64_t n);
