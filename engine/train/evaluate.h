/* evaluate.h - how well a model does, and how much of itself it used, under a policy of serving:
 * every token of a text after the first exactly once, in windows that do not overlap, each computed
 * at once (from a cache the numbers are the same to rounding); or every labelled text, on the very
 * path that serves. */
#pragma once

#include "data/dataset.h"
#include "data/windows.h"
#include "model/model.h"

struct sl_evaluation {
    double loss;        /* mean -log p, nats per token or per text */
    double accuracy;    /* share of texts whose most likely class is theirs; NAN for a text */
    int64_t examples;   /* tokens predicted, or texts classified */
    int64_t tokens;     /* read */
    double gate_mean;   /* soft gates: alpha; NAN without gates */
    double active_mean; /* rows that gates or exits let through */
    double layers_mean; /* blocks that ran per token, of depth */
    /* Steps until a token halted; NAN where nothing halts. Of all tokens only under a dense policy:
     * else a text ends with its first token, and both are about those. */
    double halting_depth, halting_depth_first;
    double seconds;
};

/* Sets what follows from the statistics of all passes, over so many texts. */
void sl_evaluation_set_means(struct sl_evaluation *e, const struct sl_forward_stats *sum,
                             int64_t texts);

/* Both fail with SL_NOT_FINITE where the model's numbers are not: a mean of those says nothing. */

/* Over the whole part, under `policy` (NULL: the model's own). */
bool sl_evaluate(const struct sl_model *model, struct sl_span part, const struct sl_policy *policy,
                 struct sl_evaluation *out, struct sl_err *err) SL_MUST_CHECK;

/* Over a whole encoded set, whose labels are the model's. taken_for: room for the label that each
 * text is taken for; NULL: not asked. */
bool sl_evaluate_labelled(const struct sl_model *model, const struct sl_dataset *set,
                          const struct sl_policy *policy, struct sl_evaluation *out,
                          int32_t *taken_for, struct sl_err *err) SL_MUST_CHECK;
