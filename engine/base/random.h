/* random.h - counter-based random numbers.
 *
 * A value depends on (seed, purpose, index) and on nothing else: not on the order of calls, the
 * number of threads or what was drawn before. So a run can be resumed anywhere with the same
 * numbers, and a parameter's initial values do not change when another is added. */
#pragma once

#include <stdint.h>

/* 64 well mixed bits (the finaliser of SplitMix64, Steele et al. 2014). */
uint64_t sl_random_mix(uint64_t x);

/* A key for one purpose under one seed; names are hashed with FNV-1a. */
uint64_t sl_random_key(uint64_t seed, const char *purpose);

uint64_t sl_random_bits(uint64_t key, uint64_t index);
double sl_random_uniform(uint64_t key, uint64_t index); /* [0, 1) */
double sl_random_normal(uint64_t key, uint64_t index);  /* mean 0, variance 1 */

/* 0 .. n-1, each as likely as the others to within 2^-32. */
uint64_t sl_random_below(uint64_t key, uint64_t index, uint64_t n);
