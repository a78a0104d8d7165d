/* scheduler.h - one thread that runs the admitted work, batch after batch.
 *
 * Batching needs no waiting time: while the engine computes, work accumulates, and the next batch
 * takes what is there. Models take turns, one step each; among the versions of a classifier, the
 * request that has waited longest is next. Versions come and go while others run. */
#pragma once

#include "serve/classification_executor.h"
#include "serve/completion_executor.h"

#include <stdbool.h>
#include <stdint.h>

struct sv_scheduler;

struct sv_scheduler_options {
    struct sv_completion_options complete;
    struct sv_classification_options classify;
    void (*heartbeat)(
        void *
            context); /* called about twice a second while the thread makes progress; may be NULL */
    void *context;
};

/* Starts the thread, with nothing to run. */
struct sv_scheduler *sv_scheduler_create(const struct sv_scheduler_options *options,
                                         struct sv_metrics *metrics, struct sl_err *err)
    SL_MUST_CHECK;
/* Fails all remaining work and stops the thread. Versions may still be detached. NULL is fine. */
void sv_scheduler_stop(struct sv_scheduler *scheduler);
/* Stops it and frees. No version may be attached. NULL is fine. */
void sv_scheduler_destroy(struct sv_scheduler *scheduler);

/* What the registry needs of it: makes, warms and runs the executor of each version that is
 * loaded. */
struct sv_model_host sv_scheduler_host(struct sv_scheduler *scheduler);

/* See admission.h for these. After admit, call settle if `tokens` were an upper bound, and then
 * exactly one of submit_..., or withdraw; withdraw alone gives back what was reserved. */
bool sv_scheduler_is_open(struct sv_scheduler *scheduler, const struct sv_model_ref *ref,
                          struct sv_error *error);
bool sv_scheduler_admit(struct sv_scheduler *scheduler, const struct sv_model_ref *ref, int items,
                        int64_t tokens, int64_t *reserved, struct sv_error *error);
bool sv_scheduler_settle(struct sv_scheduler *scheduler, const struct sv_model_ref *ref, int items,
                         int64_t reserved, int64_t tokens, struct sv_error *error);
void sv_scheduler_withdraw(struct sv_scheduler *scheduler, const struct sv_model_ref *ref,
                           int items, int64_t tokens);
void sv_scheduler_submit_completion(struct sv_scheduler *scheduler, const struct sv_model_ref *ref,
                                    struct sv_completion_task *task); /* to a completion model */
void sv_scheduler_submit_classification(struct sv_scheduler *scheduler,
                                        const struct sv_model_ref *ref,
                                        struct sv_classification_task *task); /* to a classifier */
/* Of a classifier, so far; by_size is to be freed. False: no memory. */
bool sv_scheduler_stats(struct sv_scheduler *scheduler, const struct sv_model_ref *ref,
                        struct sv_classification_stats *stats) SL_MUST_CHECK;

void sv_scheduler_wake(struct sv_scheduler *scheduler);  /* a stream can take text again */
void sv_scheduler_sweep(struct sv_scheduler *scheduler); /* a request was cancelled */
void sv_scheduler_fail_all(struct sv_scheduler *scheduler,
                           const struct sv_error *error); /* for good */

int64_t sv_scheduler_pending(struct sv_scheduler *scheduler); /* texts admitted and not ended */
/* False: there is work but no progress for SV_HEARTBEAT_SECONDS_MAX. Never blocks. */
bool sv_scheduler_is_alive(const struct sv_scheduler *scheduler);
