/* executor.h - what the executors of completion models and of classifiers have in common.
 *
 * There are two kinds, for models that complete texts and for classifiers; a lane of a kind begins
 * with this. HTTP threads go through the gate and push; the dispatcher does the rest. */
#pragma once

#include "core/metrics.h"
#include "core/request.h"
#include "registry/registry.h"
#include "serve/admission.h"
#include "serve/queue.h"

struct sv_lane;

struct sv_lane_kind {
    const enum sv_metric *metrics; /* those of its series */
    int metric_count;
    /* Ends what nobody wants any more; when `ending` is not NULL, everything, with that problem. */
    void (*sweep)(struct sv_lane *lane, const struct sv_problem *ending);
    bool (*step)(struct sv_lane *lane); /* one batch; false: there was nothing to run */
    void (*destroy)(struct sv_lane *lane);
};

struct sv_lane {
    const struct sv_lane_kind *kind;
    struct sv_served *served; /* a reference */
    struct sv_gate gate;
    struct sv_series *series[SV_METRICS]; /* those with the labels model and version */

    pthread_mutex_t lock; /* guards arrived, and what a kind says besides */
    struct sv_queue arrived;

    struct sv_queue waiting; /* the dispatcher's; to be run */
    int running;             /* texts in the batch, or that have a slot */
};

struct sv_lane_bounds {
    int64_t items_max, tokens_max; /* admitted at the same time */
};

/* The first and the last thing that a kind does with its lane. */
void sv_lane_init(struct sv_lane *lane, const struct sv_lane_kind *kind, struct sv_served *served,
                  const struct sv_lane_bounds *bounds, struct sv_metrics *metrics);
void sv_lane_release(struct sv_lane *lane);

int64_t sv_lane_items(struct sv_lane *lane); /* texts admitted and not at their end; any thread */

/* The dispatcher: what was pushed waits from now on. */
void sv_lane_collect(struct sv_lane *lane);
/* After whatever changed who waits and who runs: nobody looks while the dispatcher sleeps. */
void sv_lane_note_queue(struct sv_lane *lane);
void sv_lane_note_start(struct sv_lane *lane, int64_t queued_ns, int64_t now);
/* Of a call; started_ns is 0 when it never was in a batch. */
void sv_lane_note_end(struct sv_lane *lane, const struct sv_call *call, int64_t started_ns,
                      int64_t finished_ns);
/* Of a batch, and of all layers that this lane's tokens went through since it was made. */
void sv_lane_note_batch(struct sv_lane *lane, int texts, int rows, int64_t took);
void sv_lane_note_layers(struct sv_lane *lane, int64_t used, int64_t full);
