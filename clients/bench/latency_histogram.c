/* latency_histogram.c - percentiles of any number of measurements, in constant memory. */
#include "bench/latency_histogram.h"

#include <assert.h>

enum { STEP_BITS = 5 };

_Static_assert(1 << STEP_BITS == HISTOGRAM_STEPS, "STEP_BITS bits count the steps");

/* Small numbers have a bucket each; others share one with numbers that have the same first six
 * bits. */
static int bucket_of(int64_t value)
{
    if (value < HISTOGRAM_STEPS)
        return (int)value;
    int shift = 63 - __builtin_clzll((unsigned long long)value) - STEP_BITS;
    return (shift + 1) * HISTOGRAM_STEPS + (int)(value >> shift) - HISTOGRAM_STEPS;
}

static double middle_of(int bucket)
{
    if (bucket < HISTOGRAM_STEPS)
        return bucket;
    int shift = bucket / HISTOGRAM_STEPS - 1;
    int64_t first = (int64_t)(bucket % HISTOGRAM_STEPS + HISTOGRAM_STEPS) << shift;
    return (double)first + ((double)((int64_t)1 << shift) - 1) / 2;
}

void histogram_add(struct histogram *h, int64_t value)
{
    value = value > 0 ? value : 0;
    int bucket = bucket_of(value);
    assert(bucket < HISTOGRAM_BUCKETS);
    h->buckets[bucket]++;
    h->min = h->count == 0 || value < h->min ? value : h->min;
    h->max = value > h->max ? value : h->max;
    h->count++;
}

double histogram_quantile(const struct histogram *h, double quantile)
{
    int64_t rank = (int64_t)(quantile * (double)h->count), seen = 0;
    rank = rank < h->count ? rank : h->count - 1;
    int bucket = 0;
    while (bucket < HISTOGRAM_BUCKETS && (seen += h->buckets[bucket]) <= rank)
        bucket++;
    if (h->count == 0)
        return 0;
    double middle = middle_of(bucket);
    middle = middle > (double)h->min ? middle : (double)h->min;
    return middle < (double)h->max ? middle : (double)h->max;
}
