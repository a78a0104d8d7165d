/* classification_executor.h - the executor of a classifier, or of a model that gives embeddings:
 * one ragged batch after another.
 *
 * A task is a request; its items are the texts. A task is admitted whole or not at all, and its
 * items may go through several batches, first come first served. */
#pragma once

#include "serve/executor.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* One text and its result. The task's owner owns the tokens and the logits. */
struct sv_classification_item {
    const int32_t *tokens;
    const int32_t *types; /* of the tokens of a pair; else NULL */
    int count;
    int rows;     /* of the result */
    int64_t cost; /* tokens that it was admitted with */

    int text; /* its index in the request, or that of the text that it helps to explain */
    float *contributions; /* one float per token, to explain the result exactly; or NULL */

    union {
        float *logits;    /* rows of one float per class */
        float *embedding; /* or per dimension */
    };

    int64_t layers_used, layers_full;
    /* As struct sl_classifier_item has them; NULL: not requested. The task's owner owns them. */
    int32_t *token_layers;
    float *gates;
    bool finite; /* no NaN or infinity in the result */
};

struct sv_classification_task {
    struct sv_link link;        /* in whichever queue it is */
    struct sv_request *request; /* a reference from push to the end */
    struct sv_classification_item *items;
    int count;
    int operating_point;   /* of all items; 0: as the model says */
    enum sl_output output; /* of all items */
    bool both_parts;       /* as struct sl_classifier_item has it, of all items */
    int64_t deadline_ns;
    int64_t encoded_ns; /* time spent tokenizing */

    /* Written by the scheduler; readable once `finished` is true. */
    int64_t queued_ns, started_ns, finished_ns;
    struct sv_error error;
    int taken;     /* items that are or were in a batch */
    int remaining; /* items that have not ended */
    atomic_bool finished;
};

struct sv_classification_options {
    int max_batch_size, max_batch_tokens; /* of one batch; at least the context's length */
    struct sv_executor_limits bounds;
};

extern const struct sv_executor_ops sv_classification_executor_ops;

/* The token limit of a model's batch for a value of the option. */
int sv_classify_batch_tokens(int64_t configured, int context);
/* Numbers of a row of the model's main output; 0: it has none. */
int sv_classify_outputs(const struct sl_model_info *info);
/* How many rows a request may have, given that. */
int sv_classify_batch_max(int outputs, bool in_slices);

/* The version owns it, and must be one of a model for which sv_classify_outputs is not 0. */
struct sv_executor *sv_classification_executor_create(
    struct sv_model_ref *ref, const struct sv_classification_options *options,
    struct sv_metrics *metrics, struct sl_err *err) SL_MUST_CHECK;
/* Any thread. The task must be admitted. */
void sv_classification_executor_push(struct sv_executor *executor,
                                     struct sv_classification_task *task);

/* ---- what happened so far, as the protocol's statistics want it ------------------------------ */

struct sv_duration {
    int64_t count, ns;
};

struct sv_classification_stats {
    int64_t last_ms;                           /* of the last batch, since 1970 */
    int64_t items, batches;                    /* texts with a result; batches run */
    struct sv_duration success, fail;          /* requests, from arrival to end */
    struct sv_duration queue, encode, compute; /* of those that succeeded */
    struct sv_duration *by_size;               /* batches of 0 to size_max texts */
    int size_max;
};

/* Any thread. by_size is to be freed. False: no memory. */
bool sv_classification_executor_stats(struct sv_executor *executor,
                                      struct sv_classification_stats *stats) SL_MUST_CHECK;
