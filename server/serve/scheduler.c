/* scheduler.c - one thread that runs what was admitted, batch after batch. */
#include "serve/scheduler.h"
#include "base/clock.h"
#include "core/limits.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct sv_scheduler {
    struct sv_scheduler_options options;
    struct sv_executor *executors[SV_MODELS_MAX];
    int executor_count;
    pthread_t thread;
    bool started;

    pthread_mutex_t lock; /* guards the next four */
    pthread_cond_t wakeup;
    bool woken, sweep, stop;
    struct sv_error ending; /* if its kind is not SV_OK, all work ends with it */

    _Atomic int64_t last_progress_ns; /* the last progress */
    atomic_bool is_idle;
    int64_t heartbeat_ns, swept_ns; /* used by the scheduler's thread only */
};

/* Requests of other threads, read under the lock. */
struct control {
    bool sweep, stop, ending;
};

/* ---- the thread ------------------------------------------------------------------------------ */

static void wait_until_woken(struct sv_scheduler *scheduler, int64_t ms)
{
    struct timespec until = sl_timespec(sl_now_ns() + ms * 1000000);
    while (!scheduler->woken)
        if (pthread_cond_timedwait(&scheduler->wakeup, &scheduler->lock, &until) == ETIMEDOUT)
            break;
}

static struct control wait_for_work(struct sv_scheduler *scheduler, bool idle)
{
    /* Even if no work can advance (all streams are full), deadlines pass. */
    int64_t ms = sv_scheduler_pending(scheduler) > 0 ? SV_SWEEP_MS : SV_IDLE_MS;
    pthread_mutex_lock(&scheduler->lock);
    atomic_store(&scheduler->is_idle, idle);
    if (idle)
        wait_until_woken(scheduler, ms);
    atomic_store(&scheduler->is_idle, false);
    struct control control = {.sweep = scheduler->sweep || scheduler->ending.kind != SV_OK,
                              .stop = scheduler->stop,
                              .ending = scheduler->ending.kind != SV_OK};
    scheduler->woken = false;
    scheduler->sweep = false;
    pthread_mutex_unlock(&scheduler->lock);
    return control;
}

static void heartbeat(struct sv_scheduler *scheduler)
{
    int64_t now = sl_now_ns();
    atomic_store(&scheduler->last_progress_ns, now);
    if (!scheduler->options.heartbeat ||
        now - scheduler->heartbeat_ns < (int64_t)SV_IDLE_MS * 1000000)
        return;
    scheduler->heartbeat_ns = now;
    scheduler->options.heartbeat(scheduler->options.context);
}

static bool step_all(struct sv_scheduler *scheduler, const struct control *control)
{
    bool ran = false;
    int64_t now = sl_now_ns();
    bool sweep = control->sweep || now - scheduler->swept_ns > (int64_t)SV_SWEEP_MS * 1000000;
    for (int i = 0; i < scheduler->executor_count; i++) {
        /* `ending` does not change once it is set, so it may be read without the lock. */
        const struct sv_error *ending = control->ending ? &scheduler->ending : NULL;
        struct sv_executor *executor = scheduler->executors[i];
        sv_executor_collect(executor);
        if (sweep)
            executor->kind->sweep(executor, ending);
        ran = executor->kind->step(executor) || ran;
        heartbeat(scheduler);
    }
    if (sweep)
        scheduler->swept_ns = now;
    return ran;
}

static void *dispatch(void *argument)
{
    struct sv_scheduler *scheduler = argument;
    bool idle = true;
    (void)pthread_setname_np(pthread_self(), "scheduler");
    for (;;) {
        struct control control = wait_for_work(scheduler, idle);
        heartbeat(scheduler);
        idle = !step_all(scheduler, &control);
        if (control.stop && sv_scheduler_pending(scheduler) == 0)
            return NULL;
    }
}

/* ---- making and unmaking --------------------------------------------------------------------- */

/* The kind depends on the model's task. */
static struct sv_executor *make_executor(const struct sv_scheduler_options *options,
                                         struct sv_model_ref *ref, struct sv_metrics *metrics,
                                         struct sl_err *err)
{
    if (sl_model_info(sv_model_ref_model(ref))->task == SL_TASK_COMPLETION)
        return sv_completion_executor_create(ref, &options->complete, metrics, err);
    return sv_classification_executor_create(ref, &options->classify, metrics, err);
}

static bool make_executors(struct sv_scheduler *scheduler, struct sv_registry *registry,
                           struct sv_metrics *metrics, struct sl_err *err)
{
    for (int i = 0; i < SV_MODELS_MAX; i++) {
        struct sv_model_ref *ref = sv_registry_acquire_at(registry, i);
        if (!ref)
            return true;
        struct sv_executor *executor = make_executor(&scheduler->options, ref, metrics, err);
        sv_model_ref_release(ref);
        if (!executor)
            return false;
        scheduler->executors[scheduler->executor_count++] = executor;
    }
    return true;
}

static void init_wakeup(pthread_cond_t *wakeup)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(wakeup, &attributes);
    pthread_condattr_destroy(&attributes);
}

