/* bench_connection.h - one connection of the load generator, and what it has measured so far. */
#pragma once

#include "base/clock.h"
#include "bench/bench_plan.h"
#include "common/sse_parser.h"

enum { BENCH_CURL_ERROR_MAX = 256 }; /* at least CURL_ERROR_SIZE */

/* The usage reported by the last event, or by the response. */
struct bench_usage {
    bool known;
    int64_t tokens, prompt_tokens;
    double layer_ops_skipped;
};

struct bench_connection {
    const struct bench_plan *plan;
    void *easy; /* a CURL, whose header is not included here */
    struct curl_slist *headers;
    char *body; /* of the request */
    char curl_error[BENCH_CURL_ERROR_MAX];

    /* About the request in flight. */
    bool counts; /* false: warm-up */
    int status;  /* 0: no byte of the body has arrived */
    int64_t begun_ns, first_ns, last_ns, chunks;
    struct bench_usage usage;
    struct sse_parser events;
    struct sl_buffer response; /* when not streaming */
    struct histogram *inter_chunk;
    char failure[1024]; /* the error inside an event */
};

bool bench_connection_init(struct bench_connection *s, const struct bench_plan *plan,
                           struct bench_result *result) SL_MUST_CHECK; /* false: no memory */
void bench_connection_release(struct bench_connection *s); /* zeroed or half initialised is fine */
/* Prepares the handle for the request of this number, whose latency counts from begun_ns; false: no
 * memory. */
bool bench_connection_begin(struct bench_connection *s, int64_t number, int64_t begun_ns)
    SL_MUST_CHECK;
/* Adds the measurements to the result; code is the CURLcode of the transfer. */
void bench_connection_finish(struct bench_connection *s, int code, struct bench_result *result);
