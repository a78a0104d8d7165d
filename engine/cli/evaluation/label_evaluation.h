/* label_evaluation.h - a classifier on labelled texts: its loss and accuracy, each prediction, and
 * how good these are. */
#pragma once

#include "cli/evaluation/prediction_quality.h"

struct label_evaluation {
    struct sl_evaluation e;
    struct label_predictions predictions;
    struct label_metrics *labels;
    struct prediction_quality quality;
};

/* The set must be encoded, with the model's labels, and outlive the evaluation. policy: NULL: the
 * model's own. */
bool label_evaluation_open(struct label_evaluation *evaluation, const struct sl_model *model,
                           const struct sl_dataset *set, const struct sl_policy *policy,
                           struct sl_err *err) SL_MUST_CHECK;
/* What follows from the predictions, which are there. */
bool label_evaluation_measure(struct label_evaluation *evaluation, struct sl_err *err)
    SL_MUST_CHECK;
void label_evaluation_close(struct label_evaluation *evaluation); /* a zeroed one is fine */
