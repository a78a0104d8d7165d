/* label_evaluation.c - see label_evaluation.h. */
#include "cli/label_evaluation.h"

#include <stdlib.h>

bool label_evaluation_open(struct label_evaluation *evaluation, const struct sl_model *model,
                           const struct sl_dataset *set, const struct sl_policy *policy,
                           struct sl_err *err)
{
    struct sl_predicted_label *predicted = calloc((size_t)set->count, sizeof *predicted);
    *evaluation = (struct label_evaluation){0};
    bool ok = (predicted || sl_fail(err, SL_NO_MEMORY, "no memory for %d texts", set->count)) &&
              sl_evaluate_labelled(model, set, policy, &evaluation->e, predicted, err) &&
              label_predictions_of_evaluation(&evaluation->predictions, set, predicted,
                                              model->config.classes, err);
    free(predicted);
    evaluation->labels = ok ? label_metrics_count(&evaluation->predictions, err) : NULL;
    if (evaluation->labels)
        prediction_quality_measure(&evaluation->quality, &evaluation->predictions,
                                   evaluation->labels);
    else
        label_evaluation_close(evaluation);
    return evaluation->labels;
}

void label_evaluation_close(struct label_evaluation *evaluation)
{
    label_predictions_close(&evaluation->predictions);
    free(evaluation->labels);
    evaluation->labels = NULL;
}
