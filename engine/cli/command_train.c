/* command_train.c - `sluice train`: trains a model and publishes it. */
#include "base/file.h"
#include "cli/model_path.h"
#include "cli/report/report_evaluation.h"
#include "cli/report/report_sections.h"
#include "cli/training/dataset_summary.h"
#include "cli/training/output_claim.h"
#include "cli/training/train_arguments.h"
#include "cli/training/train_automatic.h"
#include "cli/training/train_automatic_options.h"
#include "cli/training/training_log.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
    (void)number;
    stopped = 1;
}

static void watch_signals(void)
{
    /* SA_RESTART: otherwise a signal could cut off a line of JSON that waits for a slow reader. */
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

/* A full disk and a reader that went away are errors of write(), and do not end the training. */
static void ignore_write_signals(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
}

/* The context of the trainer's callbacks. */
struct watch {
    const struct train_arguments *a;
    struct output_claim *claim; /* of a->out, if that is set */
    struct sl_trainer *trainer;
    struct training_log *training_log;
    struct sl_err err; /* why publishing failed, if it did */
    bool failed;
};

static bool publish(struct watch *w, struct sl_err *err)
{
    char *provenance = training_log_provenance(w->trainer, err);
    if (!provenance)
        return false;
    output_claim_pause(w->claim);
    bool ok = sl_trainer_publish(w->trainer, w->a->out, w->a->bf16, provenance, err) &&
              (sl_trainer_finished(w->trainer) || output_claim_go_on(w->claim, err));
    free(provenance);
    return ok;
}

static void on_event(void *context, const struct sl_train_progress *s)
{
    struct watch *w = context;
    training_log_event(w->training_log, s);
    bool best = s->event == SL_TRAIN_EVALUATED && s->best_step == s->step;
    if (best && w->a->best && w->a->out && !w->failed)
        w->failed = !publish(w, &w->err);
}

static bool should_stop(void *context)
{
    const struct watch *w = context;
    return stopped || w->failed;
}

static bool watch_run(struct watch *w, struct sl_err *err)
{
    struct sl_train_callbacks watch = {w, on_event, should_stop};
    if (!sl_trainer_run(w->trainer, &watch, err))
        return false;
    if (w->failed)
        *err = w->err;
    bool last = w->a->out && !w->a->best && sl_trainer_finished(w->trainer);
    return !w->failed && (!last || publish(w, err));
}

/* The directory with the run's model, perhaps published by an earlier process; NULL: none. */
static const char *published(const struct train_arguments *a, const struct sl_trainer *trainer)
{
    bool any = sl_trainer_finished(trainer);
    if (a->out && a->best)
        any = sl_trainer_progress(trainer)->best_step > 0 && model_path_check_input(a->out, NULL);
    return any ? a->out : NULL;
}

/* A run that is resumed may have published its model before. */
static bool check_output(const struct train_arguments *a, struct sl_err *err)
{
    if (!model_path_check_output(a->out, a->run, err))
        return false;
    return a->resume || a->overwrite ||
           model_path_check_new(a->out, "or replace it with --overwrite", err);
}

static bool print_report(const struct train_arguments *a, const char *directory,
                         const struct sl_model *m, const struct label_evaluation *evaluation,
                         const struct dataset_facts *facts, struct sl_err *err)
{
    char how[160], what[64], log[SL_PATH_MAX];
    (void)snprintf(how, sizeof how,
                   "On %d validation texts, which were not trained on, as the model is served.",
                   evaluation->predictions.texts);
    (void)snprintf(what, sizeof what, "%s model, trained on", m->arch->name);
    const struct report_evaluation report = {.title = report_title(a->report_title, directory),
                                             .what = what,
                                             .how = how,
                                             .log = log,
                                             .facts = facts,
                                             .of = m,
                                             .evaluation = evaluation};
    return sl_path_join(log, a->run, "log.jsonl", err) &&
           report_evaluation_write(&report, a->report, err);
}

/* Of a run that has finished: evaluates the published model on the validation texts, which were
 * kept, as it is served. */
static bool write_report(struct sl_engine *engine, const struct train_arguments *a,
                         const struct sl_trainer *trainer, struct sl_err *err)
{
    const char *directory = published(a, trainer);
    if (!a->report || !directory || !sl_trainer_finished(trainer))
        return true;
    struct label_evaluation evaluation = {0};
    struct dataset_facts facts = {0};
    struct sl_model *m = command_model(engine, directory, err);
    bool ok = m &&
              label_evaluation_open(&evaluation, m, &sl_trainer_dataloader(trainer)->validation,
                                    NULL, err) &&
              dataset_summary_open(&facts, trainer, err) &&
              print_report(a, directory, m, &evaluation, &facts, err);
    dataset_facts_close(&facts);
    label_evaluation_close(&evaluation);
    sl_model_close(m);
    return ok;
}

static bool run_trainer(struct sl_engine *engine, struct train_arguments *a,
                        struct output_claim *claim, struct sl_err *err)
{
    struct sl_trainer *trainer = sl_trainer_create(engine, &a->training, err);
    if (!trainer)
        return false;
    struct training_log *training_log =
        training_log_open(trainer, a->training.run_dir, a->json, err);
    bool ok = training_log != NULL;
    if (ok) {
        struct watch w = {.a = a, .claim = claim, .trainer = trainer, .training_log = training_log};
        ok = watch_run(&w, err) && write_report(engine, a, trainer, err);
        training_log_close(training_log, ok ? NULL : err, published(a, trainer));
    }
    sl_trainer_destroy(trainer);
    return ok;
}

/* Another process may have published between the first check and the claim. */
static bool train(struct sl_engine *engine, struct train_arguments *a, struct sl_err *err)
{
    struct output_claim claim = {0};
    bool ok = (!a->out || (check_output(a, err) && output_claim_take(&claim, a->out, err) &&
                           check_output(a, err))) &&
              run_trainer(engine, a, &claim, err);
    output_claim_release(&claim);
    return ok;
}

/* Rejects hyper-parameters that have no effect together. */
static bool check_numbers(const struct train_arguments *a, struct sl_err *err)
{
    const struct sl_data_sources *s = &a->training.sources;
    const struct sl_hyperparameters *r = &a->training.hyperparameters;
    if (s->data && s->prompt_separator)
        return sl_fail(err, SL_BAD_INPUT,
                       "--prompt-separator has no effect on --data; it needs --corpus");
    if (s->prompt_separator && (r->mask_fraction > 0.0f || r->replace_fraction > 0.0f))
        return sl_fail(err, SL_BAD_INPUT, "--prompt-separator has no effect on pretraining");
    if (s->data && r->train_fraction > 0.0f)
        return sl_fail(err, SL_BAD_INPUT,
                       "--train-fraction has no effect on --data; set --validation-fraction");
    if (r->steps > 0 && r->epochs > 0)
        return sl_fail(err, SL_BAD_INPUT, "give --steps or --epochs, not both");
    return !s->validation || !(r->validation_fraction > 0.0f) ||
           sl_fail(err, SL_BAD_INPUT, "give --validation-fraction or --validation, not both");
}

/* Rejects options that would have no effect. */
static bool check_sources(const struct train_arguments *a, struct sl_err *err)
{
    const struct sl_data_sources *s = &a->training.sources;
    enum sl_task task = sl_dataloader_task(s, &a->training.hyperparameters);
    const char *labelled = sl_option_first_given(
        (const struct sl_option_given[]){{"validation", s->validation},
                                         {"labels", s->labels},
                                         {"label", s->columns.label},
                                         {"label-separator", s->columns.label_separator},
                                         {"text", s->columns.text},
                                         {"format", s->columns.format},
                                         {"truncate", a->truncate},
                                         {"report", a->report},
                                         {0}});
    const char *vocabulary = sl_option_first_given(
        (const struct sl_option_given[]){{"tokenizer", s->tokenizer},
                                         {"vocab-file", s->vocabulary},
                                         {"vocab-size", s->vocabulary_size > 0},
                                         {"cased", s->cased},
                                         {0}});
    if (!sl_arch_check_task(a->training.arch, task, err))
        return false;
    if (!s->data && labelled)
        return fail_needs_data(labelled, err);
    if (!sl_hyperparameters_check_task(&a->training.hyperparameters, task, err))
        return false;
    if (a->training.teacher && !model_path_check_input(a->training.teacher, err))
        return sl_wrap(err, "--teacher");
    if (a->training.init_from && vocabulary)
        return sl_fail(err, SL_BAD_INPUT,
                       "--%s has no effect with --init-from, which takes the model's vocabulary",
                       vocabulary);
    return check_numbers(a, err);
}

static bool run_train(int count, char **words, struct sl_err *err)
{
    struct train_arguments a = {0};
    ignore_write_signals();
    if (train_is_automatic(count, words))
        return train_automatic(count, words, err);
    if (!train_arguments_read(&a, train_rows, count, words, err))
        return false;
    a.training.sources.corpus = a.corpus;
    if (!command_check_source(a.corpus, a.training.sources.data, err) || !check_sources(&a, err) ||
        !command_truncation(a.truncate, &a.training.sources.truncation, err))
        return false;
    if (!a.run)
        return sl_fail(
            err, SL_BAD_INPUT,
            "missing --run-dir DIR: a directory for the progress of the run and its log");
    if ((a.best || a.report) && !a.out)
        return sl_fail(err, SL_BAD_INPUT, "missing --output DIR: %s",
                       a.best ? "--save-best publishes to it" : "--report is about its model");
    if (!report_prepare(a.report, a.report_title, err))
        return false;
    a.training.sources.keep_validation = a.report != NULL;
    sl_train_options_complete(&a.training);
    a.training.run_dir = a.run;
    a.training.resume = a.resume;
    struct sl_engine *engine = command_training_engine(a.threads, a.isa, a.precision, err);
    if (!engine)
        return false;
    watch_signals();
    bool ok = train(engine, &a, err);
    sl_engine_destroy(engine);
    return ok;
}

static void print_help(const char *architecture)
{
    train_help(&command_train, architecture);
}

const struct command command_train = {
    .name = "train",
    .operands = "ARCHITECTURE (--corpus | --data) FILE --run-dir DIR\n--data FILE --output DIR",
    .help = "train a language model on a text, or a classifier on labelled texts",
    .run = run_train,
    .print_help = print_help,
    .check_operand = train_check_architecture,
};
