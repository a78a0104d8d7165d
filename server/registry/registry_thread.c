/* registry_thread.c - makes changes one after another, and frees versions that are unused. */
#include "registry/registry_thread.h"
#include "base/clock.h"
#include "core/thread_priority.h"
#include "registry/registry_changes.h"
#include "registry/retired_versions.h"
#include "registry/upkeep.h"

#include <assert.h>
#include <errno.h>

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
        sv_upkeep(registry);
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
