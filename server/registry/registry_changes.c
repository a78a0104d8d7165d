/* registry_changes.c - versions loaded and unloaded, labels moved. */
#include "registry/registry_changes.h"
#include "base/comma_list.h"
#include "core/log.h"
#include "registry/ignored_directories.h"
#include "registry/labels_file.h"
#include "registry/store_scan.h"
#include "registry/version_loader.h"

#include <stdio.h>
#include <string.h>

/* ---- models and versions that a change names ------------------------------------------------- */

enum { LIST_BYTES = 512 };

static bool fail_no_model(struct sv_registry *registry, const char *model, struct sv_error *error)
{
    char list[LIST_BYTES];
    const struct sv_ignored *ignored = sv_ignored_find(registry, model);
    if (!sl_model_name_is_valid(model))
        return sv_fail(error, SV_MODEL_NOT_FOUND, "model",
                       "The model '%s' cannot be in the store: " SL_MODEL_NAME_RULE ".", model);
    if (ignored)
        return sv_fail(error, SV_MODEL_NOT_FOUND, "model",
                       "The model '%s' has no version in the store '%s': '%s%s%s' is ignored: %s.",
                       model, registry->options.store, model, ignored->version[0] ? "/" : "",
                       ignored->version, ignored->reason);
    return sv_fail(error, SV_MODEL_NOT_FOUND, "model",
                   "The model '%s' is not in the store '%s'; the models there: %s.", model,
                   registry->options.store,
                   sv_registry_list_models(registry, false, list, sizeof list));
}

static bool fail_no_version(const struct sv_model *model, long version, struct sv_error *error)
{
    char list[LIST_BYTES] = "", number[24];
    for (int i = 0; i < model->count; i++) {
        (void)snprintf(number, sizeof number, "%ld", model->versions[i].number);
        sl_list_add(list, sizeof list, number);
    }
    return sv_fail(error, SV_MODEL_NOT_FOUND, "version",
                   "The model '%s' has no version %ld in the store; its versions: %s.", model->name,
                   version, list);
}

static bool fail_no_label(const struct sv_model *model, const char *label, struct sv_error *error)
{
    char list[LIST_BYTES] = "";
    if (model->labels.stable > 0)
        sl_list_add(list, sizeof list, sv_stable);
    for (int i = 0; i < model->labels.count; i++)
        sl_list_add(list, sizeof list, model->labels.items[i].name);
    return sv_fail(error, SV_MODEL_NOT_FOUND, "label",
                   "The model '%s' has no label '%s'; its labels: %s.", model->name, label,
                   list[0] ? list : "none");
}

/* A model as the store has it now; NULL: see error. */
static struct sv_model *find_in_store(struct sv_registry *registry, const char *name,
                                      struct sv_error *error)
{
    struct sv_model *model = NULL;
    if (sl_model_name_is_valid(name) && sv_scan_model(registry, name) > 0)
        model = sv_find_model(registry, name);
    if (model && model->count > 0)
        return model;
    (void)fail_no_model(registry, name, error);
    return NULL;
}

static struct sv_version *require_version(struct sv_model *model, long number,
                                          struct sv_error *error)
{
    struct sv_version *version = sv_find_version(model, number);
    if (!version)
        (void)fail_no_version(model, number, error);
    return version;
}

/* ---- new labels ------------------------------------------------------------------------------ */

static bool same_but_previous(const struct sv_labels *a, const struct sv_labels *b)
{
    return a->pinned == b->pinned && (!a->pinned || a->stable == b->stable) &&
           a->weight == b->weight && a->count == b->count &&
           memcmp(a->items, b->items, sizeof a->items) == 0;
}

/* Clients see paths relative to the store, not where the store is. */
static void describe_failure(const struct sv_registry *registry, const struct sl_err *err,
                             char reason[static SV_REASON_MAX])
{
    const char *store = registry->options.store;
    size_t bytes = strlen(store);
    bool inside = strncmp(err->path, store, bytes) == 0 && err->path[bytes] == '/';
    (void)snprintf(reason, SV_REASON_MAX, "%s%s%s", inside ? err->path + bytes + 1 : "",
                   inside ? ": " : "", sl_err_reason(err));
}

/* Labels are on the disk before they take effect. Only `previous`, which nothing needs at a start,
 * may be lost: a store that cannot be written can still be loaded from. */
static bool save(struct sv_registry *registry, struct sv_model *model,
                 const struct sv_labels *labels, struct sv_error *error)
{
    struct sl_err err;
    char reason[SV_REASON_MAX];
    bool is_optional = same_but_previous(labels, &model->labels);
    if (is_optional && labels->previous == model->labels.previous)
        return true;
    if (sv_labels_write(registry->options.store, model->name, labels, &err) || is_optional)
        return true;
    describe_failure(registry, &err, reason);
    SV_LOG(SV_LOG_ERROR, "labels not saved", sv_str("model", model->name),
           sv_str("reason", err.text));
    return sv_fail(error, SV_INTERNAL, NULL,
                   "The labels of '%s' could not be saved, so nothing was changed: %s.",
                   model->name, reason);
}

