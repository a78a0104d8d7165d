/* classification_executor.h - the executor of a classifier: one ragged batch after another.
 *
 * A task is what one request wants; its items are its texts. A task is admitted whole or not at
 * all, and its items may go through several batches, first come first served. */
#pragma once

#include "serve/executor.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* One text, and what came of it. The ids and the room for logits are the task's owner's. */
struct sv_classification_item {
    const int32_t *tokens;
    int count;
    float *logits; /* a float for each class of the model */
    int64_t layers_used, layers_full;
    bool finite; /* numbers that are not are no answer */
};

struct sv_classification_task {
    struct sv_link link;        /* in whichever queue it is */
    struct sv_request *request; /* a reference from push to the end */
    struct sv_classification_item *items;
    int count;
    int64_t deadline_ns;
    int64_t encoded_ns; /* how long its texts took to become tokens */

    /* The dispatcher's; to be read once `finished` is true. */
    int64_t queued_ns, started_ns, finished_ns;
    struct sv_error error;
    int taken;     /* items that are in a batch, or were */
    int remaining; /* items not at their end */
    atomic_bool finished;
};

struct sv_classification_options {
    int max_batch_size,
        max_batch_tokens; /* of one batch, at most; rows grow to the model's context */
    struct sv_executor_limits bounds;
};

extern const struct sv_executor_ops sv_classification_executor_ops;

/* The rows that a batch of a model may have when the option says so. */
int sv_classify_batch_tokens(int64_t configured, int context);
/* The texts that a request may have, by their labels alone. */
int sv_classify_batch_max(int classes);

/* Takes a reference to the model, which must be a classifier. */
struct sv_executor *sv_classification_executor_create(
    struct sv_model_ref *ref, const struct sv_classification_options *options,
    struct sv_metrics *metrics, struct sl_err *err) SL_MUST_CHECK;
/* Any thread: what admission has let in. */
void sv_classification_executor_push(struct sv_executor *executor,
                                     struct sv_classification_task *task);

/* ---- what happened so far, as the protocol's statistics want it ------------------------------ */

struct sv_duration {
    int64_t count, ns;
};

struct sv_classification_stats {
    int64_t last_ms;                  /* of the last batch, since 1970 */
    int64_t items, batches;           /* texts with numbers that are finite; batches that ran */
    struct sv_duration success, fail; /* requests, from their arrival */
    struct sv_duration queue, encode, compute; /* of those that succeeded */
    struct sv_duration *by_size;               /* batches of 0 to size_most texts */
    int size_max;
};

/* Any thread. by_size is to be freed. False: no memory. */
bool sv_classification_executor_stats(struct sv_executor *executor,
                                      struct sv_classification_stats *stats) SL_MUST_CHECK;
