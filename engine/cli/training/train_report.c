/* train_report.c - the HTML page of a training with an architecture. */
#include "cli/training/train_report.h"

#include "cli/command.h"
#include "cli/evaluation/label_evaluation.h"
#include "cli/report/report_evaluation.h"
#include "cli/training/dataset_summary.h"
#include "model/model.h"

#include <stdio.h>

/* What a report needs. */
struct parts {
    struct sl_model *model;
    struct label_evaluation evaluation;
    struct dataset_facts facts;
};

static bool write(const struct parts *p, const struct train_report *r, struct sl_err *err)
{
    char how[160], what[64];
    (void)snprintf(how, sizeof how,
                   "On %d validation texts, which were not trained on, as the model is served.",
                   p->evaluation.predictions.texts);
    (void)snprintf(what, sizeof what, "%s model, trained on", p->model->arch->name);
    const struct report_evaluation report = {.title = report_title(r->title, r->model),
                                             .what = what,
                                             .how = how,
                                             .log = r->log,
                                             .facts = &p->facts,
                                             .of = p->model,
                                             .evaluation = &p->evaluation};
    return report_evaluation_write(&report, r->directory, err);
}

bool train_report_write(struct sl_engine *engine, const struct sl_trainer *trainer,
                        const struct train_report *report, struct sl_err *err)
{
    const struct sl_dataset *validation = &sl_trainer_dataloader(trainer)->validation;
    struct parts p = {.model = command_model(engine, report->model, err)};
    bool ok = p.model && label_evaluation_open(&p.evaluation, p.model, validation, NULL, err) &&
              dataset_summary_open(&p.facts, trainer, err) && write(&p, report, err);
    dataset_facts_close(&p.facts);
    label_evaluation_close(&p.evaluation);
    sl_model_close(p.model);
    return ok;
}
