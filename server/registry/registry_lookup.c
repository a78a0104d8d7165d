/* registry_lookup.c - what requests look up in the tables of models and versions. */
#include "base/clock.h"
#include "base/comma_list.h"
#include "registry/registry_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a name means: a model, and one of its versions. */
struct target {
    struct sv_model *model;
    struct sv_version *version;
    enum sv_found found;
};

/* The version that a request without a version gets: the canary's if it is its turn and it is
 * ready. With the lock. */
static struct sv_version *choose(struct sv_model *model, int share)
{
    enum { SHARES = SV_SHARE_MAX + 1, STRIDE = 61 }; /* without a common factor, so all come */

    const struct sv_labels *labels = &model->labels;
    if (labels->weight > 0 && share == SV_SHARE_NEXT)
        share = (int)(model->next_share++ % SHARES * STRIDE % SHARES);
    if (labels->weight > 0 && share < labels->weight) {
        struct sv_version *canary = sv_find_version(model, sv_labels_find(labels, sv_canary));
        if (canary && canary->ref)
            return canary;
    }
    return sv_find_version(model, labels->stable);
}

/* `model`, `model@version` or `model:label`. */
static struct target resolve(struct sv_registry *registry, const char *name, int share)
{
    char model_name[SV_MODEL_ID_MAX];
    size_t bytes = strcspn(name, "@:");
    struct target target = {.found = SV_NO_MODEL};
    if (bytes >= sizeof model_name)
        return target;
    memcpy(model_name, name, bytes);
    model_name[bytes] = '\0';
    target.model = sv_find_model(registry, model_name);
    if (!target.model)
        return target;
    const char *selector = name + bytes;
    target.found = SV_FOUND;
    if (selector[0] == '\0') {
        target.version = choose(target.model, share);
        return target;
    }
    bool is_label = selector[0] == ':';
    long number = is_label ? sv_labels_find(&target.model->labels, selector + 1)
                           : sl_version_parse(selector + 1);
    target.version = sv_find_version(target.model, number);
    if (is_label && number == 0)
        target.found = SV_NO_LABEL;
    else if (!target.version)
        target.found = SV_NO_VERSION;
    return target;
}

struct sv_model_ref *sv_registry_acquire(struct sv_registry *registry, const char *name, int share)
{
    struct sv_model_ref *ref = NULL;
    pthread_mutex_lock(&registry->lock);
    const struct target target = resolve(registry, name, share);
    if (target.found == SV_FOUND && target.version && target.version->ref)
        ref = sv_model_ref_acquire(target.version->ref);
    if (ref)
        ref->used_ns = sl_now_ns();
    pthread_mutex_unlock(&registry->lock);
    return ref;
}

static void add_label(struct sv_version_info *info, const char *label)
{
    (void)snprintf(info->labels[info->label_count++], sizeof info->labels[0], "%s", label);
}

static void describe_labels(const struct sv_labels *labels, long version,
                            struct sv_version_info *info)
{
    info->is_stable = version == labels->stable;
    info->is_pinned = info->is_stable && labels->pinned;
    if (info->is_stable)
        add_label(info, sv_stable);
    for (int i = 0; i < labels->count; i++)
        if (labels->items[i].version == version)
            add_label(info, labels->items[i].name);
    info->weight = sv_labels_find(labels, sv_canary) == version ? labels->weight : 0;
}

static void describe(const struct sv_model *model, const struct sv_version *version,
                     struct sv_version_info *info)
{
    *info = (struct sv_version_info){.state = version->state};
    (void)snprintf(info->name, sizeof info->name, "%s", model->name);
    (void)snprintf(info->version, sizeof info->version, "%ld", version->number);
    (void)snprintf(info->reason, sizeof info->reason, "%s", version->reason);
    describe_labels(&model->labels, version->number, info);
}

/* The version that stands for `model` when none is stable: the highest that failed or is loading,
 * whose state says why. */
