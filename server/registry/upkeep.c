/* upkeep.c - finds new versions in the store, unloads idle ones. */
#include "registry/upkeep.h"
#include "base/clock.h"
#include "core/log.h"
#include "registry/registry_changes.h"
#include "registry/store_scan.h"

#include <stdatomic.h>
#include <stdio.h>

/* ---- new versions ---------------------------------------------------------------------------- */

/* A higher version than any known before is loaded, unless `stable` is pinned. False: there is
 * none. */
static bool find_new(struct sv_registry *registry, const char *name)
{
    struct sv_model *model =
        sv_scan_model(registry, name) > 0 ? sv_find_model(registry, name) : NULL;
    long found = model ? sv_note_complete(registry, model) : 0;
    if (found == 0 || found <= model->labels.stable)
        return false;
    SV_LOG(SV_LOG_INFO, "new version in the store", sv_str("model", name),
           sv_int("version", found));
    if (model->labels.pinned)
        return true;
    struct sv_change change = {.kind = SV_CHANGE_LOAD, .is_found = true};
    struct sv_change_result result = {0};
    (void)snprintf(change.model, sizeof change.model, "%s", name);
    sv_make_change(registry, &change, &result);
    if (registry->options.on_change)
        registry->options.on_change(registry->options.context, &change, &result);
    return true;
}

static bool is_due(struct sv_registry *registry, int64_t now)
{
    const int64_t every = registry->options.poll_seconds * 1000000000;
    bool asked = atomic_exchange(&registry->rescan, false);
    if (!asked && (every == 0 || now - registry->scanned_ns < every))
        return false;
    registry->scanned_ns = now;
    return true;
}

/* ---- idle versions --------------------------------------------------------------------------- */

/* What requests for `model` alone need is never idle. With the lock. */
static bool is_idle(const struct sv_registry *registry, const struct sv_model *model,
                    const struct sv_version *version, int64_t now)
{
    const struct sv_labels *labels = &model->labels;
    bool is_canary = labels->weight > 0 && sv_labels_find(labels, sv_canary) == version->number;
    return version->ref && version->number != labels->stable && !is_canary &&
           atomic_load(&version->ref->references) == 1 &&
           now - version->ref->used_ns > registry->options.idle_seconds * 1000000000;
}

/* Retires one idle version; NULL: there is none. */
static struct sv_model_ref *retire_idle(struct sv_registry *registry, int64_t now)
{
    struct sv_model_ref *ref = NULL;
    pthread_mutex_lock(&registry->lock);
    for (int i = 0; i < registry->count && !ref; i++) {
        struct sv_model *model = &registry->models[i];
        for (int j = 0; j < model->count && !ref; j++) {
            struct sv_version *version = &model->versions[j];
            if (is_idle(registry, model, version, now))
                ref = sv_drain(registry, model, version);
        }
    }
    pthread_mutex_unlock(&registry->lock);
    return ref;
}

void sv_upkeep(struct sv_registry *registry)
{
    int64_t now = sl_now_ns();
    struct sv_model_ref *ref;
    if (!atomic_load(&registry->is_loaded))
        return; /* another thread changes the tables at the start */
    if (is_due(registry, now)) {
        sv_forget_models(registry);
        (void)sv_scan_store(registry, find_new);
    }
    while (registry->options.idle_seconds > 0 && (ref = retire_idle(registry, now))) {
        SV_LOG(SV_LOG_INFO, "idle version unloaded", sv_str("model", ref->name),
               sv_str("version", ref->version));
        sv_model_ref_release(ref);
    }
}

void sv_registry_rescan(struct sv_registry *registry)
{
    atomic_store(&registry->rescan, true);
    pthread_mutex_lock(&registry->lock);
    pthread_cond_signal(&registry->wakeup);
    pthread_mutex_unlock(&registry->lock);
}
