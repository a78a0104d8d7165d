/* label_evaluation.c - evaluates a classifier on labelled texts. */
#include "cli/evaluation/label_evaluation.h"

#include <stdlib.h>

bool label_evaluation_open(struct label_evaluation *evaluation, const struct sl_model *model,
                           const struct sl_dataset *set, const struct sl_policy *policy,
                           struct sl_err *err)
{
    *evaluation = (struct label_evaluation){0};
    if (label_predictions_of_model(&evaluation->predictions, model, set, policy, &evaluation->e,
                                   err) &&
        label_evaluation_measure(evaluation, err))
        return true;
    label_evaluation_close(evaluation);
    return false;
}

bool label_evaluation_measure(struct label_evaluation *evaluation, struct sl_err *err)
{
    evaluation->labels = label_metrics_count(&evaluation->predictions, err);
    if (evaluation->labels)
        prediction_quality_measure(&evaluation->quality, &evaluation->predictions,
                                   evaluation->labels);
    return evaluation->labels;
}

void label_evaluation_close(struct label_evaluation *evaluation)
{
    label_predictions_close(&evaluation->predictions);
    free(evaluation->labels);
    evaluation->labels = NULL;
}
