/* executor.h - what the executors of completion models and of classifiers have in common.
 *
 * Every version that is loaded has one executor. HTTP threads admit and push; the scheduler's
 * thread does the rest. The struct of either kind begins with a struct sv_executor. */
#pragma once

#include "core/metrics.h"
#include "core/request.h"
#include "registry/registry.h"
#include "serve/admission.h"
#include "serve/queue.h"

struct sv_executor;

struct sv_executor_ops {
    const enum sv_metric *metrics; /* that it records besides those of all kinds */
    int metric_count;
    /* Ends cancelled and expired work; all work, with this error, if `ending` is not NULL. */
    void (*sweep)(struct sv_executor *executor, const struct sv_error *ending);
    bool (*step)(struct sv_executor *executor); /* one batch; false: there was nothing to run */
    /* When the first of the work that waits was queued; INT64_MAX: none waits. NULL: the order of
     * arrival does not matter, because what waits is admitted to a batch that never ends. */
    int64_t (*oldest_ns)(const struct sv_executor *executor);
    /* Runs these tokens alone, before there are requests. */
    bool (*warm)(struct sv_executor *executor, const int32_t *tokens, int count,
                 struct sl_err *err);
    void (*destroy)(struct sv_executor *executor);
};

struct sv_executor {
    const struct sv_executor_ops *kind;
    struct sv_model_ref *ref; /* which owns the executor */
    struct sv_error ending;   /* all its work ends with it, once this is true: */
    atomic_bool is_ending;
    struct sv_admission admission;
    struct sv_series *series[SV_METRICS]; /* with the labels model and version */

    pthread_mutex_t lock; /* guards `arrived` and what the kind documents */
    struct sv_queue arrived;

    struct sv_queue waiting;          /* to be run; used by the scheduler's thread only */
    int running;                      /* texts in the batch or in a slot */
    int64_t layers_used, layers_full; /* so far */
};

struct sv_executor_limits {
    int64_t items_max, tokens_max; /* admitted at the same time */
};

/* Called first and last by the kinds. */
void sv_executor_init(struct sv_executor *executor, const struct sv_executor_ops *kind,
                      struct sv_model_ref *ref, const struct sv_executor_limits *bounds,
                      struct sv_metrics *metrics);
void sv_executor_release(struct sv_executor *executor);

/* Runs a first batch, so that no request is the first to touch the memory, and a model that gives
 * NaN is found out before it is published. */
bool sv_executor_warm(struct sv_executor *executor, struct sl_err *err) SL_MUST_CHECK;

int64_t sv_executor_pending(
    struct sv_executor *executor); /* texts admitted and not ended; any thread */

/* Moves what was pushed to `waiting`. */
void sv_executor_collect(struct sv_executor *executor);
/* Updates the gauges. Call after every change: nothing else does while the scheduler sleeps. */
void sv_executor_record_queue(struct sv_executor *executor);
void sv_executor_record_start(struct sv_executor *executor, int64_t queued_ns, int64_t now);
/* started_ns is 0 if the request was in no batch. */
void sv_executor_record_end(struct sv_executor *executor, const struct sv_request *request,
                            int64_t started_ns, int64_t finished_ns);
void sv_executor_record_batch(struct sv_executor *executor, int texts, int rows, int64_t took);
void sv_executor_record_layers(struct sv_executor *executor);
