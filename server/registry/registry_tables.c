/* registry_tables.c - the tables of models and versions. */
#include "registry/registry_tables.h"
#include "base/clock.h"
#include "registry/version_metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The position of a name, or where it belongs. */
static int place_of(const struct sv_registry *registry, const char *name)
{
    int i = 0;
    while (i < registry->count && strcmp(registry->models[i].name, name) < 0)
        i++;
    return i;
}

struct sv_model *sv_find_model(struct sv_registry *registry, const char *name)
{
    int i = place_of(registry, name);
    bool found = i < registry->count && strcmp(registry->models[i].name, name) == 0;
    return found ? &registry->models[i] : NULL;
}

struct sv_model *sv_add_model(struct sv_registry *registry, const char *name)
{
    char whole[SV_MODEL_ID_MAX];
    (void)snprintf(whole, sizeof whole, "%s", name);
    struct sv_model *model = sv_find_model(registry, whole);
    if (model || registry->count == SV_MODELS_MAX)
        return model;
    int place = place_of(registry, whole);
    model = &registry->models[place];
    memmove(model + 1, model, (size_t)(registry->count - place) * sizeof *model);
    *model = (struct sv_model){0};
    (void)snprintf(model->name, sizeof model->name, "%s", whole);
    registry->count++;
    return model;
}

struct sv_version *sv_find_version(struct sv_model *model, long number)
{
    for (int i = 0; i < model->count; i++)
        if (model->versions[i].number == number)
            return &model->versions[i];
    return NULL;
}

void sv_forget_version(struct sv_registry *registry, struct sv_model *model, int index)
{
    sv_record_forgotten(registry->options.metrics, model->name, model->versions[index].number);
    model->count--;
    memmove(&model->versions[index], &model->versions[index + 1],
            (size_t)(model->count - index) * sizeof model->versions[index]);
}

void sv_forget_model(struct sv_registry *registry, struct sv_model *model)
{
    sv_record_model_forgotten(registry->options.metrics, model->name);
    free(model->versions);
    registry->count--;
    memmove(model, model + 1, (size_t)(&registry->models[registry->count] - model) * sizeof *model);
}

/* Makes room for a version among the lower ones that are not in use; the lowest goes. */
static bool make_room(struct sv_registry *registry, struct sv_model *model, long number)
{
    int i = 0;
    while (i < model->count && (model->versions[i].ref || model->versions[i].retired > 0 ||
                                model->versions[i].state == SV_VERSION_LOADING))
        i++;
    if (i == model->count || model->versions[i].number > number)
        return false;
    sv_forget_version(registry, model, i);
    return true;
}

struct sv_version *sv_add_version(struct sv_registry *registry, struct sv_model *model, long number)
{
    struct sv_version *version = sv_find_version(model, number);
    if (version)
        return version;
    if (!model->versions)
        model->versions = calloc(SV_VERSIONS_MAX, sizeof *model->versions);
    if (!model->versions ||
        (model->count == SV_VERSIONS_MAX && !make_room(registry, model, number)))
        return NULL;
    int place = 0;
    while (place < model->count && model->versions[place].number < number)
        place++;
    version = &model->versions[place];
    memmove(version + 1, version, (size_t)(model->count - place) * sizeof *version);
    *version = (struct sv_version){.number = number};
    model->count++;
    return version;
}

bool sv_model_is_served(const struct sv_model *model)
{
    for (int i = 0; i < model->count; i++)
        if (model->versions[i].ref)
            return true;
    return false;
}

void sv_set_version_state(struct sv_registry *registry, const struct sv_model *model,
                          struct sv_version *version, enum sv_version_state state)
{
    version->state = state;
    sv_record_state(registry->options.metrics, model->name, version->number, state,
                    version->ref != NULL);
}

struct sv_model_ref *sv_retire(struct sv_registry *registry, struct sv_version *version)
{
    struct sv_model_ref *ref = version->ref;
    if (!ref)
        return NULL;
    version->ref = NULL;
    version->reason[0] = '\0'; /* of a reload: it is not why requests do not get it */
    version->retired++;
    if (registry->options.drain_seconds > 0)
        ref->deadline_ns = sl_now_ns() + registry->options.drain_seconds * 1000000000;
    ref->next = registry->retired;
    registry->retired = ref;
    return ref;
}

struct sv_model_ref *sv_drain(struct sv_registry *registry, const struct sv_model *model,
                              struct sv_version *version)
{
    struct sv_model_ref *ref = sv_retire(registry, version);
    if (ref)
        sv_set_version_state(registry, model, version, SV_VERSION_DRAINING);
    return ref;
}
