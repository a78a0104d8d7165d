/* completion_executor.h - runs a completion model: which sequence has a slot, and one step for
 * all of them.
 *
 * A task is what one call wants; its sequences are the texts of it, one per choice. A task is
 * admitted whole or not at all. */
#pragma once

#include "serve/executor.h"
#include "serve/stream.h"

#include "sluice/generate.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* One text being written. */
struct sv_sequence {
    struct sv_link link;              /* in whichever queue it is */
    struct sl_generation *generation; /* its task's owner made it and destroys it */
    int choice;
    int64_t cost; /* tokens of prompt and answer */

    /* The dispatcher's. */
    struct sv_task *task;
    int slot;           /* -1: none */
    int generated;      /* tokens seen so far */
    size_t told;        /* bytes of text put into the stream, */
    int told_records;   /* and records of tokens */
    int64_t stepped_ns; /* when the last token came */
    int64_t blocked_ns; /* since when the stream has no room; 0: it has */
};

struct sv_task {
    struct sv_call *call; /* a reference from push to the end */
    struct sv_sequence *sequences;
    int count;
    struct sv_stream *stream; /* NULL: the answer is given whole */
    int64_t deadline_ns;
    struct sv_usage usage; /* with depth and truncations set; the sums are filled in */

    /* The dispatcher's; to be read once `finished` is true. */
    int64_t queued_ns, started_ns, finished_ns;
    struct sv_problem problem;
    int left; /* sequences not at their end */
    bool news;
    atomic_bool finished;
};

struct sv_complete_options {
    int slots, batch_rows;
    struct sv_lane_bounds bounds;
    int64_t stall_ns;
};

extern const struct sv_lane_kind sv_complete_lanes;

/* Takes a reference to the model. */
struct sv_lane *sv_complete_lane_create(struct sv_served *served,
                                        const struct sv_complete_options *options,
                                        struct sv_metrics *metrics, struct sl_err *err)
    SL_MUST_CHECK;
/* Any thread: what the gate has let in. */
void sv_complete_lane_push(struct sv_lane *lane, struct sv_task *task);
