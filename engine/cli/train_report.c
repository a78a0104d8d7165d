/* train_report.c - see train_report.h. */
#include "cli/train_report.h"

#include "cli/command.h"
#include "cli/dataset_summary.h"
#include "cli/report_evaluation.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>

/* What a report needs. */
struct parts {
    struct sl_model *model;
    struct sl_predicted_label *predicted;
    struct sl_evaluation evaluation;
    struct label_predictions predictions;
    struct label_metrics *labels;
    struct prediction_quality quality;
    struct dataset_facts facts;
};

static bool evaluate(struct parts *p, const struct sl_dataset *set, struct sl_err *err)
{
    const int classes = p->model->config.classes;
    p->predicted = calloc((size_t)set->count, sizeof *p->predicted);
    if (!p->predicted)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %d texts", set->count);
    if (!sl_evaluate_labelled(p->model, set, NULL, &p->evaluation, p->predicted, err) ||
        !label_predictions_of_evaluation(&p->predictions, set, p->predicted, classes, err))
        return false;
    p->labels = label_metrics_count(&p->predictions, err);
    if (p->labels)
        prediction_quality_measure(&p->quality, &p->predictions, p->labels);
    return p->labels;
}

static bool write(const struct parts *p, const char *model, const char *log, const char *directory,
                  struct sl_err *err)
{
    char how[160], what[64];
    (void)snprintf(how, sizeof how,
                   "On %d validation texts, which were not trained on, as the model is served.",
                   p->predictions.count);
    (void)snprintf(what, sizeof what, "%s model, trained on", p->model->arch->name);
    const struct report_evaluation report = {.model = model,
                                             .what = what,
                                             .how = how,
                                             .log = log,
                                             .evaluation = &p->evaluation,
                                             .facts = &p->facts,
                                             .predictions = {.model = p->model,
                                                             .predictions = &p->predictions,
                                                             .labels = p->labels,
                                                             .quality = &p->quality,
                                                             .loss = p->evaluation.loss}};
    return report_evaluation_write(&report, directory, err);
}

bool train_report_write(struct sl_engine *engine, const struct sl_trainer *trainer,
                        const char *model, const char *log, const char *directory,
                        struct sl_err *err)
{
    struct parts p = {.model = command_model(engine, model, err)};
    bool ok = p.model && evaluate(&p, &sl_trainer_dataloader(trainer)->validation, err) &&
              dataset_summary_open(&p.facts, trainer, err) && write(&p, model, log, directory, err);
    dataset_facts_close(&p.facts);
    label_predictions_close(&p.predictions);
    free(p.labels);
    free(p.predicted);
    sl_model_close(p.model);
    return ok;
}
