/* registry_life.c - creates and destroys the registry. */
#include "base/allocate.h"
#include "base/clock.h"
#include "registry/registry_tables.h"
#include "registry/registry_thread.h"
#include "registry/retired_versions.h"

#include <assert.h>
#include <stdlib.h>

struct sv_registry *sv_registry_create(const struct sv_registry_options *options,
                                       struct sl_err *err)
{
    struct sv_registry *registry = sl_new(sizeof *registry, "the registry", err);
    if (!registry)
        return NULL;
    registry->options = *options;
    pthread_mutex_init(&registry->lock, NULL);
    sl_monotonic_cond_init(&registry->wakeup);
    if (sv_registry_thread_start(registry, err))
        return registry;
    sv_registry_destroy(registry);
    return NULL;
}

static void retire_all(struct sv_registry *registry)
{
    for (int i = 0; i < registry->count; i++) {
        struct sv_model *model = &registry->models[i];
        for (int j = 0; j < model->count; j++) {
            pthread_mutex_lock(&registry->lock);
            struct sv_model_ref *ref = sv_retire(registry, &model->versions[j]);
            pthread_mutex_unlock(&registry->lock);
            sv_model_ref_release(ref);
        }
    }
}

void sv_registry_stop(struct sv_registry *registry)
{
    if (registry)
        sv_registry_thread_stop(registry);
}

void sv_registry_destroy(struct sv_registry *registry)
{
    if (!registry)
        return;
    sv_registry_stop(registry);
    retire_all(registry);
    sv_free_retired(registry);
    assert(!registry->retired); /* there are no references */
    for (int i = 0; i < registry->count; i++)
        free(registry->models[i].versions);
    pthread_cond_destroy(&registry->wakeup);
    pthread_mutex_destroy(&registry->lock);
    free(registry);
}
