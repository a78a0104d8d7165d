/* registry_thread.c - the registry's thread: makes changes one after another, and frees versions
 * that are not used any more. */
#include "base/clock.h"
#include "core/log.h"
#include "core/thread_priority.h"
#include "registry/registry_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- versions that were retired -------------------------------------------------------------- */

/* Removes an unused one from the list; NULL: there is none. With the lock. */
static struct sv_model_ref *take_unused(struct sv_registry *registry)
{
    struct sv_model_ref **link = &registry->retired;
    while (*link && !(*link)->unused)
        link = &(*link)->next;
    struct sv_model_ref *ref = *link;
    if (ref)
        *link = ref->next;
    return ref;
}

/* With the lock. */
static void count_out(struct sv_registry *registry, const char *name, long number)
{
    struct sv_model *model = sv_find_model(registry, name);
    struct sv_version *version = model ? sv_find_version(model, number) : NULL;
    assert(version); /* what is in use is not forgotten */
    assert(version->retired > 0);
    version->retired--;
    if (version->retired > 0 || version->state != SV_VERSION_DRAINING)
        return;
    version->state = SV_VERSION_UNLOADED;
    sv_record_unloaded(registry, model, version);
}

void sv_keeper_reap(struct sv_registry *registry)
{
    pthread_mutex_lock(&registry->lock);
    for (struct sv_model_ref *ref; (ref = take_unused(registry));) {
        char name[SV_MODEL_ID_MAX];
        long number = ref->number;
        memcpy(name, ref->name, sizeof name);
        pthread_mutex_unlock(&registry->lock);
        SV_LOG(SV_LOG_DEBUG, "version freed", sv_str("model", ref->id));
        sv_version_close(ref);
        pthread_mutex_lock(&registry->lock);
        count_out(registry, name, number);
    }
    pthread_mutex_unlock(&registry->lock);
}

/* One whose requests had their time; NULL: there is none. With the lock. */
static struct sv_model_ref *find_expired(const struct sv_registry *registry, int64_t now)
{
    struct sv_model_ref *ref = registry->retired;
    while (ref && (ref->deadline_ns == 0 || ref->deadline_ns > now || ref->unused))
        ref = ref->next;
    return ref;
}

/* Only this thread frees what is retired, so it may use it without the lock. */
static void expire(struct sv_registry *registry)
{
    const struct sv_model_host *host = &registry->options.host;
    int64_t now = sl_now_ns();
    struct sv_model_ref *ref;
    pthread_mutex_lock(&registry->lock);
    while ((ref = find_expired(registry, now))) {
        ref->deadline_ns = 0;
        pthread_mutex_unlock(&registry->lock);
        SV_LOG(SV_LOG_WARN, "requests of a version are cut", sv_str("model", ref->id),
               sv_int("seconds", registry->options.drain_seconds));
        if (ref->executor)
            host->expire(host->context, ref->executor);
        pthread_mutex_lock(&registry->lock);
    }
    pthread_mutex_unlock(&registry->lock);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* With the lock. */
static bool is_idle(const struct sv_registry *registry)
{
    const struct sv_model_ref *ref = registry->retired;
    while (ref && !ref->unused)
        ref = ref->next;
    return !ref && registry->job_count == 0 && !registry->stop && !atomic_load(&registry->rescan);
}

/* Waits for something to do, or for a moment. False: it is to stop. `job`: the next, or none. */
static bool wait_for_work(struct sv_registry *registry, struct sv_job *job)
{
    struct timespec until = sl_timespec(sl_now_ns() + (int64_t)SV_IDLE_MS * 1000000);
    pthread_mutex_lock(&registry->lock);
    while (is_idle(registry))
        if (pthread_cond_timedwait(&registry->wakeup, &registry->lock, &until) == ETIMEDOUT)
            break;
    *job = (struct sv_job){0};
    if (registry->job_count > 0 && !registry->stop) {
        *job = registry->jobs[registry->first_job];
        registry->first_job = (registry->first_job + 1) % SV_CHANGES_MAX;
        registry->job_count--;
    }
    bool stop = registry->stop;
    pthread_mutex_unlock(&registry->lock);
    return !stop;
}

static void *keep(void *argument)
{
    struct sv_registry *registry = argument;
    struct sv_job job;
    (void)pthread_setname_np(pthread_self(), "registry");
    sv_thread_add_nice(SV_LOADER_NICE);
    while (wait_for_work(registry, &job)) {
        sv_keeper_reap(registry);
        if (job.done) {
            struct sv_change_result result = {0};
            sv_make_change(registry, &job.change, &result);
            job.done(job.context, &result);
        }
        expire(registry);
        sv_upkeep(registry);
    }
    return NULL;
}

bool sv_keeper_start(struct sv_registry *registry, struct sl_err *err)
{
    registry->started = pthread_create(&registry->thread, NULL, keep, registry) == 0;
    return registry->started || sl_fail(err, SL_IO, "cannot start the registry's thread");
}

static void fail_ending(struct sv_error *error)
{
    (void)sv_fail(error, SV_DRAINING, NULL, "The daemon is shutting down.");
    error->retry_ms = 1000;
}

void sv_keeper_stop(struct sv_registry *registry)
{
    pthread_mutex_lock(&registry->lock);
    registry->stop = true;
    pthread_cond_signal(&registry->wakeup);
    pthread_mutex_unlock(&registry->lock);
    if (registry->started)
        (void)pthread_join(registry->thread, NULL);
    registry->started = false;
    for (; registry->job_count > 0; registry->job_count--) {
        const struct sv_job *job = &registry->jobs[registry->first_job];
        struct sv_change_result result = {0};
        fail_ending(&result.error);
        job->done(job->context, &result);
        registry->first_job = (registry->first_job + 1) % SV_CHANGES_MAX;
    }
}

bool sv_registry_request(struct sv_registry *registry, const struct sv_change *change,
                         sv_change_done *done, void *context, struct sv_error *error)
{
    assert(done);
    pthread_mutex_lock(&registry->lock);
    bool stop = registry->stop, full = registry->job_count == SV_CHANGES_MAX;
    if (!stop && !full) {
        int last = (registry->first_job + registry->job_count) % SV_CHANGES_MAX;
        registry->jobs[last] = (struct sv_job){.change = *change, .done = done, .context = context};
        registry->job_count++;
        pthread_cond_signal(&registry->wakeup);
    }
    pthread_mutex_unlock(&registry->lock);
    if (stop)
        fail_ending(error);
    else if (full) {
        (void)sv_fail(error, SV_OVERLOADED, NULL,
                      "%d changes of models are waiting already; retry later.", SV_CHANGES_MAX);
        error->retry_ms = 1000;
    }
    return !stop && !full;
}
