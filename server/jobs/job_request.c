/* job_request.c - from a request to what a job is: its model, its files, its settings. */
#include "base/clock.h"
#include "base/comma_list.h"
#include "base/file.h"
#include "base/option_parser.h"
#include "core/options.h"
#include "core/request.h"
#include "jobs/job.h"
#include "registry/registry.h"

#include "sluice/dataset.h"
#include "sluice/model.h"
#include "sluice/trainer.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- settings -------------------------------------------------------------------------------- */

/* The message names the setting; name_setting completes the parameter. */
static bool SL_PRINTF(4, 5) fail_setting(struct sv_error *error, enum sv_error_kind kind,
                                         const char *name, const char *format, ...)
{
    char message[SV_ERROR_MESSAGE_MAX];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(message, sizeof message, format, list);
    va_end(list);
    return sv_fail(error, kind, name, "%s", message);
}

/* Where in the request the setting is. */
static bool name_setting(const struct sv_settings *settings, struct sv_error *error)
{
    char name[SV_METADATA_KEY_BYTES_MAX + 1];
    (void)snprintf(name, sizeof name, "%.64s", error->param);
    (void)snprintf(error->param, sizeof error->param, "%s%s", settings->prefix, name);
    return false;
}

static bool fail_value(struct sv_error *error, const struct sv_setting *setting,
                       const char *expected)
{
    return fail_setting(error, SV_INVALID_VALUE, setting->name, "invalid %s '%.64s': expected %s.",
                        setting->name, setting->value, expected);
}

/* A number in bounds. */
static bool read_number(const struct sv_setting *setting, double min, double max, double *value,
                        struct sv_error *error)
{
    char *end, expected[96];
    *value = strtod(setting->value, &end);
    if (end > setting->value && !*end && *value >= min && *value <= max)
        return true;
    (void)snprintf(expected, sizeof expected, "a number from %g to %g", min, max);
    return fail_value(error, setting, expected);
}

/* A setting of `sluice train`, perhaps under another name. */
static bool check_setting(const struct sv_job_spec *spec, const char *as,
                          const struct sv_setting *setting, struct sv_error *error)
{
    struct sl_err err;
    const struct sl_setting asked = {.name = as, .value = setting->value};
    if (sl_setting_check(spec->architecture, &asked, &err))
        return true;
    (void)sl_err_spell_field(&err, setting->name);
    return fail_setting(error, SV_INVALID_VALUE, setting->name, "%s", err.text);
}

const char *const sv_openai_settings[] = {"n_epochs", "batch_size", "learning_rate_multiplier",
                                          NULL};

bool sv_setting_is_auto(const struct sv_setting *setting)
{
    const char *const *name = sv_openai_settings;
    while (*name && strcmp(*name, setting->name) != 0)
        name++;
    return *name && strcmp(setting->value, "auto") == 0;
}

static bool check_epochs(struct sv_job_spec *spec, const struct sv_setting *setting,
                         struct sv_error *error)
{
    if (sv_setting_is_auto(setting))
        return true;
    if (!spec->classifies)
        return fail_setting(error, SV_UNSUPPORTED_PARAMETER, setting->name,
                            "A plain text has no epochs (n_epochs); set 'steps' instead.");
    return check_setting(spec, "epochs", setting, error);
}

static bool check_batch_size(struct sv_job_spec *spec, const struct sv_setting *setting,
                             struct sv_error *error)
{
    return sv_setting_is_auto(setting) || check_setting(spec, "batch_size", setting, error);
}

static bool check_multiplier(struct sv_job_spec *spec, const struct sv_setting *setting,
                             struct sv_error *error)
{
    double value;
    if (sv_setting_is_auto(setting))
        return true;
    if (sv_setting_find(&spec->hyperparameters, "learning_rate"))
        return fail_setting(error, SV_INVALID_VALUE, setting->name,
                            "give 'learning_rate_multiplier' or 'learning_rate', not both.");
    return read_number(setting, 1e-3, 1e3, &value, error);
}

static bool check_flag(struct sv_job_spec *spec, const struct sv_setting *setting,
                       struct sv_error *error)
{
    (void)spec;
    return strcmp(setting->value, "true") == 0 || strcmp(setting->value, "false") == 0 ||
           fail_value(error, setting, "true or false");
}

