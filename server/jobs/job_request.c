/* job_request.c - from a request to what a job is: its model and its files. */
#include "jobs/job_request.h"
#include "base/clock.h"
#include "base/comma_list.h"
#include "base/option_parser.h"
#include "core/options.h"
#include "core/request.h"
#include "jobs/job_data.h"
#include "jobs/job_settings.h"
#include "registry/registry.h"

#include "sluice/model.h"
#include "sluice/trainer.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* Trains without an architecture. */
static bool choose_automatic(struct sv_job_spec *spec, const char *suffix, struct sv_error *error)
{
    if (!spec->classifies)
        return sv_fail(error, SV_MISSING_PARAMETER, "model",
                       "A plain text needs a 'model': an architecture to train from scratch, such "
                       "as \"tsa\", or a language model to fine-tune.");
    if (!suffix)
        return sv_fail(error, SV_MISSING_PARAMETER, "suffix",
                       "'suffix' is required here: the name of the model to publish.");
    (void)snprintf(spec->model, sizeof spec->model, SV_JOB_AUTO);
    (void)snprintf(spec->architecture, sizeof spec->architecture, "linear");
    return true;
}

/* Fine-tunes a version that is loaded. */
static bool find_base(struct sv_jobs *jobs, const char *name, const char *suffix,
                      struct sv_job_spec *spec, struct sv_error *error)
{
    const enum sl_task task = spec->classifies ? SL_TASK_CLASSIFICATION : SL_TASK_COMPLETION;
    char path[2 * PATH_MAX];
    struct sv_model_ref *ref = sv_registry_acquire(jobs->server->registry, name, SV_SHARE_MAX);
    if (!ref)
        return fail_model(jobs->server->registry, name, task, error);
    const struct sl_model_info *info = sl_model_info(ref->model);
    const bool same = info->task == task, encodes = info->task == SL_TASK_PRETRAINING &&
                                                    strcmp(info->architecture, "transformer") == 0;
    const char *other = info->task == SL_TASK_PRETRAINING            ? "gives embeddings"
                        : info->task == SL_TASK_TOKEN_CLASSIFICATION ? "classifies tokens"
                        : info->task == SL_TASK_TRANSLATION          ? "translates"
                                                                     : NULL;
    (void)snprintf(spec->model, sizeof spec->model, "%s", ref->id);
    (void)snprintf(spec->architecture, sizeof spec->architecture, "%s", info->architecture);
    (void)snprintf(spec->base, sizeof spec->base, "%.*s/%.*s", SL_MODEL_NAME_BYTES_MAX, ref->name,
                   SL_MODEL_NAME_BYTES_MAX, ref->version);
    (void)snprintf(spec->name, sizeof spec->name, "%s", ref->name);
    sv_model_ref_release(ref);
    if (encodes && spec->classifies)
        return choose_automatic(spec, suffix, error);
    if (other)
        return sv_fail(error, SV_INVALID_VALUE, "model",
                       "'%s' %s and cannot be fine-tuned here; name an architecture.", spec->model,
                       other);
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

static bool find_model(struct sv_jobs *jobs, const char *name, const char *suffix,
                       struct sv_job_spec *spec, struct sv_error *error)
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
    return find_base(jobs, name, suffix, spec, error);
}

/* Requests that name the model are for one task. */
static bool check_name(const struct sv_jobs *jobs, const struct sv_job_spec *spec,
                       struct sv_error *error)
{
    struct sv_model_ref *ref =
        sv_registry_acquire(jobs->server->registry, spec->name, SV_SHARE_MAX);
    static const char *const kinds[] = {[SL_TASK_COMPLETION] = "language model",
                                        [SL_TASK_CLASSIFICATION] = "classifier",
                                        [SL_TASK_PRETRAINING] = "model for embeddings",
                                        [SL_TASK_TOKEN_CLASSIFICATION] = "token classifier",
                                        [SL_TASK_TRANSLATION] = "translator"};
    enum sl_task task = spec->classifies ? SL_TASK_CLASSIFICATION : SL_TASK_COMPLETION;
    enum sl_task served = ref ? sl_model_info(ref->model)->task : task;
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
    if (!sv_job_data_find(jobs, spec->training_file, "training_file", spec, spec->data, error))
        return false;
    if (validation && !spec->classifies)
        return sv_fail(error, SV_UNSUPPORTED_PARAMETER, "validation_file",
                       "A validation file is for labelled texts only; to validate, "
                       "'validation_fraction' of a plain text is held out.");
    if (validation) {
        (void)snprintf(spec->validation_file, sizeof spec->validation_file, "%s", validation);
        if (!sv_job_data_find(jobs, validation, "validation_file", spec, spec->validation, error))
            return false;
    }
    const char *model = params->model.data;
    bool automatic = !model || strcmp(model, SV_JOB_AUTO) == 0;
    if (automatic ? !choose_automatic(spec, params->suffix.data, error)
                  : !find_model(jobs, model, params->suffix.data, spec, error))
        return false;
    if (params->suffix.data)
        (void)snprintf(spec->name, sizeof spec->name, "%s", params->suffix.data);
    return check_name(jobs, spec, error) && sv_job_settings_check(spec, error);
}
