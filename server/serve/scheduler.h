/* scheduler.h - the dispatcher: one thread that runs what was admitted, batch after batch.
 *
 * There is no window: while the engine computes, work accumulates; when it is free it takes what is
 * there. Models take turns, a step each: some text is written, or one batch is classified. */
#pragma once

#include "serve/classification_executor.h"
#include "serve/completion_executor.h"

#include <stdbool.h>
#include <stdint.h>

struct sv_batcher;

struct sv_batcher_options {
    struct sv_complete_options complete;
    struct sv_classify_options classify;
    void (*beat)(void *context); /* called by the dispatcher, about twice a second while it works;
                                    may be NULL */
    void *context;
};

/* Makes a lane for every model of the registry and starts the dispatcher. */
struct sv_batcher *sv_batcher_create(const struct sv_batcher_options *options,
                                     struct sv_registry *registry, struct sv_metrics *metrics,
                                     struct sl_err *err) SL_MUST_CHECK;
/* Ends what is left, stops the dispatcher, frees. NULL is fine. */
void sv_batcher_destroy(struct sv_batcher *batcher);

/* Whether so many texts have room in the model's lane now; nothing is taken (admission.h). */
bool sv_batcher_has_room(struct sv_batcher *batcher, const struct sv_served *served, int items,
                         struct sv_problem *problem);
/* Makes room in the model's lane; then exactly one submit, or dismiss with the same numbers. */
bool sv_batcher_admit(struct sv_batcher *batcher, const struct sv_served *served, int items,
                      int64_t tokens, struct sv_problem *problem);
void sv_batcher_dismiss(struct sv_batcher *batcher, const struct sv_served *served, int items,
                        int64_t tokens);
void sv_batcher_submit(struct sv_batcher *batcher, const struct sv_served *served,
                       struct sv_task *task); /* to a model that completes */
void sv_batcher_classify(struct sv_batcher *batcher, const struct sv_served *served,
                         struct sv_classify_task *task); /* to a classifier */
/* Of a classifier, so far; by_size is to be freed. False: no memory. */
bool sv_batcher_stats(struct sv_batcher *batcher, const struct sv_served *served,
                      struct sv_classify_stats *stats) SL_MUST_CHECK;

void sv_batcher_poke(struct sv_batcher *batcher);  /* a stream has room again */
void sv_batcher_sweep(struct sv_batcher *batcher); /* some call was cancelled */
void sv_batcher_end_all(struct sv_batcher *batcher,
                        const struct sv_problem *problem); /* for good */

int64_t sv_batcher_items(struct sv_batcher *batcher); /* admitted and not at their end */
/* False: there is work and the dispatcher has not moved for long. Never waits. */
bool sv_batcher_is_alive(const struct sv_batcher *batcher);