static bool check_promotion(struct sv_job_spec *spec, const struct sv_setting *setting,
                            struct sv_error *error)
{
    static const char *const names[] = {[SV_PROMOTE_NEVER] = "never",
                                        [SV_PROMOTE_IF_BETTER] = "if_better",
                                        [SV_PROMOTE_CANARY] = "canary"};
    size_t i = 0;
    while (i < sizeof names / sizeof names[0] && strcmp(names[i], setting->value) != 0)
        i++;
    if (i == sizeof names / sizeof names[0])
        return fail_value(error, setting, "\"never\", \"if_better\" or \"canary\"");
    spec->promotion = (enum sv_promotion)i;
    return spec->promotion != SV_PROMOTE_IF_BETTER || !spec->classifies || spec->validation[0] ||
           fail_setting(
               error, SV_INVALID_VALUE, setting->name,
               "'promotion': \"if_better\" needs a validation file to measure both versions on.");
}

static bool check_margin(struct sv_job_spec *spec, const struct sv_setting *setting,
                         struct sv_error *error)
{
    return read_number(setting, 0, 100, &spec->margin, error);
}

static bool check_weight(struct sv_job_spec *spec, const struct sv_setting *setting,
                         struct sv_error *error)
{
    double weight = 0;
    if (!read_number(setting, 1, 99, &weight, error))
        return false;
    spec->weight = (int64_t)weight;
    return fabs(weight - (double)spec->weight) <= 0.0 ||
           fail_value(error, setting, "a whole number from 1 to 99");
}

bool sv_job_is_automatic(const struct sv_job_spec *spec)
{
    return strcmp(spec->model, SV_JOB_AUTO) == 0;
}

/* As `sluice train --time` reads it. */
static bool check_time(struct sv_job_spec *spec, const struct sv_setting *setting,
                       struct sv_error *error)
{
    enum { LONGEST = 86400 };

    char *unit;
    long long number = strtoll(setting->value, &unit, 10);
    int seconds = strcmp(unit, "h") == 0 ? 3600 : strcmp(unit, "m") == 0 ? 60 : 1;
    bool known = !*unit || strchr("smh", *unit);
    if (!sv_job_is_automatic(spec))
        return fail_setting(error, SV_UNSUPPORTED_PARAMETER, setting->name,
                            "'time' has an effect only without a model.");
    return (known && number > 0 && number <= LONGEST / seconds && strlen(unit) <= 1) ||
           fail_value(error, setting, "1s to 24h, as in 90s, 10m or 2h");
}

/* Architectures have one label per text. */
static bool check_separator(struct sv_job_spec *spec, const struct sv_setting *setting,
                            struct sv_error *error)
{
    struct sl_err err;
    if (!sv_job_is_automatic(spec))
        return fail_setting(error, SV_UNSUPPORTED_PARAMETER, setting->name,
                            "'label_separator' has an effect only without a model.");
    return sl_label_separator_check(setting->value, &err) ||
           fail_setting(error, SV_INVALID_VALUE, setting->name, "%s.", err.text);
}

static bool refuse_seed(struct sv_job_spec *spec, const struct sv_setting *setting,
                        struct sv_error *error)
{
    (void)spec;
    return fail_setting(error, SV_INVALID_VALUE, setting->name,
                        "'seed' is no hyper-parameter; set the seed of the job instead.");
}

static bool refuse_distillation(struct sv_job_spec *spec, const struct sv_setting *setting,
                                struct sv_error *error)
{
    (void)spec;
    return fail_setting(error, SV_UNSUPPORTED_PARAMETER, setting->name,
                        "'%s' has no effect: a job has no teacher.", setting->name);
}

/* Settings that are not simply options of `sluice train`. */
static const struct {
    const char *name;
    bool (*check)(struct sv_job_spec *spec, const struct sv_setting *setting,
                  struct sv_error *error);
} special[] = {
    {"n_epochs", check_epochs},
    {"batch_size", check_batch_size},
    {"learning_rate_multiplier", check_multiplier},
    {"save_best", check_flag},
    {"bf16", check_flag},
    {"time", check_time},
    {"label_separator", check_separator},
    {"promotion", check_promotion},
    {"promotion_margin", check_margin},
    {"promotion_weight", check_weight},
    {"seed", refuse_seed},
    {"distillation_weight", refuse_distillation},
};

