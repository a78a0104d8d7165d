/* registry_thread.c - makes changes one after another, finds new versions in the store, unloads
 * idle ones, and frees those that are unused. */
#include "registry/registry_thread.h"
#include "base/clock.h"
#include "core/log.h"
#include "core/thread_priority.h"
#include "registry/registry_changes.h"
#include "registry/retired_versions.h"
#include "registry/store_scan.h"

#include <assert.h>
#include <errno.h>
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
static bool is_unused(const struct sv_registry *registry, const struct sv_model *model,
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
            if (is_unused(registry, model, version, now))
                ref = sv_drain(registry, model, version);
        }
    }
    pthread_mutex_unlock(&registry->lock);
    return ref;
}

/* Looks for new versions and unloads idle ones, when it is time. */
static void keep_up(struct sv_registry *registry)
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

/* ---- the thread ------------------------------------------------------------------------------ */

/* With the lock. */
static bool is_idle(const struct sv_registry *registry)
{
    const struct sv_model_ref *ref = registry->retired;
    while (ref && !ref->unused)
        ref = ref->next;
    return !ref && registry->change_count == 0 && !registry->stop &&
           !atomic_load(&registry->rescan);
}

/* Waits for something to do, or for a moment. False: it is to stop. `change`: the next, or none. */
static bool wait_for_work(struct sv_registry *registry, struct sv_queued_change *change)
{
    struct timespec until = sl_timespec(sl_now_ns() + (int64_t)SV_IDLE_MS * 1000000);
    pthread_mutex_lock(&registry->lock);
    while (is_idle(registry))
        if (pthread_cond_timedwait(&registry->wakeup, &registry->lock, &until) == ETIMEDOUT)
            break;
    *change = (struct sv_queued_change){0};
    if (registry->change_count > 0 && !registry->stop) {
        *change = registry->changes[registry->first_change];
        registry->first_change = (registry->first_change + 1) % SV_CHANGES_MAX;
        registry->change_count--;
    }
    bool stop = registry->stop;
    pthread_mutex_unlock(&registry->lock);
    return !stop;
}

static void *run(void *argument)
{
    struct sv_registry *registry = argument;
    struct sv_queued_change next;
    (void)pthread_setname_np(pthread_self(), "registry");
    sv_thread_add_nice(SV_LOADER_NICE);
    while (wait_for_work(registry, &next)) {
        sv_free_retired(registry);
        if (next.done) {
            struct sv_change_result result = {0};
            sv_make_change(registry, &next.change, &result);
            next.done(next.context, &result);
        }
        sv_expire_retired(registry);
        keep_up(registry);
    }
    return NULL;
}

bool sv_registry_thread_start(struct sv_registry *registry, struct sl_err *err)
{
    registry->started = pthread_create(&registry->thread, NULL, run, registry) == 0;
    return registry->started || sl_fail(err, SL_IO, "cannot start the registry's thread");
}

void sv_registry_thread_stop(struct sv_registry *registry)
{
    pthread_mutex_lock(&registry->lock);
    registry->stop = true;
    pthread_cond_signal(&registry->wakeup);
    pthread_mutex_unlock(&registry->lock);
    if (registry->started)
        (void)pthread_join(registry->thread, NULL);
    registry->started = false;
    for (; registry->change_count > 0; registry->change_count--) {
        const struct sv_queued_change *change = &registry->changes[registry->first_change];
        struct sv_change_result result = {0};
        (void)sv_fail_draining(&result.error);
        change->done(change->context, &result);
        registry->first_change = (registry->first_change + 1) % SV_CHANGES_MAX;
    }
}

bool sv_registry_request(struct sv_registry *registry, const struct sv_change *change,
                         sv_change_done *done, void *context, struct sv_error *error)
{
    assert(done);
    pthread_mutex_lock(&registry->lock);
    bool stop = registry->stop, full = registry->change_count == SV_CHANGES_MAX;
    if (!stop && !full) {
        int last = (registry->first_change + registry->change_count) % SV_CHANGES_MAX;
        registry->changes[last] =
            (struct sv_queued_change){.change = *change, .done = done, .context = context};
        registry->change_count++;
        pthread_cond_signal(&registry->wakeup);
    }
    pthread_mutex_unlock(&registry->lock);
    if (stop)
        return sv_fail_draining(error);
    return !full ||
           sv_fail(error, SV_OVERLOADED, NULL,
                   "%d changes of models are waiting already; retry later.", SV_CHANGES_MAX);
}
