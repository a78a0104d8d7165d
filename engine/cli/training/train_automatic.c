/* train_automatic.c - `sluice train` without an architecture. */
#include "cli/training/train_automatic.h"

#include "cli/command.h"
#include "cli/model_path.h"
#include "cli/report/report_automatic.h"
#include "cli/report/report_sections.h"
#include "cli/training/automatic_log.h"
#include "cli/training/dataset_summary.h"
#include "cli/training/fine_tuning_progress.h"
#include "cli/training/output_claim.h"
#include "cli/training/store_encoder.h"
#include "cli/training/train_arguments.h"
#include "cli/training/train_automatic_options.h"
#include "train/int8_loss.h"
#include "tuning/encoder_trials.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A model that came with this program. */
static const char *find_bundled(const char *name, char path[SL_PATH_MAX])
{
    char models[SL_PATH_MAX];
    for (int i = 0; sl_installed_folder("models", i, models); i++)
        if (sl_path_join(path, models, name, NULL) && model_path_check_input(path, NULL))
            return path;
    return NULL;
}

/* ---- the encoder ----------------------------------------------------------------------------- */

struct encoder_choice {
    const char *directory; /* NULL: none */
    bool is_bundled;
    char path[SL_PATH_MAX]; /* room for the directory */
};

/* For those who name none. */
static bool choose_standard_encoder(struct encoder_choice *e, struct sl_err *err)
{
    // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread sets it
    const char *named = getenv("SLUICE_ENCODER");
    if (!named) {
        e->directory = find_bundled("base/2", e->path);
        e->is_bundled = e->directory != NULL;
        return true;
    }
    e->directory = named[0] ? named : NULL;
    return !e->directory || sl_encoder_trials_can_use(named) ||
           sl_fail(err, SL_BAD_INPUT,
                   "the environment variable SLUICE_ENCODER names '%s', which is no encoder: "
                   "expected the directory of one, or nothing",
                   named);
}

/* Whether the vocabulary is to be made from the texts. */
static bool learns_vocabulary(const struct train_automatic_options *a)
{
    return a->sources.tokenizer || a->sources.vocabulary_size || a->sources.cased;
}

/* The one that --init-from names, one in the store, or the standard one. */
static bool choose_encoder(struct encoder_choice *e, const struct train_automatic_options *a,
                           struct sl_err *err)
{
    *e = (struct encoder_choice){0};
    if (a->quick)
        return true;
    if (a->base) {
        e->directory = sl_encoder_trials_can_use(a->base) ? a->base : NULL;
        return true;
    }
    e->directory = store_encoder_find(a->out, e->path);
    return e->directory || learns_vocabulary(a) || choose_standard_encoder(e, err);
}

/* ---- the run --------------------------------------------------------------------------------- */

static bool is_free(const struct train_automatic_options *a, struct sl_err *err)
{
    return a->overwrite || model_path_check_new(a->out, "or replace it with --overwrite", err);
}

static bool check(const struct train_automatic_options *a, struct sl_err *err)
{
    if (!a->sources.data)
        return sl_fail(err, SL_BAD_INPUT, "missing --data FILE: labelled texts");
    if (!a->out)
        return sl_fail(
            err, SL_BAD_INPUT,
            "missing --output DIR: where to publish the model, <store>/<model>/<version>");
    if (a->base && (a->sources.tokenizer || a->sources.vocabulary_size || a->sources.cased))
        return sl_fail(err, SL_BAD_INPUT,
                       "--tokenizer, --vocab-size and --cased have no effect with --init-from: the "
                       "vocabulary is that of the model");
    return (!a->base || model_path_check_input(a->base, err)) &&
           model_path_check_output(a->out, a->run, err) && is_free(a, err) &&
           report_prepare(a->report, a->report_title, err);
}

/* Everything that a run holds. */
struct run {
    const struct train_automatic_options *a;
    struct sl_linear_training l;
    struct sl_encoder_trials encoder; /* with one */
    struct fine_tuning_progress progress;
    struct sl_dataset validation; /* empty without --validation */
    struct dataset_facts facts;
    struct sl_evaluation evaluation; /* of the validation texts */
    struct automatic_log log;
    struct output_claim claim;
    bool is_published;
};

static bool evaluate_copy(const void *context, const struct sl_model *copy,
                          const struct sl_policy *policy, struct sl_evaluation *out,
                          struct sl_err *err)
{
    return sl_evaluate_labelled(copy, context, policy, out, NULL, err);
}

/* Texts from all parts of a set, since a file may be sorted; their tokens and names of labels are
 * borrowed. To be released, also on failure. */
