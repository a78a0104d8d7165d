/* evaluate.h - how well a model does, and how much of itself it used, on the code path that serves:
 * every token of a text after the first exactly once, in windows that do not overlap; or every
 * labelled text. */
#pragma once

#include "data/dataset.h"
#include "data/windows.h"
#include "model/net.h"

struct sl_evaluation {
    double loss;        /* mean -log p, nats per token or per text */
    double accuracy;    /* share of texts whose most likely class is theirs; NAN for a text */
    int64_t examples;   /* tokens predicted, or texts classified */
    int64_t tokens;     /* read */
    double gate_mean;   /* soft gates: alpha; NAN without gates, or for labelled texts */
    double active_mean; /* rows that gates or exits let through */
    double layers_mean; /* blocks that ran per token, of depth */
    double seconds;
};

/* Over the whole part, under `policy` (NULL: the model's own). */
bool sl_evaluate(const struct sl_model *model, struct sl_span part, const struct sl_policy *policy,
                 struct sl_evaluation *out, struct sl_err *err) SL_MUST_CHECK;

/* Over a whole encoded set, whose labels are the model's. */
bool sl_evaluate_labelled(const struct sl_model *model, const struct sl_dataset *set,
                          const struct sl_policy *policy, struct sl_evaluation *out,
                          struct sl_err *err) SL_MUST_CHECK;
