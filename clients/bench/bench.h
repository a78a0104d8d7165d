/* bench.h - a load generator: concurrent requests; their throughput, latencies and failures.
 *
 * A closed loop: each of the `connections` sends a request, reads the response to its end and
 * sends the next, until `requests` have ended or `seconds` have passed. The load generator shares
 * the CPUs with the daemon, so it only counts events and parses the last of a stream; of
 * classifications it parses the headers. */
#pragma once

#include "bench/latency_histogram.h"
#include "common/client_error.h"
#include "common/endpoint.h"

#include <stdint.h>

enum { BENCH_STREAMS_MAX = 4096 };

struct bench_plan {
    struct endpoint endpoint;
    const char *path; /* of completions, or of /predict */
    int connections;
    int64_t requests, warm_up; /* warm_up requests come first and are not counted */
    double seconds;            /* no new request after this; 0: no limit */
    int texts;                 /* to classify in each request; 0: completions */
    int64_t timeout_ms;        /* for each request */
    bool stream;
    /* The body of a request, to be freed. Warm-up requests have negative numbers. */
    char *(*body)(void *context, int64_t number);
    void *context;
};

struct bench_result {
    int64_t done, failed, rejected; /* requests; rejected: the failures with 429 or 503 */
    int64_t warm_up_failed;         /* not included in `failed` */
    int64_t tokens, prompt_tokens, chunks;
    double layer_ops_skipped; /* mean fraction */
    double seconds;           /* from the first request to the end of the last response */
    double client_seconds;    /* CPU time of this program meanwhile */
    int failure_status;       /* of the first failure, warm-up included; 0: no response */
    char failure[1024];       /* its body or reason; "": nothing failed */

    struct histogram latency;     /* ns, per request */
    struct histogram first_chunk; /* ns to the first chunk with text, per request */
    struct histogram inter_chunk; /* ns between chunks */
    struct histogram inter_token; /* ns per token after the first chunk, mean per request */
    struct histogram rate;        /* tokens per 1000 s, per request */
};

/* Failed requests are counted; they do not fail the run. Nothing is measured after a warm-up with
 * failures. */
bool bench_run(const struct bench_plan *plan, struct bench_result *result,
               struct client_error *failure) SL_MUST_CHECK;