static bool take_some(struct sl_dataset *some, const struct sl_dataset *all, struct sl_err *err)
{
    static const int most = 1000;
    const int step = (all->count + most - 1) / most;
    *some = *all;
    some->count = 0;
    some->label_lists = (struct sl_label_lists){0};
    some->examples = calloc((size_t)most, sizeof *some->examples);
    if (!some->examples)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %d texts", most);
    for (int i = 0; i < all->count; i += step) {
        const struct sl_label_list labels = sl_label_list(&all->label_lists, i);
        if (!sl_label_lists_add(&some->label_lists, labels.ids, labels.count, err))
            return false;
        some->examples[some->count++] = all->examples[i];
    }
    return true;
}

/* A daemon computes in int8 where that is known to change little. Of an encoder this is measured on
 * texts that it has learnt: it adds less to a loss that is low, in about the same proportion. */
static bool measure_int8(const struct run *run, struct sl_precision_cost *loss, struct sl_err *err)
{
    const struct sl_model *model = run->l.model;
    struct sl_dataset some;
    if (sl_linear_search_is_linear(&run->l.search))
        return true;
    const bool ok = take_some(&some, sl_encoder_trials_texts(&run->encoder, model), err) &&
                    sl_int8_loss_measure(model, &model->policy, evaluate_copy, &some, loss, err);
    free(some.examples);
    sl_label_lists_release(&some.label_lists);
    return ok;
}

/* The model comes first: it is not lost because its page cannot be written. */
static bool publish(struct run *run, struct sl_err *err)
{
    const struct train_automatic_options *a = run->a;
    struct automatic_results report;
    if (!automatic_results_open(&report, &run->l, &run->facts,
                                run->facts.validation ? &run->evaluation : NULL, a->min_precision,
                                err))
        return false;
    char *provenance = automatic_results_provenance(&report, a->sources.data, err);
    struct sl_publication how = {.training = provenance};
    bool ok = provenance && measure_int8(run, &how.int8_loss, err);
    output_claim_pause(&run->claim);
    run->is_published = ok && sl_linear_training_publish(&run->l, a->out, &how, err);
    ok = run->is_published &&
         (!a->report || report_automatic_write(&report, report_title(a->report_title, a->out),
                                               a->sources.data, a->report, err));
    if (run->is_published) {
        automatic_results_print(&report, a->out, ok ? a->report : NULL, a->json);
        automatic_log_published(&run->log, &report, a->out);
    }
    if (run->is_published && !ok)
        (void)sl_wrap(err, "the model is in '%s', but without its report", a->out);
    free(provenance);
    automatic_results_close(&report);
    return ok;
}

/* In a model's tokens. */
static bool read_validation(const struct run *run, struct sl_dataset *set,
                            const struct sl_tokenizer *tokens, int context, struct sl_err *err)
{
    const struct sl_data_sources *s = &run->a->sources;
    const struct sl_dataset_encoding encoding = {
        .context = context, .truncation = s->truncation, .unknown = SL_UNKNOWN_REPLACE};
    return sl_dataset_open(set, s->validation, &s->columns, &run->l.set.labels, err) &&
           sl_dataset_fit_to(set, run->l.set.multi_label, err) &&
           sl_dataset_encode(set, tokens, &encoding, err);
}

static bool open_validation(struct run *run, struct sl_err *err)
{
    return !run->a->sources.validation || read_validation(run, &run->validation, run->l.tokens,
                                                          run->l.base->config.context_length, err);
}

static void warn_of_time(const struct sl_linear_training *l)
{
    char text[CONCLUSION_TEXT];
    automatic_results_estimate(l, text);
    if (text[0])
        (void)fprintf(stderr, "sluice train: warning: %s\n", text);
}

/* Before the search. The bundled encoder reads the language of the base. */
static bool open_encoder(struct run *run, const struct encoder_choice *choice, struct sl_err *err)
{
    const bool shows = run->a->json || isatty(STDOUT_FILENO);
    run->progress.json = run->a->json;
    const struct sl_encoder_trials_options options = {
        .engine = run->l.engine,
        .encoder = choice->directory,
        .sources = &run->a->sources,
        .set = &run->l.set,
        .seconds = run->a->seconds,
        .watch = {shows ? fine_tuning_progress_show : NULL, &run->progress}};
    if (!choice->directory || (choice->is_bundled && run->l.base_is_foreign))
        return true;
    if (!sl_encoder_trials_open(&run->encoder, &options, err))
        return false;
    if (run->encoder.too_many)
        (void)fprintf(stderr,
                      "sluice train: warning: the encoder '%s' is not tried: %zu tokens are too "
                      "many for it; --time %.0fm lets it read them\n",
                      choice->directory, run->encoder.set.ids_count,
                      ceil(sl_encoder_trials_seconds(&run->encoder) / 60.0));
    else
        run->l.others = &run->encoder.models;
    return true;
}