static const struct sv_version *representative(const struct sv_model *model)
{
    for (int i = model->count - 1; i >= 0; i--)
        if (model->versions[i].state == SV_VERSION_FAILED ||
            model->versions[i].state == SV_VERSION_LOADING)
            return &model->versions[i];
    return model->count > 0 ? &model->versions[model->count - 1] : NULL;
}

enum sv_found sv_registry_find(struct sv_registry *registry, const char *name,
                               struct sv_version_info *info)
{
    pthread_mutex_lock(&registry->lock);
    const struct target target = resolve(registry, name, SV_SHARE_MAX);
    enum sv_found found = target.found;
    const struct sv_version *version = target.version;
    if (target.model && !version)
        version = sv_find_version(target.model, target.model->labels.stable);
    if (target.model && !version)
        version = representative(target.model);
    if (version)
        describe(target.model, version, info);
    else
        found = SV_NO_MODEL;
    pthread_mutex_unlock(&registry->lock);
    return found;
}

/* With the lock. */
static void fill_versions(const struct sv_registry *registry, struct sv_snapshot *snapshot)
{
    snapshot->count = 0;
    for (int i = 0; i < registry->count; i++) {
        const struct sv_model *model = &registry->models[i];
        for (int j = 0; j < model->count; j++) {
            struct sv_version_info *info = &snapshot->items[snapshot->count++];
            describe(model, &model->versions[j], info);
            if (model->versions[j].ref)
                info->ref = sv_model_ref_acquire(model->versions[j].ref);
        }
    }
}

struct sv_snapshot *sv_registry_snapshot(struct sv_registry *registry)
{
    pthread_mutex_lock(&registry->lock);
    int count = 0, ignored = registry->ignored_count;
    for (int i = 0; i < registry->count; i++)
        count += registry->models[i].count;
    struct sv_snapshot *snapshot =
        malloc(sizeof *snapshot + (size_t)count * sizeof snapshot->items[0] +
               (size_t)ignored * sizeof *snapshot->ignored);
    if (snapshot) {
        fill_versions(registry, snapshot);
        snapshot->ignored_count = ignored;
        snapshot->ignored = memcpy(&snapshot->items[count], registry->ignored,
                                   (size_t)ignored * sizeof *snapshot->ignored);
    }
    pthread_mutex_unlock(&registry->lock);
    return snapshot;
}

void sv_snapshot_release(struct sv_snapshot *snapshot)
{
    for (int i = 0; snapshot && i < snapshot->count; i++)
        sv_model_ref_release(snapshot->items[i].ref);
    free(snapshot);
}

const char *sv_registry_list_models(struct sv_registry *registry, bool loaded, char *list,
                                    size_t bytes)
{
    list[0] = '\0';
    pthread_mutex_lock(&registry->lock);
    for (int i = 0; i < registry->count; i++) {
        const struct sv_model *model = &registry->models[i];
        if (loaded ? sv_model_is_served(model) : model->count > 0)
            sl_list_add(list, bytes, model->name);
    }
    pthread_mutex_unlock(&registry->lock);
    if (!list[0])
        (void)snprintf(list, bytes, "none");
    return list;
}

/* A model that was unloaded on purpose is not missed; one that failed to load is. */
static bool is_missed(const struct sv_model *model)
{
    bool failed = false;
    for (int i = 0; i < model->count; i++) {
        if (model->versions[i].ref)
            return false;
        failed = failed || model->versions[i].state == SV_VERSION_FAILED;
    }
    return failed;
}

bool sv_registry_is_complete(struct sv_registry *registry)
{
    bool served = false, missed = false;
    pthread_mutex_lock(&registry->lock);
    for (int i = 0; i < registry->count; i++) {
        for (int j = 0; j < registry->models[i].count; j++)
            served = served || registry->models[i].versions[j].ref;
        missed = missed || is_missed(&registry->models[i]);
    }
    pthread_mutex_unlock(&registry->lock);
    return served && !missed;
}
