/* bench_plan.h - what the load generator is to do, and what it has measured. */
#pragma once

#include "bench/latency_histogram.h"
#include "common/endpoint.h"

#include <stdint.h>

enum { BENCH_STREAMS_MAX = 4096 };

/* What the requests are for. */
enum bench_task { BENCH_COMPLETIONS, BENCH_CLASSIFICATION, BENCH_EMBEDDINGS };

struct bench_plan {
    enum bench_task task;
    struct endpoint endpoint;
    const char *path; /* of completions, /predict or /embed */
    int connections;
    int64_t requests, warm_up; /* warm_up requests come first and are not counted */
    double seconds;            /* no new request after this; 0: no limit (a closed loop only) */
    double rate;               /* of an open loop: requests due per second; 0: a closed loop */
    bool poisson;              /* the open loop's times are random at that mean rate, not even */
    int texts;                 /* in each request; 0: completions */
    double budget;             /* of each request, to compute for; 0: none */
    int64_t timeout_ms;        /* for each request */
    bool stream;
    /* The body of a request, to be freed. Warm-up requests have negative numbers. */
    char *(*body)(void *context, int64_t number);
    void *context;
};

/* What an open loop adds. The second half of the time shows whether as many requests end as are
 * due: in the first, connections and queues fill. */
struct bench_open_loop {
    int64_t due, dropped;         /* requests; dropped: due while all connections were busy */
    int64_t late_due, late_ended; /* in the second half; ended: well */
    double ended_per_second;      /* in the second half */
    struct histogram start_delay; /* ns from when a request was due until it was sent */
};

struct bench_result {
    int64_t done, failed, rejected; /* requests; rejected: the failures with 429 or 503 */
    int64_t warm_up_failed;         /* not included in `failed` */
    int64_t tokens, prompt_tokens, chunks;
    double layer_ops_skipped; /* mean fraction */
    double seconds;           /* from the first request to the end of the last response */
    double client_seconds;    /* CPU time of this program meanwhile */
    /* Of the first failure, warm-up included; with an open loop of the first that is no rejection,
     * if there is one. 0: no response. */
    int failure_status;
    char failure[1024]; /* its body or reason; "": nothing failed */

    struct histogram latency;     /* ns, per request */
    struct histogram first_chunk; /* ns to the first chunk with text, per request */
    struct histogram inter_chunk; /* ns between chunks */
    struct histogram inter_token; /* ns per token after the first chunk, mean per request */
    struct histogram rate;        /* tokens per 1000 s, per request */
    struct bench_open_loop open;
};
