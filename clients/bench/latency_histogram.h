/* latency_histogram.h - percentiles of any number of measurements, in constant memory. */
#pragma once

#include <stdint.h>

/* A bucket is 1/32 of a power of two wide: results are within 1.6 % of the exact ones. */
enum { HISTOGRAM_STEPS = 32, HISTOGRAM_BUCKETS = 60 * HISTOGRAM_STEPS };

/* Empty when zeroed. */
struct histogram {
    int64_t count, min, max;
    int64_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *h, int64_t value); /* negative values count as zero */
/* The value at this quantile, 0 to 1; 0 when empty. */
double histogram_quantile(const struct histogram *h, double quantile);
