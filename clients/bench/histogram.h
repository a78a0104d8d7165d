/* histogram.h - percentiles of any number of measurements, in memory that does not grow. */
#pragma once

#include <stdint.h>

/* A bucket is 1/32 of a power of two wide: what comes out is within 1.6 % of what went in. */
enum { HISTOGRAM_STEPS = 32, HISTOGRAM_BUCKETS = 60 * HISTOGRAM_STEPS };

/* Zeroed it is empty. */
struct histogram {
    int64_t count, min, max;
    int64_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *h, int64_t value); /* below zero counts as zero */
/* The value that this share of all, 0 to 1, does not exceed; 0 of an empty one. */
double histogram_at(const struct histogram *h, double share);
