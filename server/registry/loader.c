/* loader.c - loads versions beside the ones being served, and publishes them. */
#include "base/clock.h"
#include "core/log.h"
#include "registry/registry_state.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is recorded ------------------------------------------------------------------------ */

void sv_record_state(const struct sv_registry *registry, const struct sv_model *model,
                     const struct sv_version *version)
{
    char number[SV_VERSION_MAX];
    struct sv_metrics *metrics = registry->options.metrics;
    (void)snprintf(number, sizeof number, "%ld", version->number);
    for (int state = 0; state < SV_VERSION_STATES; state++) {
        const char *labels[] = {model->name, number,
                                sv_version_state_name((enum sv_version_state)state)};
        sv_metric_set(sv_metrics_series(metrics, SV_METRIC_MODEL_STATE, labels),
                      (int)version->state == state);
    }
    sv_metric_set(sv_metrics_series(metrics, SV_METRIC_MODEL_READY,
                                    (const char *const[]){model->name, number}),
                  version->ref != NULL);
}

static void set_state(struct sv_registry *registry, const struct sv_model *model,
                      struct sv_version *version, enum sv_version_state state)
{
    pthread_mutex_lock(&registry->lock);
    version->state = state;
    sv_record_state(registry, model, version);
    pthread_mutex_unlock(&registry->lock);
}

static void record_load(const struct sv_registry *registry, const char *name, const char *result)
{
    sv_metric_add(sv_metrics_series(registry->options.metrics, SV_METRIC_MODEL_LOADS,
                                    (const char *const[]){name, result}),
                  1);
}

static void record_loaded(const struct sv_registry *registry, const struct sv_model_ref *ref,
                          double seconds)
{
    struct sv_metrics *metrics = registry->options.metrics;
    const struct sl_model_info *info = sl_model_info(ref->model);
    const char *labels[] = {ref->name, ref->version, info->sha256};
    record_load(registry, ref->name, "ok");
    sv_metric_set(sv_metrics_series(metrics, SV_METRIC_MODEL_INFO, labels), 1);
    sv_metric_set(sv_metrics_series(metrics, SV_METRIC_LOAD_SECONDS,
                                    (const char *const[]){ref->name, ref->version}),
                  seconds);
    SV_LOG(SV_LOG_INFO, "model loaded", sv_str("model", ref->name), sv_str("version", ref->version),
           sv_int("parameters", info->parameters), sv_int("ms", (int64_t)(seconds * 1e3)));
}

void sv_describe_failure(const struct sv_registry *registry, const struct sl_err *err,
                         char reason[static SV_REASON_MAX])
{
    const char *store = registry->options.store;
    size_t bytes = strlen(store);
    bool inside = strncmp(err->path, store, bytes) == 0 && err->path[bytes] == '/';
    (void)snprintf(reason, SV_REASON_MAX, "%s%s%s", inside ? err->path + bytes + 1 : "",
                   inside ? ": " : "", sl_err_reason(err));
}

/* reason: for clients; detail: for the log. What was served before still is. */
static bool fail_load(struct sv_registry *registry, const struct sv_model *model,
                      struct sv_version *version, const char *reason, const char *detail)
{
    pthread_mutex_lock(&registry->lock);
    (void)snprintf(version->reason, sizeof version->reason, "%s", reason);
    version->state = version->ref           ? SV_VERSION_READY
                     : version->retired > 0 ? SV_VERSION_DRAINING
                                            : SV_VERSION_FAILED;
    sv_record_state(registry, model, version);
    pthread_mutex_unlock(&registry->lock);
    record_load(registry, model->name, "failed");
    SV_LOG(SV_LOG_ERROR, "model not loaded", sv_str("model", model->name),
           sv_int("version", version->number), sv_str("reason", detail));
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
    const struct sv_version *version = sv_find_version(model, model->stable);
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
    version->state = SV_VERSION_READY;
    if (!has_stable(model))
        model->stable = version->number;
    sv_record_state(registry, model, version);
    pthread_mutex_unlock(&registry->lock);
    return old;
}

static bool open_and_publish(struct sv_registry *registry, struct sv_model *model,
                             struct sv_version *version)
{
    char reason[SV_REASON_MAX];
    struct sl_err err = {0};
    int64_t began = sl_now_ns();
    if (registry->options.on_open)
        registry->options.on_open(registry->options.context, model->name);
    struct sv_model_ref *ref = sv_version_open(registry, model->name, version, &err);
    if (!ref) {
        sv_describe_failure(registry, &err, reason);
        return fail_load(registry, model, version, reason, err.text);
    }
    record_loaded(registry, ref, 1e-9 * (double)(sl_now_ns() - began));
    sv_model_ref_release(publish(registry, model, version, ref));
    return true;
}

bool sv_load_version(struct sv_registry *registry, struct sv_model *model,
                     struct sv_version *version, struct sv_error *error)
{
    char reason[SV_REASON_MAX];
    const char *fault = sv_check_model_name(model->name, reason);
    if (!version->ref)
        set_state(registry, model, version, SV_VERSION_LOADING);
    bool loaded = fault ? fail_load(registry, model, version, fault, fault)
                        : open_and_publish(registry, model, version);
    return loaded || fail_answer(model, version, error);
}