/* Without an architecture only these have an effect. */
static bool check_automatic(const struct sv_setting *setting, struct sv_error *error)
{
    static const char *const names[] = {"label",
                                        "label_separator",
                                        "text",
                                        "format",
                                        "tokenizer",
                                        "vocab_size",
                                        "cased",
                                        "time",
                                        "promotion",
                                        "promotion_margin",
                                        "promotion_weight",
                                        NULL};
    char list[256] = "";
    for (const char *const *name = names; *name; name++)
        if (strcmp(*name, setting->name) == 0)
            return true;
    return fail_setting(error, SV_UNSUPPORTED_PARAMETER, setting->name,
                        "'%s' has an effect only with a model or an architecture ('model'); "
                        "without one, the hyper-parameters are: %s.",
                        setting->name, sl_list_join(list, sizeof list, names));
}

static bool check_one(struct sv_job_spec *spec, const struct sv_setting *setting,
                      struct sv_error *error)
{
    if (sv_job_is_automatic(spec) && !sv_setting_is_auto(setting) &&
        !check_automatic(setting, error))
        return false;
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++)
        if (strcmp(special[i].name, setting->name) == 0)
            return special[i].check(spec, setting, error);
    return check_setting(spec, setting->name, setting, error);
}

/* One name for each: `sluice train` accepts learning-rate, too. */
static bool check_spelling(const struct sv_settings *settings, struct sv_error *error)
{
    for (int i = 0; i < settings->count; i++)
        if (strchr(settings->items[i].name, '-'))
            return fail_setting(error, SV_INVALID_VALUE, settings->items[i].name,
                                "'%s': names of hyper-parameters are written with '_', not '-'.",
                                settings->items[i].name);
    return true;
}

/* What says how to promote, without its promotion, would do nothing. */
static bool check_promotion_details(const struct sv_job_spec *spec, struct sv_error *error)
{
    static const struct {
        const char *name, *needs;
        enum sv_promotion promotion;
    } details[] = {{"promotion_margin", "if_better", SV_PROMOTE_IF_BETTER},
                   {"promotion_weight", "canary", SV_PROMOTE_CANARY}};

    for (size_t i = 0; i < sizeof details / sizeof details[0]; i++)
        if (sv_setting_find(&spec->hyperparameters, details[i].name) &&
            spec->promotion != details[i].promotion)
            return fail_setting(error, SV_INVALID_VALUE, details[i].name,
                                "'%s' has an effect only with 'promotion': \"%s\".",
                                details[i].name, details[i].needs);
    return !(spec->classifies && spec->margin > 1) ||
           fail_setting(error, SV_INVALID_VALUE, "promotion_margin",
                        "invalid promotion_margin '%g': expected a difference of accuracies, from "
                        "0 to 1.",
                        spec->margin);
}

/* Only one of these says how long to train. */
static bool check_length(const struct sv_settings *settings, struct sv_error *error)
{
    static const char *const names[] = {"n_epochs", "epochs", "steps"};
    const char *first = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = sv_setting_find(settings, names[i]);
        if (!value || strcmp(value, "auto") == 0)
            continue;
        if (first)
            return fail_setting(error, SV_INVALID_VALUE, names[i], "give '%s' or '%s', not both.",
                                names[i], first);
        first = names[i];
    }
    return true;
}

static bool check_settings(struct sv_job_spec *spec, struct sv_error *error)
{
    const struct sv_settings *settings = &spec->hyperparameters;
    if (!check_spelling(settings, error))
        return false;
    for (int i = 0; i < settings->count; i++)
        if (!check_one(spec, &settings->items[i], error))
            return false;
    return check_length(settings, error);
}

bool sv_job_spec_settings(struct sv_job_spec *spec, struct sv_error *error)
{
    enum { CANARY_WEIGHT = 10 };

    spec->weight = CANARY_WEIGHT;
    return check_settings(spec, error) || name_setting(&spec->hyperparameters, error);
}

