/* ctl_bench_run.h - runs load tests for `sluicectl bench` and prints their results. */
#pragma once

#include "bench/bench.h"

/* How results are printed. */
struct ctl_bench_report {
    const char *model;
    const char *svg; /* file to draw latency against rate to; NULL: none */
    bool json;
};

/* A closed loop. */
bool ctl_bench_run(const struct bench_plan *plan, const struct ctl_bench_report *report,
                   struct client_error *failure) SL_MUST_CHECK;
/* An open loop at each rate of a list: numbers separated by commas. */
bool ctl_bench_rates(const struct bench_plan *plan, const struct ctl_bench_report *report,
                     const char *rates, struct client_error *failure) SL_MUST_CHECK;

/* Sets the failure to what went wrong, with the daemon's message for the first failed request. */
bool ctl_bench_explain(const struct bench_plan *plan, const struct bench_result *result,
                       struct client_error *failure);