static bool has_ready(const struct sv_model *model)
{
    for (int i = 0; i < model->count; i++)
        if (model->versions[i].ref)
            return true;
    return false;
}

/* What `stable` leaves stays loaded, to be rolled back to. What it left before that goes. */
static void move_stable(struct sv_registry *registry, struct sv_model *model, long number)
{
    struct sv_model_ref *old = NULL;
    pthread_mutex_lock(&registry->lock);
    if (model->stable != number) {
        struct sv_version *before =
            model->previous != number ? sv_find_version(model, model->previous) : NULL;
        model->previous = model->stable;
        model->stable = number;
        if (before && before->number != model->previous) {
            old = sv_retire(registry, before);
            before->state = old ? SV_VERSION_DRAINING : before->state;
            sv_record_state(registry, model, before);
        }
    }
    pthread_mutex_unlock(&registry->lock);
    sv_model_ref_release(old);
}

bool sv_load_highest(struct sv_registry *registry, struct sv_model *model, long *loaded,
                     struct sv_error *error)
{
    struct sv_error later;
    bool falls_back = !has_ready(model);
    for (int i = model->count - 1; i >= 0; i--) {
        struct sv_version *version = &model->versions[i];
        /* The answer says why the highest was not loaded. */
        struct sv_error *why = i == model->count - 1 ? error : &later;
        if (sv_load_version(registry, model, version, why)) {
            *loaded = version->number;
            move_stable(registry, model, version->number);
            return true;
        }
        if (!falls_back)
            break;
    }
    return false;
}

/* ---- changes --------------------------------------------------------------------------------- */

static bool fail_no_version(const struct sv_change *change, struct sv_error *error)
{
    if (change->version > 0)
        return sv_fail(error, SV_MODEL_NOT_FOUND, "version",
                       "The model '%s' has no version %ld in the store.", change->model,
                       change->version);
    return sv_fail(error, SV_MODEL_NOT_FOUND, "model", "The model '%s' is not in the store.",
                   change->model);
}

static void load(struct sv_registry *registry, const struct sv_change *change,
                 struct sv_change_result *result)
{
    char reason[SV_REASON_MAX];
    struct sv_model *model = NULL;
    if (!sv_check_model_name(change->model, reason) && sv_scan_model(registry, change->model) > 0)
        model = sv_find_model(registry, change->model);
    struct sv_version *version = model ? sv_find_version(model, change->version) : NULL;
    if (!model || model->count == 0 || (change->version > 0 && !version)) {
        (void)fail_no_version(change, &result->error);
        return;
    }
    bool ok = version ? sv_load_version(registry, model, version, &result->error)
                      : sv_load_highest(registry, model, &result->version, &result->error);
    if (ok && version)
        result->version = version->number;
}

static bool unload_version(struct sv_registry *registry, const struct sv_model *model,
                           struct sv_version *version)
{
    pthread_mutex_lock(&registry->lock);
    struct sv_model_ref *ref = sv_retire(registry, version);
    if (ref)
        version->state = SV_VERSION_DRAINING;
    sv_record_state(registry, model, version);
    pthread_mutex_unlock(&registry->lock);
    if (ref)
        SV_LOG(SV_LOG_INFO, "model unloaded", sv_str("model", model->name),
               sv_int("version", version->number));
    sv_model_ref_release(ref);
    return ref != NULL;
}

static void unload(struct sv_registry *registry, const struct sv_change *change,
                   struct sv_change_result *result)
{
    struct sv_model *model = sv_find_model(registry, change->model);
    if (!model || (change->version > 0 && !sv_find_version(model, change->version))) {
        (void)fail_no_version(change, &result->error);
        return;
    }
    result->version = change->version;
    for (int i = 0; i < model->count; i++)
        if (change->version == 0 || model->versions[i].number == change->version)
            (void)unload_version(registry, model, &model->versions[i]);
}

void sv_make_change(struct sv_registry *registry, const struct sv_change *change,
                    struct sv_change_result *result)
{
    switch (change->kind) {
    case SV_CHANGE_LOAD: load(registry, change, result); break;
    case SV_CHANGE_UNLOAD: unload(registry, change, result); break;
    }
}

/* ---- at start -------------------------------------------------------------------------------- */

bool sv_registry_load(struct sv_registry *registry, struct sl_err *err)
{
    const char *store = registry->options.store;
    struct dirent **entries;
    if (!sv_registry_check_store(store, err))
        return false;
    int count = scandir(store, &entries, NULL, alphasort), models = 0;
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        struct sv_error error;
        long loaded;
        struct sv_model *model = NULL;
        if (name[0] != '.' && sv_scan_model(registry, name) > 0)
            model = sv_find_model(registry, name);
        if (model && sv_load_highest(registry, model, &loaded, &error))
            models++;
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    if (models == 0)
        SV_LOG(SV_LOG_WARN, "no model in the store", sv_str("store", store));
    return true;
}
