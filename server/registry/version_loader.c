/* version_loader.c - loads versions beside the ones being served, and publishes them. */
#include "registry/version_loader.h"
#include "base/clock.h"
#include "core/log.h"
#include "registry/labels_file.h"
#include "registry/model_version.h"
#include "registry/store_scan.h"
#include "registry/version_metrics.h"

#include <stdio.h>
#include <string.h>

static void set_loading(struct sv_registry *registry, const struct sv_model *model,
                        struct sv_version *version)
{
    pthread_mutex_lock(&registry->lock);
    sv_set_version_state(registry, model, version, SV_VERSION_LOADING);
    pthread_mutex_unlock(&registry->lock);
}

static void record_loaded(const struct sv_registry *registry, const struct sv_model_ref *ref,
                          double seconds)
{
    const struct sl_model_info *info = sl_model_info(ref->model);
    sv_record_loaded(registry->options.metrics, ref->name, ref->version, info->sha256, seconds);
    SV_LOG(SV_LOG_INFO, "model loaded", sv_str("model", ref->name), sv_str("version", ref->version),
           sv_int("parameters", info->parameters), sv_int("buffers", info->buffers),
           sv_int("ms", (int64_t)(seconds * 1e3)));
}

/* A version that is served remains so when it cannot be loaded again. */
static enum sv_version_state state_after_failure(const struct sv_version *version)
{
    if (version->ref)
        return SV_VERSION_READY;
    return version->retired > 0 ? SV_VERSION_DRAINING : SV_VERSION_FAILED;
}

/* Records a failure. What was served before still is. */
static bool fail_load(struct sv_registry *registry, const struct sv_model *model,
                      struct sv_version *version, const char *reason)
{
    pthread_mutex_lock(&registry->lock);
    (void)snprintf(version->reason, sizeof version->reason, "%s", reason);
    sv_set_version_state(registry, model, version, state_after_failure(version));
    pthread_mutex_unlock(&registry->lock);
    sv_record_load_failed(registry->options.metrics, model->name);
    SV_LOG(SV_LOG_ERROR, "model not loaded", sv_str("model", model->name),
           sv_int("version", version->number), sv_str("reason", reason));
    return false;
}

static bool fail_answer(const struct sv_model *model, const struct sv_version *version,
                        struct sv_error *error)
{
    return sv_fail(error, SV_LOAD_FAILED, NULL, "The model '%s@%ld' could not be loaded: %s.",
                   model->name, version->number, version->reason);
}

/* ---- loading --------------------------------------------------------------------------------- */

/* With the lock. */
static bool has_stable(struct sv_model *model)
{
    const struct sv_version *version = sv_find_version(model, model->labels.stable);
    return version && version->ref;
}

/* From here on requests get this one. Returns what they got before. */
static struct sv_model_ref *publish(struct sv_registry *registry, struct sv_model *model,
                                    struct sv_version *version, struct sv_model_ref *ref)
{
    pthread_mutex_lock(&registry->lock);
    struct sv_model_ref *old = sv_retire(registry, version);
    version->ref = ref;
    version->reason[0] = '\0';
    sv_set_version_state(registry, model, version, SV_VERSION_READY);
    if (!has_stable(model))
        model->labels.stable = version->number;
    pthread_mutex_unlock(&registry->lock);
    return old;
}

static const char *describe_task(const struct sv_model_ref *ref)
{
    static const char *const verbs[] = {[SL_TASK_COMPLETION] = "completes",
                                        [SL_TASK_CLASSIFICATION] = "classifies",
                                        [SL_TASK_PRETRAINING] = "embeds",
                                        [SL_TASK_TOKEN_CLASSIFICATION] = "labels the tokens of",
                                        [SL_TASK_TRANSLATION] = "translates"};
    return verbs[sl_model_info(ref->model)->task];
}

/* Requests for a name must not begin to fail because a version is for another task. */
static bool has_task_of_stable(struct sv_registry *registry, struct sv_model *model,
                               struct sv_version *version, const struct sv_model_ref *ref,
                               char reason[static SV_REASON_MAX])
{
    pthread_mutex_lock(&registry->lock);
    const struct sv_version *stable = sv_find_version(model, model->labels.stable);
    const char *served = stable && stable->ref ? describe_task(stable->ref) : NULL;
    pthread_mutex_unlock(&registry->lock);
    const char *task = describe_task(ref);
    version->is_of_other_task = served && strcmp(served, task) != 0;
    if (!version->is_of_other_task)
        return true;
    (void)snprintf(reason, SV_REASON_MAX,
                   "it %s texts, and %s@%ld, which is served, %s them; give it another name", task,
                   model->name, model->labels.stable, served);
    return false;
}

static bool open_and_publish(struct sv_registry *registry, struct sv_model *model,
                             struct sv_version *version)
{
    char reason[SV_REASON_MAX];
    struct sl_err err = {0};
    int64_t began = sl_now_ns();
    if (registry->options.on_open)
        registry->options.on_open(registry->options.context, model->name);
    struct sv_model_ref *ref =
        sv_version_open(registry, model->name, version->number, &err, reason);
    if (!ref)
        return fail_load(registry, model, version, reason);
    if (!has_task_of_stable(registry, model, version, ref, reason)) {
        sv_version_close(ref);
        return fail_load(registry, model, version, reason);
    }
    ref->used_ns = sl_now_ns();
    record_loaded(registry, ref, 1e-9 * (double)(sl_now_ns() - began));
    sv_model_ref_release(publish(registry, model, version, ref));
    return true;
}