/* What follows the highest version would take a higher one at the next start. */
static void pin_below(struct sv_labels *labels, long version)
{
    labels->pinned = labels->pinned || (labels->stable > 0 && version > labels->stable);
}

static bool set_labels(struct sv_registry *registry, struct sv_model *model,
                       const struct sv_labels *labels, struct sv_error *error)
{
    if (!save(registry, model, labels, error))
        return false;
    sv_set_labels(registry, model, labels);
    return true;
}

/* ---- the changes ----------------------------------------------------------------------------- */

static void unload_version(struct sv_registry *registry, const struct sv_model *model,
                           struct sv_version *version)
{
    pthread_mutex_lock(&registry->lock);
    struct sv_model_ref *ref = sv_drain(registry, model, version);
    pthread_mutex_unlock(&registry->lock);
    if (ref)
        SV_LOG(SV_LOG_INFO, "model unloaded", sv_str("model", model->name),
               sv_int("version", version->number));
    sv_model_ref_release(ref);
}

/* Each training job leaves one: without this they would fill the memory. */
static void unload_candidates(struct sv_registry *registry, const struct sv_model *model, long but)
{
    for (int i = 0; i < model->count; i++) {
        struct sv_version *version = &model->versions[i];
        if (version->is_candidate && version->ref && version->number != but &&
            !sv_labels_keep(&model->labels, version->number))
            unload_version(registry, model, version);
    }
}

static bool load_one(struct sv_registry *registry, struct sv_model *model,
                     const struct sv_change *change, struct sv_change_result *result)
{
    struct sv_version *version = require_version(model, change->version, &result->error);
    if (!version || !sv_load_version(registry, model, version, &result->error))
        return false;
    struct sv_labels labels = model->labels;
    result->version = change->version;
    pin_below(&labels, change->version);
    struct sv_error ignored; /* the version is served by now; the log says what failed */
    (void)set_labels(registry, model, &labels, &ignored);
    version->is_candidate = change->is_candidate;
    if (change->is_candidate)
        unload_candidates(registry, model, change->version);
    return true;
}

static bool load(struct sv_registry *registry, const struct sv_change *change,
                 struct sv_change_result *result)
{
    struct sv_model *model = find_in_store(registry, change->model, &result->error);
    if (!model)
        return false;
    result->before = model->labels.stable;
    if (change->version > 0)
        return load_one(registry, model, change, result);
    if (!sv_load_highest(registry, model, change->is_found, &result->version, &result->error))
        return false;
    struct sv_labels labels = model->labels;
    /* It may have become stable when it was loaded, because nothing was. */
    labels.previous = result->before != labels.stable ? result->before : labels.previous;
    (void)sv_labels_set(&labels, sv_stable, result->version);
    labels.pinned = false;
    return set_labels(registry, model, &labels, &result->error);
}

static bool label(struct sv_registry *registry, const struct sv_change *change,
                  struct sv_change_result *result)
{
    struct sv_model *model = find_in_store(registry, change->model, &result->error);
    if (!model)
        return false;
    result->before = sv_labels_find(&model->labels, change->label);
    result->version = change->version > 0 ? change->version : result->before;
    if (result->version == 0)
        return sv_fail(&result->error, SV_MODEL_NOT_FOUND, "label",
                       "The model '%s' has no label '%s' yet; give a version to put it on.",
                       model->name, change->label);
    const bool is_stable = strcmp(change->label, sv_stable) == 0;
    result->was_pinned = model->labels.pinned;
    /* It may serve in place of the version that it is pinned to, which could not be loaded. */
    if (is_stable && change->version == 0 && model->labels.pinned)
        return true;
    struct sv_version *version = require_version(model, result->version, &result->error);
    if (!version || (!version->ref && !sv_load_version(registry, model, version, &result->error)))
        return false;
    struct sv_labels labels = model->labels;
    if (!sv_labels_set(&labels, change->label, result->version))
        return sv_fail(&result->error, SV_CONFLICT, "label",
                       "The model '%s' has %d labels already; remove one.", model->name,
                       SV_LABELS_MAX);
    if (strcmp(change->label, sv_canary) == 0 && change->weight != SV_WEIGHT_KEPT)
        labels.weight = change->weight;
    labels.pinned = labels.pinned || is_stable;
    pin_below(&labels, result->version);
    return set_labels(registry, model, &labels, &result->error);
}

static bool unlabel(struct sv_registry *registry, const struct sv_change *change,
                    struct sv_change_result *result)
{
    struct sv_model *model = sv_find_model(registry, change->model);
    if (!model)
        return fail_no_model(registry, change->model, &result->error);
    if (strcmp(change->label, sv_stable) == 0)
        return sv_fail(&result->error, SV_CONFLICT, "label",
                       "The label 'stable' cannot be removed; move it to another version.");
    struct sv_labels labels = model->labels;
    result->before = sv_labels_find(&labels, change->label);
    if (!sv_labels_remove(&labels, change->label))
        return fail_no_label(model, change->label, &result->error);
    return set_labels(registry, model, &labels, &result->error);
}