/* ---- the model ------------------------------------------------------------------------------- */

static bool fail_model(struct sv_registry *registry, const char *name, enum sl_task task,
                       struct sv_error *error)
{
    enum { ARCHITECTURES_MAX = 32 };

    const char *names[ARCHITECTURES_MAX + 1] = {NULL}, *nearest;
    char loaded[512], all[512] = "";
    for (int i = 0; i < ARCHITECTURES_MAX; i++)
        names[i] = sl_architecture_name(i, task);
    (void)sv_registry_list_models(registry, true, loaded, sizeof loaded);
    nearest = sl_name_suggest(name, names);
    return sv_fail(error, SV_MODEL_NOT_FOUND, "model",
                   "'%.96s' is neither a loaded model (loaded: %s) nor an architecture; %s %s%s",
                   name, loaded, nearest ? "did you mean" : "choose one of:",
                   nearest ? nearest : sl_list_join(all, sizeof all, names), nearest ? "?" : ".");
}

/* Fine-tunes a version that is loaded. */
static bool find_base(struct sv_jobs *jobs, const char *name, enum sl_task task,
                      struct sv_job_spec *spec, struct sv_error *error)
{
    char path[2 * PATH_MAX];
    struct sv_model_ref *ref = sv_registry_acquire(jobs->server->registry, name, SV_SHARE_MAX);
    if (!ref)
        return fail_model(jobs->server->registry, name, task, error);
    const struct sl_model_info *info = sl_model_info(sv_model_ref_model(ref));
    bool same = info->task == task, embeds = info->task == SL_TASK_PRETRAINING;
    (void)snprintf(spec->model, sizeof spec->model, "%s", sv_model_ref_id(ref));
    (void)snprintf(spec->architecture, sizeof spec->architecture, "%s", info->architecture);
    (void)snprintf(spec->base, sizeof spec->base, "%s/%s", sv_model_ref_name(ref),
                   sv_model_ref_version(ref));
    (void)snprintf(spec->name, sizeof spec->name, "%s", sv_model_ref_name(ref));
    sv_model_ref_release(ref);
    if (embeds)
        return sv_fail(error, SV_INVALID_VALUE, "model",
                       "'%s' gives embeddings and cannot be fine-tuned here; name an architecture.",
                       spec->model);
    if (!same)
        return sv_fail(error, SV_INVALID_VALUE, "training_file",
                       spec->classifies
                           ? "'%s' is a language model; train it on a text (.txt)."
                           : "'%s' is a classifier; train it on labelled texts (.jsonl, .tsv, "
                             ".csv).",
                       spec->model);
    (void)snprintf(path, sizeof path, "%s/%s", jobs->server->options->store, spec->base);
    return access(path, R_OK) == 0 || sv_fail(error, SV_MODEL_NOT_FOUND, "model",
                                              "'%s' is no longer in the store.", spec->model);
}

/* An architecture that is for another task than the file. */
static bool fail_task(const struct sv_jobs *jobs, const char *name, const struct sv_job_spec *spec,
                      struct sv_error *error)
{
    enum sl_task task = spec->classifies ? SL_TASK_CLASSIFICATION : SL_TASK_COMPLETION;
    char list[512] = "", file[SV_FILE_NAME_MAX];
    const char *one;
    for (int i = 0; (one = sl_architecture_name(i, task)); i++)
        sl_list_add(list, sizeof list, one);
    sv_job_file_name(jobs, spec->training_file, file);
    return sv_fail(error, SV_INVALID_VALUE, "model",
                   "'%s' cannot %s, and '%.200s' is for %s; choose one of: %s; or train on a %s "
                   "file.",
                   name, spec->classifies ? "classify" : "complete texts", file,
                   spec->classifies ? "classification" : "completion", list,
                   spec->classifies ? ".txt" : ".tsv, .csv or .jsonl");
}

