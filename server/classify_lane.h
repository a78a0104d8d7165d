/* classify_lane.h - one classifier's work: who was admitted, and one ragged batch after another.
 *
 * A task is what one call wants; its items are its texts. A task is admitted whole or not at all,
 * and its items may go through several batches, first come first served. HTTP threads admit and
 * push; the dispatcher steps. */
#pragma once

#include "call.h"
#include "metrics.h"
#include "problem.h"
#include "registry.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sv_classify_lane;

/* One text, and what came of it. The ids and the room for logits are the task's owner's. */
struct sv_item {
    const int32_t *tokens;
    int count;
    float *logits; /* a float for each class of the model */
    int64_t layers_used, layers_full;
};

struct sv_classify_task {
    struct sv_call *call; /* a reference from push to the end */
    struct sv_item *items;
    int count;
    int64_t deadline_ns;
    int64_t encoded_ns; /* how long its texts took to become tokens */

    /* The dispatcher's; to be read once `finished` is true. */
    int64_t queued_ns, started_ns, finished_ns;
    struct sv_problem problem;
    struct sv_classify_task *next; /* in whichever queue it is */
    int taken;                     /* items that are in a batch, or were */
    int left;                      /* items not at their end */
    atomic_bool finished;
};

struct sv_classify_lane_options {
    int items, rows;               /* of one batch, at most; rows grow to the model's context */
    int64_t items_max, tokens_max; /* admitted at the same time */
};

/* Takes a reference to the model, which must be a classifier. */
struct sv_classify_lane *sv_classify_lane_create(struct sv_served *served,
                                                 const struct sv_classify_lane_options *options,
                                                 struct sv_metrics *metrics, struct sl_err *err)
    SL_MUST_CHECK;
/* NULL is fine; nothing is admitted any more. */
void sv_classify_lane_destroy(struct sv_classify_lane *lane);
const struct sv_served *sv_classify_lane_served(const struct sv_classify_lane *lane);

/* Any thread: makes room for a request, all or nothing; then one push or dismiss follows. */
bool sv_classify_lane_admit(struct sv_classify_lane *lane, int items, int64_t tokens,
                            struct sv_problem *problem);
void sv_classify_lane_dismiss(struct sv_classify_lane *lane, int items, int64_t tokens);
void sv_classify_lane_push(struct sv_classify_lane *lane, struct sv_classify_task *task);
int64_t sv_classify_lane_items(struct sv_classify_lane *lane); /* admitted, not at their end */

/* The dispatcher: takes what was pushed; ends what nobody wants any more (when `ending` is not
 * NULL, everything, with that problem); runs one batch. False when there was nothing to run. */
void sv_classify_lane_collect(struct sv_classify_lane *lane);
void sv_classify_lane_sweep(struct sv_classify_lane *lane, const struct sv_problem *ending);
bool sv_classify_lane_step(struct sv_classify_lane *lane);

/* ---- what happened so far, as the protocol's statistics want it ------------------------------ */

struct sv_duration {
    int64_t count, ns;
};

struct sv_classify_stats {
    int64_t last_ms;                           /* of the last batch, since 1970 */
    int64_t items, batches;                    /* texts that got their answer; batches that ran */
    struct sv_duration success, fail;          /* calls, from their arrival */
    struct sv_duration queue, encode, compute; /* of those that succeeded */
    struct sv_duration by_size[SV_CLASSIFY_ITEMS_MAX + 1]; /* batches of so many texts */
};

/* Any thread. */
void sv_classify_lane_stats(struct sv_classify_lane *lane, struct sv_classify_stats *stats);