static bool describe_texts(struct run *run, const char *why_no_base, struct sl_err *err)
{
    const struct sl_dataset *given = run->a->sources.validation ? &run->validation : NULL;
    if (!dataset_facts_open(&run->facts, &run->l.set, given,
                            run->a->sources.labels ? LABELS_LISTED : LABELS_FOUND, run->l.tokens,
                            err))
        return false;
    dataset_summary_warn(&run->facts);
    warn_of_time(&run->l);
    if (run->a->base)
        automatic_results_warn_base(&run->l, run->a->base);
    if (!run->a->json)
        automatic_results_texts(&run->l, &run->facts, why_no_base);
    if (!run->a->json && run->l.others)
        printf("an encoder is tried, too: %s\n", run->encoder.fits.encoder);
    if (!run->a->report)
        sl_dataset_drop_text(&run->l.set);
    return true;
}

static bool evaluate(struct run *run, struct sl_err *err)
{
    const struct sl_model *model = run->l.model;
    const struct sl_tokenizer *tokens = sl_linear_training_tokens(&run->l);
    if (!run->facts.validation)
        return true;
    if (tokens == run->l.tokens)
        return sl_evaluate_labelled(model, &run->validation, NULL, &run->evaluation, NULL, err);
    struct sl_dataset set = {0};
    const bool ok = read_validation(run, &set, tokens, model->config.context_length, err) &&
                    sl_evaluate_labelled(model, &set, NULL, &run->evaluation, NULL, err);
    sl_dataset_close(&set);
    return ok;
}

static void on_trial(void *context, const struct sl_linear_search *search)
{
    struct run *run = context;
    fine_tuning_progress_end(&run->progress);
    if (search->count > 0) {
        automatic_results_trial(search, run->l.set.multi_label, run->a->json);
        warn_of_time(&run->l);
    }
    automatic_log_search(&run->log, search, &run->facts, run->l.others != NULL);
}

/* Another process may have published between the first check and the claim. */
static bool claim_output(struct run *run, struct sl_err *err)
{
    if (!output_claim_take(&run->claim, run->a->out, err))
        return false;
    output_claim_remove_on_signals(&run->claim);
    return is_free(run->a, err);
}

static bool run_all(struct run *run, const struct sl_linear_training_options *options,
                    const struct encoder_choice *encoder, const char *why_no_base,
                    struct sl_err *err)
{
    if (!claim_output(run, err))
        return false;
    if (!automatic_log_open(&run->log, run->a->run, err))
        return false;
    if (!sl_linear_training_open(&run->l, options, err))
        return false;
    if (!open_validation(run, err))
        return false;
    if (!open_encoder(run, encoder, err))
        return false;
    if (!describe_texts(run, why_no_base, err))
        return false;
    const bool ok = sl_linear_training_run(&run->l, on_trial, run, err);
    fine_tuning_progress_end(&run->progress);
    if (!ok)
        return false;
    return evaluate(run, err) && publish(run, err);
}

static bool train(struct sl_engine *engine, const struct train_automatic_options *a,
                  struct sl_err *err)
{
    static const char no_base[] = "models/base/1 is not where this program is installed or built; "
                                  "--init-from names a model with word vectors";
    char path[SL_PATH_MAX];
    const bool learns = learns_vocabulary(a);
    struct encoder_choice encoder;
    struct run run = {.a = a};
    if (!choose_encoder(&encoder, a, err))
        return false;
    const struct sl_linear_training_options options = {
        .engine = engine,
        .sources = a->sources,
        .keep_text = true, /* until it is described */
        .seconds = a->seconds,
        .standalone = a->standalone,
        .base = a->base && !encoder.directory ? a->base
                                              : (learns ? NULL : find_bundled("base/1", path))};
    bool ok = run_all(&run, &options, &encoder,
                      learns ? "the vocabulary is made from the texts" : no_base, err);
    automatic_log_close(&run.log, run.is_published ? NULL : err);
    dataset_facts_close(&run.facts);
    sl_dataset_close(&run.validation);
    sl_linear_training_close(&run.l);
    sl_encoder_trials_close(&run.encoder);
    output_claim_release(&run.claim);
    return ok;
}

/* Lists the options that need none. */
static bool fail_needs_architecture(const char *option, struct sl_err *err)
{
    char list[512];
    train_automatic_options_list(list, sizeof list);
    return sl_fail(
        err, SL_BAD_INPUT,
        "--%s needs an architecture, as in `sluice train tsa --%s ...`; without one, these are the "
        "options: %s",
        option, option, list);
}

bool train_automatic(int count, char **words, struct sl_err *err)
{
    struct train_automatic_options a;
    char unknown[SL_NAME_BYTES];
    if (!train_automatic_options_read(&a, count, words, unknown, err))
        return unknown[0] && train_has_option(unknown) ? fail_needs_architecture(unknown, err)
                                                       : false;
    if (!check(&a, err) || !command_truncation(a.truncate, &a.sources.truncation, err))
        return false;
    struct sl_engine *engine = command_training_engine(a.threads, a.isa, a.precision, err);
    if (!engine)
        return false;
    bool ok = train(engine, &a, err);
    sl_engine_destroy(engine);
    return ok;
}