bool sv_load_version(struct sv_registry *registry, struct sv_model *model,
                     struct sv_version *version, struct sv_error *error)
{
    if (!version->ref)
        set_loading(registry, model, version);
    return open_and_publish(registry, model, version) || fail_answer(model, version, error);
}

/* ---- labels ---------------------------------------------------------------------------------- */

/* A version that the old labels kept and the new ones do not; NULL: there is none. With the
 * lock. */
static struct sv_model_ref *retire_unlabelled(struct sv_registry *registry, struct sv_model *model,
                                              const struct sv_labels *before)
{
    for (int i = 0; i < model->count; i++) {
        struct sv_version *version = &model->versions[i];
        if (!version->ref || !sv_labels_keep(before, version->number) ||
            sv_labels_keep(&model->labels, version->number))
            continue;
        return sv_drain(registry, model, version);
    }
    return NULL;
}

void sv_set_labels(struct sv_registry *registry, struct sv_model *model,
                   const struct sv_labels *labels)
{
    struct sv_model_ref *ref;
    pthread_mutex_lock(&registry->lock);
    const struct sv_labels before = model->labels;
    model->labels = *labels;
    while ((ref = retire_unlabelled(registry, model, &before))) {
        pthread_mutex_unlock(&registry->lock);
        SV_LOG(SV_LOG_INFO, "model unloaded", sv_str("model", model->name),
               sv_str("version", ref->version));
        sv_model_ref_release(ref);
        pthread_mutex_lock(&registry->lock);
    }
    pthread_mutex_unlock(&registry->lock);
}

/* ---- the highest version --------------------------------------------------------------------- */

/* Whether a version that was found in the store is worth a try. */
static bool is_better(const struct sv_registry *registry, const struct sv_model *model,
                      const struct sv_version *version)
{
    return version->number > model->labels.stable &&
           sv_version_is_complete(registry, model, version);
}

bool sv_load_highest(struct sv_registry *registry, struct sv_model *model, bool is_found,
                     long *loaded, struct sv_error *error)
{
    struct sv_error later;
    struct sv_error *why = error; /* the answer says why the highest was not loaded */
    bool falls_back = is_found || !sv_model_is_served(model);
    for (int i = model->count - 1; i >= 0; i--) {
        struct sv_version *version = &model->versions[i];
        if (is_found && !is_better(registry, model, version))
            continue;
        if (sv_load_version(registry, model, version, why)) {
            *loaded = version->number;
            return true;
        }
        if (!falls_back)
            break;
        why = &later;
    }
    return false;
}

/* ---- at start -------------------------------------------------------------------------------- */

/* The version that `stable` is pinned to, else a lower one: a higher one was left on purpose. */
static bool load_pinned(struct sv_registry *registry, struct sv_model *model)
{
    struct sv_error error;
    const long pinned = model->labels.stable;
    for (int i = model->count - 1; i >= 0; i--)
        if (model->versions[i].number <= pinned &&
            sv_load_version(registry, model, &model->versions[i], &error))
            return true;
    return false;
}

static void load_labelled(struct sv_registry *registry, struct sv_model *model)
{
    struct sv_error error;
    for (int i = 0; i < model->labels.count; i++) {
        const struct sv_label *label = &model->labels.items[i];
        struct sv_version *version = sv_find_version(model, label->version);
        if (!version)
            SV_LOG(SV_LOG_ERROR, "a label's version is not in the store",
                   sv_str("model", model->name), sv_str("label", label->name),
                   sv_int("version", label->version));
        else if (!version->ref)
            (void)sv_load_version(registry, model, version, &error);
    }
}

/* What a model's labels name, at the start. False: nothing of it is served. */
static bool load_model(struct sv_registry *registry, const char *name)
{
    struct sl_err err;
    struct sv_error error;
    struct sv_labels labels;
    long loaded;
    struct sv_model *model =
        sv_scan_model(registry, name) > 0 ? sv_find_model(registry, name) : NULL;
    if (!model)
        return false;
    (void)sv_note_complete(registry, model);
    if (!sv_labels_read(registry->options.store, model->name, &labels, &err))
        SV_LOG(SV_LOG_ERROR, "labels cannot be read; the model has none",
               sv_str("model", model->name), sv_str("reason", err.text));
    sv_set_labels(registry, model, &labels);
    bool served = (labels.pinned && load_pinned(registry, model)) ||
                  sv_load_highest(registry, model, false, &loaded, &error);
    load_labelled(registry, model);
    return served;
}

bool sv_registry_load(struct sv_registry *registry, struct sl_err *err)
{
    const char *store = registry->options.store;
    if (!sv_registry_check_store(store, err))
        return false;
    if (sv_scan_store(registry, load_model) == 0)
        SV_LOG(SV_LOG_WARN, "no model in the store", sv_str("store", store));
    registry->scanned_ns = sl_now_ns();
    atomic_store(&registry->is_loaded, true);
    return true;
}
