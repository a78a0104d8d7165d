/* evaluate.h - how well a model predicts a text, and how much of itself it used: every token after
 * the first exactly once, in windows that do not overlap, on the code path that serves. */
#pragma once

#include "data/windows.h"
#include "model/net.h"

struct sl_evaluation {
    double loss;        /* mean -log p, nats per token */
    int64_t tokens;     /* predicted */
    double gate_mean;   /* soft gates: alpha; NAN without gates */
    double active_mean; /* rows that gates or exits let through */
    double layers_mean; /* blocks that ran per token, of depth */
    double seconds;
};

/* Over the whole part, under `policy` (NULL: the model's own). */
bool sl_evaluate(const struct sl_model *model, struct sl_span part, const struct sl_policy *policy,
                 struct sl_evaluation *out, struct sl_err *err) SL_MUST_CHECK;
