/* lane.h - one model's work: who was admitted, who has a slot, and one step for all of them.
 *
 * A task is what one call wants; its sequences are the texts of it, one per choice. A task is
 * admitted whole or not at all. HTTP threads admit and push; the dispatcher steps. */
#pragma once

#include "call.h"
#include "metrics.h"
#include "problem.h"
#include "registry.h"
#include "stream.h"

#include "sluice/generate.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sv_lane;

/* One text being written. */
struct sv_sequence {
    struct sl_generation *generation; /* its task's owner made it and destroys it */
    int choice;
    int64_t cost; /* tokens of prompt and answer */

    /* The dispatcher's. */
    struct sv_task *task;
    struct sv_sequence *next; /* in whichever list it is */
    int slot;                 /* -1: none */
    int generated;            /* tokens seen so far */
    size_t told;              /* bytes of text put into the stream */
    int64_t stepped_ns;       /* when the last token came */
    int64_t blocked_ns;       /* since when the stream has no room; 0: it has */
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

struct sv_lane_options {
    int slots, batch_rows;
    int64_t items_max, tokens_max; /* admitted at the same time */
    int64_t stall_ns;
};

/* Takes a reference to the model. */
struct sv_lane *sv_lane_create(struct sv_served *served, const struct sv_lane_options *options,
                               struct sv_metrics *metrics, struct sl_err *err) SL_MUST_CHECK;
void sv_lane_destroy(struct sv_lane *lane); /* NULL is fine; nothing is admitted any more */
const struct sv_served *sv_lane_served(const struct sv_lane *lane);

/* Any thread: makes room for a request, all or nothing; then exactly one push or cancel follows. */
bool sv_lane_admit(struct sv_lane *lane, int items, int64_t tokens, struct sv_problem *problem);
void sv_lane_dismiss(struct sv_lane *lane, int items, int64_t tokens);
void sv_lane_push(struct sv_lane *lane, struct sv_task *task);
int64_t sv_lane_items(struct sv_lane *lane); /* texts admitted and not at their end */

/* The dispatcher: takes what was pushed; ends what nobody wants any more (when `ending` is not
 * NULL, everything, with that problem); runs one batch. False when there was nothing to run. */
void sv_lane_collect(struct sv_lane *lane);
void sv_lane_sweep(struct sv_lane *lane, const struct sv_problem *ending);
bool sv_lane_step(struct sv_lane *lane);