struct sv_scheduler *sv_scheduler_create(const struct sv_scheduler_options *options,
                                         struct sv_registry *registry, struct sv_metrics *metrics,
                                         struct sl_err *err)
{
    struct sv_scheduler *scheduler = calloc(1, sizeof *scheduler);
    if (!scheduler) {
        (void)sl_fail(err, SL_NO_MEMORY, "scheduler");
        return NULL;
    }
    scheduler->options = *options;
    pthread_mutex_init(&scheduler->lock, NULL);
    init_wakeup(&scheduler->wakeup);
    atomic_store(&scheduler->last_progress_ns, sl_now_ns());
    bool ok = make_executors(scheduler, registry, metrics, err);
    if (ok && pthread_create(&scheduler->thread, NULL, dispatch, scheduler) != 0)
        ok = sl_fail(err, SL_IO, "cannot start the scheduler's thread");
    scheduler->started = ok;
    if (!ok) {
        sv_scheduler_destroy(scheduler);
        return NULL;
    }
    return scheduler;
}

void sv_scheduler_destroy(struct sv_scheduler *scheduler)
{
    if (!scheduler)
        return;
    struct sv_error error;
    (void)sv_fail(&error, SV_DRAINING, NULL, "The server is shutting down.");
    sv_scheduler_fail_all(scheduler, &error);
    pthread_mutex_lock(&scheduler->lock);
    scheduler->stop = true;
    pthread_mutex_unlock(&scheduler->lock);
    sv_scheduler_wake(scheduler);
    if (scheduler->started)
        (void)pthread_join(scheduler->thread, NULL);
    for (int i = 0; i < scheduler->executor_count; i++)
        scheduler->executors[i]->kind->destroy(scheduler->executors[i]);
    pthread_cond_destroy(&scheduler->wakeup);
    pthread_mutex_destroy(&scheduler->lock);
    free(scheduler);
}

/* ---- for other threads ----------------------------------------------------------------------- */

static struct sv_executor *executor_of(const struct sv_scheduler *scheduler,
                                       const struct sv_model_ref *ref)
{
    int i = 0;
    while (i < scheduler->executor_count && scheduler->executors[i]->ref != ref)
        i++;
    assert(i < scheduler->executor_count); /* every model of the registry has an executor */
    return scheduler->executors[i];
}

bool sv_scheduler_has_capacity(struct sv_scheduler *scheduler, const struct sv_model_ref *ref,
                               int items, struct sv_error *error)
{
    return sv_admission_has_capacity(&executor_of(scheduler, ref)->admission, items, error);
}

bool sv_scheduler_admit(struct sv_scheduler *scheduler, const struct sv_model_ref *ref, int items,
                        int64_t tokens, struct sv_error *error)
{
    return sv_admission_admit(&executor_of(scheduler, ref)->admission, items, tokens, error);
}

void sv_scheduler_withdraw(struct sv_scheduler *scheduler, const struct sv_model_ref *ref,
                           int items, int64_t tokens)
{
    sv_admission_withdraw(&executor_of(scheduler, ref)->admission, items, tokens);
}

void sv_scheduler_submit_completion(struct sv_scheduler *scheduler, const struct sv_model_ref *ref,
                                    struct sv_completion_task *task)
{
    sv_completion_executor_push(executor_of(scheduler, ref), task);
    sv_scheduler_wake(scheduler);
}

void sv_scheduler_submit_classification(struct sv_scheduler *scheduler,
                                        const struct sv_model_ref *ref,
                                        struct sv_classification_task *task)
{
    sv_classification_executor_push(executor_of(scheduler, ref), task);
    sv_scheduler_wake(scheduler);
}

bool sv_scheduler_stats(struct sv_scheduler *scheduler, const struct sv_model_ref *ref,
                        struct sv_classification_stats *stats)
{
    return sv_classification_executor_stats(executor_of(scheduler, ref), stats);
}

static void wake(struct sv_scheduler *scheduler, bool sweep)
{
    pthread_mutex_lock(&scheduler->lock);
    scheduler->woken = true;
    scheduler->sweep = scheduler->sweep || sweep;
    pthread_cond_signal(&scheduler->wakeup);
    pthread_mutex_unlock(&scheduler->lock);
}

void sv_scheduler_wake(struct sv_scheduler *scheduler)
{
    wake(scheduler, false);
}

void sv_scheduler_sweep(struct sv_scheduler *scheduler)
{
    wake(scheduler, true);
}

void sv_scheduler_fail_all(struct sv_scheduler *scheduler, const struct sv_error *error)
{
    assert(error->kind != SV_OK);
    pthread_mutex_lock(&scheduler->lock);
    if (scheduler->ending.kind == SV_OK)
        scheduler->ending = *error;
    pthread_mutex_unlock(&scheduler->lock);
    sv_scheduler_sweep(scheduler);
}

int64_t sv_scheduler_pending(struct sv_scheduler *scheduler)
{
    int64_t items = 0;
    for (int i = 0; i < scheduler->executor_count; i++)
        items += sv_executor_pending(scheduler->executors[i]);
    return items;
}

bool sv_scheduler_is_alive(const struct sv_scheduler *scheduler)
{
    int64_t silent = sl_now_ns() - atomic_load(&scheduler->last_progress_ns);
    return atomic_load(&scheduler->is_idle) ||
           silent < (int64_t)SV_HEARTBEAT_SECONDS_MAX * 1000000000;
}
