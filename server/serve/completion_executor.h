/* completion_executor.h - runs a completion model: assigns slots to sequences and computes one
 * step of all of them.
 *
 * A task is a request; its sequences are the texts, one per choice. A task is admitted whole or
 * not at all. */
#pragma once

#include "serve/executor.h"
#include "serve/sse_stream.h"

#include "sluice/generation.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* One text being generated. */
struct sv_sequence {
    struct sv_link link;              /* in whichever queue it is */
    struct sl_generation *generation; /* its task's owner made it and destroys it */
    int choice;
    int64_t cost; /* tokens of the prompt plus max_tokens */

    /* Used by the scheduler's thread only. */
    struct sv_completion_task *task;
    int slot;            /* -1: none */
    int generated;       /* tokens so far */
    size_t flushed;      /* bytes of text in the stream, */
    int flushed_records; /* and token records */
    int64_t stepped_ns;  /* time of the last token */
    int64_t blocked_ns;  /* since when the stream is full; 0: it is not */
};

struct sv_completion_task {
    struct sv_request *request; /* a reference from push to the end */
    struct sv_sequence *sequences;
    int count;
    int operating_point;          /* of all sequences; 0: as the model says */
    struct sv_sse_stream *stream; /* NULL: the response is sent at once */
    int64_t deadline_ns;
    struct sv_usage usage; /* the caller sets depth and truncations; the rest is filled in */

    /* Written by the scheduler; readable once `finished` is true. */
    int64_t queued_ns, started_ns, finished_ns;
    struct sv_error error;
    int remaining; /* sequences that have not ended */
    bool has_output;
    int64_t woken_ns; /* the last time that the stream's reader was woken */
    atomic_bool finished;
};

struct sv_completion_options {
    int max_sequences, max_batch_tokens;
    struct sv_executor_limits bounds;
    int64_t write_timeout_ns;
    int64_t stream_interval_ns; /* between two events of a stream; the first is sent at once */
};

extern const struct sv_executor_ops sv_completion_executor_ops;

/* The version owns it. */
struct sv_executor *sv_completion_executor_create(struct sv_model_ref *ref,
                                                  const struct sv_completion_options *options,
                                                  struct sv_metrics *metrics, struct sl_err *err)
    SL_MUST_CHECK;
/* Any thread. The task must be admitted. */
void sv_completion_executor_push(struct sv_executor *executor, struct sv_completion_task *task);