static bool roll_back(struct sv_registry *registry, const struct sv_change *change,
                      struct sv_change_result *result)
{
    const struct sv_model *model = find_in_store(registry, change->model, &result->error);
    if (!model)
        return false;
    if (model->labels.previous == 0)
        return sv_fail(
            &result->error, SV_CONFLICT, NULL,
            "The model '%s' has no earlier version to go back to; put the label 'stable' on "
            "a version instead.",
            model->name);
    struct sv_change back = {
        .kind = SV_CHANGE_LABEL, .version = model->labels.previous, .weight = SV_WEIGHT_KEPT};
    (void)snprintf(back.model, sizeof back.model, "%s", change->model);
    (void)snprintf(back.label, sizeof back.label, "%s", sv_stable);
    return label(registry, &back, result);
}

static bool unpin(struct sv_registry *registry, const struct sv_change *change,
                  struct sv_change_result *result)
{
    struct sv_model *model = find_in_store(registry, change->model, &result->error);
    if (!model)
        return false;
    struct sv_labels labels = model->labels;
    labels.pinned = false;
    result->version = labels.stable;
    return set_labels(registry, model, &labels, &result->error);
}

static bool unload(struct sv_registry *registry, const struct sv_change *change,
                   struct sv_change_result *result)
{
    struct sv_model *model = sv_find_model(registry, change->model);
    if (!model)
        return fail_no_model(registry, change->model, &result->error);
    if (change->version > 0 && !require_version(model, change->version, &result->error))
        return false;
    const struct sv_labels *labels = &model->labels;
    if (change->version > 0 &&
        (change->version == labels->stable || sv_labels_name(labels, change->version)))
        return sv_fail(&result->error, SV_CONFLICT, "version",
                       "The version %ld of '%s' has a label; move its labels first, or unload the "
                       "whole model.",
                       change->version, model->name);
    result->version = change->version;
    for (int i = 0; i < model->count; i++)
        if (change->version == 0 || model->versions[i].number == change->version)
            unload_version(registry, model, &model->versions[i]);
    return true;
}

/* Checks what a change says of itself, whatever models there are. */
static bool check(const struct sv_change *change, struct sv_error *error)
{
    if (change->kind != SV_CHANGE_LABEL && change->kind != SV_CHANGE_UNLABEL)
        return true;
    if (!sl_version_label_is_valid(change->label))
        return sv_fail(error, SV_INVALID_VALUE, "label",
                       "Invalid label '%s': " SL_VERSION_LABEL_RULE ".", change->label);
    if (change->kind == SV_CHANGE_UNLABEL || change->weight == SV_WEIGHT_KEPT)
        return true;
    if (strcmp(change->label, sv_canary) != 0)
        return sv_fail(error, SV_INVALID_VALUE, "weight",
                       "Only the label 'canary' has a weight, not '%s'.", change->label);
    return (change->weight >= 0 && change->weight <= SV_WEIGHT_MAX) ||
           sv_fail(error, SV_INVALID_VALUE, "weight", "'weight' must be 0 to %d, not %d.",
                   SV_WEIGHT_MAX, change->weight);
}

static bool has_canary(struct sv_registry *registry, const char *name)
{
    const struct sv_model *model = sv_find_model(registry, name);
    return model && sv_labels_find(&model->labels, sv_canary) > 0;
}

/* At the next start nothing is served yet that the version would be refused for. */
static void pin_below_refused(struct sv_registry *registry, struct sv_model *model)
{
    struct sv_error ignored; /* what is served does not change; the log says what failed */
    struct sv_labels labels = model->labels;
    for (int i = 0; i < model->count; i++)
        if (model->versions[i].is_of_other_task)
            pin_below(&labels, model->versions[i].number);
    (void)set_labels(registry, model, &labels, &ignored);
}

void sv_make_change(struct sv_registry *registry, const struct sv_change *change,
                    struct sv_change_result *result)
{
    static bool (*const changes[SV_CHANGE_KINDS])(struct sv_registry *, const struct sv_change *,
                                                  struct sv_change_result *) = {
        [SV_CHANGE_LOAD] = load,       [SV_CHANGE_UNLOAD] = unload,       [SV_CHANGE_LABEL] = label,
        [SV_CHANGE_UNLABEL] = unlabel, [SV_CHANGE_ROLL_BACK] = roll_back, [SV_CHANGE_UNPIN] = unpin,
    };
    bool had_canary = has_canary(registry, change->model);
    bool ok = check(change, &result->error) && changes[change->kind](registry, change, result);
    struct sv_model *model = sv_find_model(registry, change->model);
    if (model)
        pin_below_refused(registry, model);
    if (!ok)
        return;
    result->weight = model ? model->labels.weight : 0;
    result->removed_canary = model && had_canary && change->kind != SV_CHANGE_UNLABEL &&
                             !has_canary(registry, change->model);
    if (result->removed_canary)
        SV_LOG(SV_LOG_INFO, "label canary removed: stable moved to its version",
               sv_str("model", model->name), sv_int("version", model->labels.stable));
}
