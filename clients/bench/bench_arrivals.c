/* bench_arrivals.c - when the requests of an open loop are due. */
#include "bench/bench_arrivals.h"
#include "base/random.h"

#include <math.h>

/* Even times are products rather than sums, so that rounding does not add up. */
static void place(struct bench_arrivals *a)
{
    if (a->poisson) {
        uint64_t key = sl_random_key(1, "arrivals");
        a->offset_ns -= a->interval_ns * log1p(-sl_random_uniform(key, (uint64_t)a->count));
    } else
        a->offset_ns = a->interval_ns * (double)a->count;
    a->due_ns = a->begun_ns + (int64_t)a->offset_ns;
}

void bench_arrivals_begin(struct bench_arrivals *arrivals, double rate, bool poisson,
                          int64_t begun_ns)
{
    *arrivals = (struct bench_arrivals){
        .begun_ns = begun_ns, .interval_ns = 1e9 / rate, .poisson = poisson};
    place(arrivals);
}

void bench_arrivals_advance(struct bench_arrivals *arrivals)
{
    arrivals->count++;
    place(arrivals);
}
