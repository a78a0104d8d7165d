/* bench.h - many requests at once, and what their clients see: rates, waiting times, failures.
 *
 * A closed loop: each of `streams` asks, reads its answer to the end and asks again, on a
 * connection that stays open, until `requests` have ended or `seconds` are over. It runs beside the
 * daemon that it measures, so it counts events and reads none of them but the last, and of
 * classifications their headers. */
#pragma once

#include "bench/histogram.h"
#include "common/fault.h"

#include <stdint.h>

enum { BENCH_STREAMS_MAX = 4096 };

struct bench_plan {
    const char *url; /* of completions, or of /predict */
    int streams;
    int64_t requests, warm_up; /* those of the warm-up come before, and count for nothing */
    double seconds;            /* after which nothing new is asked; 0: only `requests` count */
    int texts;                 /* classified by each request; 0: it completes one */
    int64_t timeout_ms;        /* for each request */
    bool stream;
    /* The body of a request, to be freed; those of the warm-up have numbers below zero. */
    char *(*body)(void *context, int64_t number);
    void *context;
};

struct bench_result {
    int64_t done, failed, refused; /* requests; refused: 429 or 503, which also failed */
    int64_t warm_up_failed;        /* of the warm-up, which are not among them */
    int64_t tokens, prompt_tokens, chunks;
    double saved;          /* mean share of layer operations that did not run */
    double seconds;        /* from the first request to the last answer */
    double client_seconds; /* processor time of this program meanwhile */
    int failure_status;    /* of the first that failed, warm-up included; 0: it was no answer */
    char failure[1024];    /* and what it said; "" when none failed */

    struct histogram latency;   /* ns, per request */
    struct histogram first;     /* ns until the first chunk with text, per request */
    struct histogram between;   /* ns between chunks */
    struct histogram per_token; /* ns, mean after the first chunk, per request */
    struct histogram rate;      /* tokens in 1000 s, per request */
};

/* Requests that fail are counted and no fault. When the warm-up fails, nothing is measured. */
bool bench_run(const struct bench_plan *plan, struct bench_result *result,
               struct fault *fault) MUST_CHECK;
