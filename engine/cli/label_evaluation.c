/* label_evaluation.c - see label_evaluation.h. */
#include "cli/label_evaluation.h"

#include <stdlib.h>

bool label_evaluation_open(struct label_evaluation *v, const struct sl_model *model,
                           const struct sl_dataset *set, const struct sl_policy *policy,
                           struct sl_err *err)
{
    struct sl_predicted_label *predicted = calloc((size_t)set->count, sizeof *predicted);
    *v = (struct label_evaluation){0};
    bool ok = (predicted || sl_fail(err, SL_NO_MEMORY, "no memory for %d texts", set->count)) &&
              sl_evaluate_labelled(model, set, policy, &v->e, predicted, err) &&
              label_predictions_of_evaluation(&v->predictions, set, predicted,
                                              model->config.classes, err);
    free(predicted);
    v->labels = ok ? label_metrics_count(&v->predictions, err) : NULL;
    if (v->labels)
        prediction_quality_measure(&v->quality, &v->predictions, v->labels);
    else
        label_evaluation_close(v);
    return v->labels;
}

void label_evaluation_close(struct label_evaluation *v)
{
    label_predictions_close(&v->predictions);
    free(v->labels);
    v->labels = NULL;
}