static bool find_model(struct sv_jobs *jobs, const char *name, struct sv_job_spec *spec,
                       struct sv_error *error)
{
    struct sl_err err;
    enum sl_task task = spec->classifies ? SL_TASK_CLASSIFICATION : SL_TASK_COMPLETION;
    if (sl_architecture_check(name, task, &err)) {
        (void)snprintf(spec->model, sizeof spec->model, "%s", name);
        (void)snprintf(spec->architecture, sizeof spec->architecture, "%s", name);
        (void)snprintf(spec->name, sizeof spec->name, "%s", name);
        return true;
    }
    if (sl_architecture_check(name, SL_TASK_CLASSIFICATION, &err) ||
        sl_architecture_check(name, SL_TASK_COMPLETION, &err))
        return fail_task(jobs, name, spec, error);
    return find_base(jobs, name, task, spec, error);
}

/* Trains without an architecture. */
static bool choose_automatic(struct sv_job_spec *spec, const char *suffix, struct sv_error *error)
{
    if (!spec->classifies)
        return sv_fail(error, SV_MISSING_PARAMETER, "model",
                       "A plain text needs a 'model': an architecture to train from scratch, such "
                       "as \"tsa\", or a language model to fine-tune.");
    if (!suffix)
        return sv_fail(
            error, SV_MISSING_PARAMETER, "suffix",
            "Without a 'model', 'suffix' is required: the name of the model to publish.");
    (void)snprintf(spec->model, sizeof spec->model, SV_JOB_AUTO);
    (void)snprintf(spec->architecture, sizeof spec->architecture, "linear");
    return true;
}

/* Requests that name the model are for one task. */
static bool check_name(const struct sv_jobs *jobs, const struct sv_job_spec *spec,
                       struct sv_error *error)
{
    struct sv_model_ref *ref =
        sv_registry_acquire(jobs->server->registry, spec->name, SV_SHARE_MAX);
    static const char *const kinds[] = {[SL_TASK_COMPLETION] = "language model",
                                        [SL_TASK_CLASSIFICATION] = "classifier",
                                        [SL_TASK_PRETRAINING] = "model for embeddings"};
    enum sl_task task = spec->classifies ? SL_TASK_CLASSIFICATION : SL_TASK_COMPLETION;
    enum sl_task served = ref ? sl_model_info(sv_model_ref_model(ref))->task : task;
    sv_model_ref_release(ref);
    return served == task ||
           sv_fail(error, SV_INVALID_VALUE, "suffix",
                   "The model '%s' is a %s; publish the %s under another name (suffix).",
                   spec->name, kinds[served], kinds[task]);
}

/* ---- the whole ------------------------------------------------------------------------------- */

bool sv_job_spec_make(struct sv_jobs *jobs, const struct sv_job_params *params,
                      struct sv_job_spec *spec, struct sv_error *error)
{
    uint64_t number = sv_next_id(jobs->server);
    const char *validation = params->validation_file.data;
    (void)snprintf(spec->id, sizeof spec->id, "ftjob-%016llx", (unsigned long long)number);
    spec->created_ns = sl_wall_ns();
    spec->hyperparameters = params->hyperparameters;
    spec->metadata = params->metadata;
    spec->seed = params->seed_given ? params->seed : (int64_t)(number & INT32_MAX);
    (void)snprintf(spec->training_file, sizeof spec->training_file, "%s",
                   params->training_file.data);
    if (!sv_job_data_find(jobs, spec->training_file, "training_file", "data", spec, spec->data,
                          error))
        return false;
    if (validation && !spec->classifies)
        return sv_fail(error, SV_UNSUPPORTED_PARAMETER, "validation_file",
                       "A validation file is for labelled texts only; to validate, "
                       "'validation_fraction' of a plain text is held out.");
    if (validation) {
        (void)snprintf(spec->validation_file, sizeof spec->validation_file, "%s", validation);
        if (!sv_job_data_find(jobs, validation, "validation_file", "validation", spec,
                              spec->validation, error))
            return false;
    }
    const char *model = params->model.data;
    bool automatic = !model || strcmp(model, SV_JOB_AUTO) == 0;
    if (automatic ? !choose_automatic(spec, params->suffix.data, error)
                  : !find_model(jobs, model, spec, error))
        return false;
    if (params->suffix.data)
        (void)snprintf(spec->name, sizeof spec->name, "%s", params->suffix.data);
    return check_name(jobs, spec, error) && sv_job_spec_settings(spec, error) &&
           (check_promotion_details(spec, error) || name_setting(&spec->hyperparameters, error));
}
