/* bench_arrivals.h - when the requests of an open loop are due. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The times do not depend on responses, only on the rate, the kind and the start. */
struct bench_arrivals {
    int64_t due_ns; /* the next request, on the monotonic clock */
    /* Internal. */
    int64_t begun_ns, count;
    double interval_ns, offset_ns;
    bool poisson;
};

/* `rate`: requests per second. Evenly spaced, or with `poisson` independent of each other at that
 * mean rate; the same times in every run. */
void bench_arrivals_begin(struct bench_arrivals *arrivals, double rate, bool poisson,
                          int64_t begun_ns);
void bench_arrivals_advance(struct bench_arrivals *arrivals); /* to the next request */
