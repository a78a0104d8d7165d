/* bench.h - a load generator: concurrent requests; their throughput, latencies and failures.
 *
 * A closed loop: each of the `connections` sends a request, reads the response to its end and
 * sends the next, until `requests` have ended or `seconds` have passed. So a slow daemon gets fewer
 * requests, and its latencies look better than those of clients that do not wait for each other.
 *
 * An open loop, with `rate`: requests are due at their times, whether or not earlier ones have
 * ended, and latencies count from these times. A request that is due while all connections are busy
 * is dropped, and counted.
 *
 * The load generator shares the CPUs with the daemon, so it only counts events and parses the last
 * of a stream; of classifications it parses the headers. */
#pragma once

#include "bench/bench_plan.h"
#include "common/client_error.h"

/* Failed requests are counted; they do not fail the run. Nothing is measured after a warm-up with
 * failures. */
bool bench_run(const struct bench_plan *plan, struct bench_result *result,
               struct client_error *failure) SL_MUST_CHECK;
