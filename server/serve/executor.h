/* executor.h - what the executors of completion models and of classifiers have in common.
 *
 * There are two kinds, for models that complete texts and for classifiers; a executor of a kind
 * begins with this. HTTP threads go through admission and push; the dispatcher does the rest. */
#pragma once

#include "core/metrics.h"
#include "core/request.h"
#include "registry/registry.h"
#include "serve/admission.h"
#include "serve/queue.h"

struct sv_executor;

struct sv_executor_ops {
    const enum sv_metric *metrics; /* those of its series */
    int metric_count;
    /* Ends what nobody wants any more; when `ending` is not NULL, everything, with that error. */
    void (*sweep)(struct sv_executor *executor, const struct sv_error *ending);
    bool (*step)(struct sv_executor *executor); /* one batch; false: there was nothing to run */
    void (*destroy)(struct sv_executor *executor);
};

struct sv_executor {
    const struct sv_executor_ops *kind;
    struct sv_model_ref *ref; /* a reference */
    struct sv_admission admission;
    struct sv_series *series[SV_METRICS]; /* those with the labels model and version */

    pthread_mutex_t lock; /* guards arrived, and what a kind says besides */
    struct sv_queue arrived;

    struct sv_queue waiting; /* the dispatcher's; to be run */
    int running;             /* texts in the batch, or that have a slot */
};

struct sv_executor_limits {
    int64_t items_max, tokens_max; /* admitted at the same time */
};

/* The first and the last thing that a kind does with its executor. */
void sv_executor_init(struct sv_executor *executor, const struct sv_executor_ops *kind,
                      struct sv_model_ref *ref, const struct sv_executor_limits *bounds,
                      struct sv_metrics *metrics);
void sv_executor_release(struct sv_executor *executor);

int64_t sv_executor_pending(
    struct sv_executor *executor); /* texts admitted and not at their end; any thread */

/* The dispatcher: what was pushed waits from now on. */
void sv_executor_collect(struct sv_executor *executor);
/* After whatever changed who waits and who runs: nobody looks while the dispatcher sleeps. */
void sv_executor_record_queue(struct sv_executor *executor);
void sv_executor_record_start(struct sv_executor *executor, int64_t queued_ns, int64_t now);
/* Of a request; started_ns is 0 when it never was in a batch. */
void sv_executor_record_end(struct sv_executor *executor, const struct sv_request *request,
                            int64_t started_ns, int64_t finished_ns);
/* Of a batch, and of all layers that this executor's tokens went through since it was made. */
void sv_executor_record_batch(struct sv_executor *executor, int texts, int rows, int64_t took);
void sv_executor_record_layers(struct sv_executor *executor, int64_t used, int64_t full);
