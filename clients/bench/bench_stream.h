/* bench_stream.h - one of the benchmark's clients: its connection, and what it has seen so far. */
#pragma once

#include "base/clock.h"
#include "bench/bench.h"
#include "common/events.h"

enum { BENCH_WHY_MAX = 256 }; /* as much as curl has to say */

/* What the last event, or the whole answer, says was used. */
struct bench_usage {
    bool known;
    int64_t tokens, prompt_tokens;
    double saved;
};

struct bench_stream {
    const struct bench_plan *plan;
    void *easy; /* curl's handle; its header stays out of ours */
    struct curl_slist *headers;
    char *body; /* of the request */
    char why[BENCH_WHY_MAX];

    /* About the request under way. */
    bool counts; /* it is not of the warm-up */
    int status;  /* 0: no byte of the answer has come */
    bool ended;  /* [DONE] has come */
    int64_t begun_ns, first_ns, last_ns, chunks;
    struct bench_usage usage;
    struct events events;
    struct bytes answer; /* when it is no stream */
    struct histogram *between;
    char failure[1024]; /* the error inside an event */
};

bool bench_stream_init(struct bench_stream *s, const struct bench_plan *plan,
                       struct bench_result *result) MUST_CHECK; /* false: no memory */
void bench_stream_release(struct bench_stream *s);              /* zeroed or half made is fine */
/* Makes the handle ready to ask this; false: no memory. */
bool bench_stream_begin(struct bench_stream *s, int64_t number) MUST_CHECK;
/* Adds what was seen to the result; code is how curl says that it ended. */
void bench_stream_finish(struct bench_stream *s, int code, struct bench_result *result);
