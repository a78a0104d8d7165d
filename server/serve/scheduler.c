/* scheduler.c - one thread that runs what was admitted, batch after batch. */
#include "serve/scheduler.h"
#include "base/allocate.h"
#include "base/clock.h"
#include "core/limits.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct sv_scheduler {
    struct sv_scheduler_options options;
    struct sv_metrics *metrics;
    pthread_t thread;

    pthread_mutex_t lock; /* guards what follows, to `ending` */
    pthread_cond_t wakeup, changed;
    /* The thread changes them with the lock, so it reads them without. */
    struct sv_executor *executors[SV_EXECUTORS_MAX];
    int executor_count;
    struct sv_executor *arriving, *leaving; /* what the thread is to add or to remove, or NULL */
    bool running;                           /* there is a thread */
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

/* With the lock. */
static void apply_changes(struct sv_scheduler *scheduler)
{
    if (scheduler->arriving)
        scheduler->executors[scheduler->executor_count++] = scheduler->arriving;
    int i = 0;
    while (i < scheduler->executor_count && scheduler->executors[i] != scheduler->leaving)
        i++;
    if (i < scheduler->executor_count)
        scheduler->executors[i] = scheduler->executors[--scheduler->executor_count];
    scheduler->arriving = scheduler->leaving = NULL;
    pthread_cond_broadcast(&scheduler->changed);
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
    apply_changes(scheduler);
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

/* What has arrived, and what must end. */
static void collect_all(struct sv_scheduler *scheduler, const struct control *control)
{
    int64_t now = sl_now_ns();
    bool sweep = control->sweep || now - scheduler->swept_ns > (int64_t)SV_SWEEP_MS * 1000000;
    for (int i = 0; i < scheduler->executor_count; i++) {
        struct sv_executor *executor = scheduler->executors[i];
        /* An ending does not change once it is set, so it may be read without the lock. */
        const struct sv_error *ending = control->ending ? &scheduler->ending : NULL;
        if (!ending && atomic_load(&executor->is_ending))
            ending = &executor->ending;
        sv_executor_collect(executor);
        if (sweep)
            executor->kind->sweep(executor, ending);
    }
    if (sweep)
        scheduler->swept_ns = now;
}

/* Whether a request for another version of the model has waited longer. When a version is replaced,
 * many wait for the old one; if both took turns, these would wait twice as long. */
static bool has_older_sibling(const struct sv_scheduler *scheduler,
                              const struct sv_executor *executor)
{
    int64_t mine = executor->kind->oldest_ns ? executor->kind->oldest_ns(executor) : INT64_MAX;
    for (int i = 0; mine < INT64_MAX && i < scheduler->executor_count; i++) {
        const struct sv_executor *other = scheduler->executors[i];
        if (other->kind == executor->kind && other->kind->oldest_ns(other) < mine &&
            strcmp(other->ref->name, executor->ref->name) == 0)
            return true;
    }
    return false;
}

static bool step_all(struct sv_scheduler *scheduler)
{
    bool ran = false;
    for (int i = 0; i < scheduler->executor_count; i++) {
        struct sv_executor *executor = scheduler->executors[i];
        /* Next time it may be its turn, whatever became of the other. */
        ran = has_older_sibling(scheduler, executor) || executor->kind->step(executor) || ran;
        heartbeat(scheduler);
    }
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
        collect_all(scheduler, &control);
        idle = !step_all(scheduler);
        if (control.stop && sv_scheduler_pending(scheduler) == 0)
            return NULL;
    }
}

/* ---- making and unmaking --------------------------------------------------------------------- */

struct sv_scheduler *sv_scheduler_create(const struct sv_scheduler_options *options,
                                         struct sv_metrics *metrics, struct sl_err *err)
{
    struct sv_scheduler *scheduler = sl_new(sizeof *scheduler, "the scheduler", err);
    if (!scheduler)
        return NULL;
    scheduler->options = *options;
    scheduler->metrics = metrics;
    pthread_mutex_init(&scheduler->lock, NULL);
    sl_monotonic_cond_init(&scheduler->wakeup);
    pthread_cond_init(&scheduler->changed, NULL);
    atomic_store(&scheduler->last_progress_ns, sl_now_ns());
    /* The thread reads it along with its neighbours, in one load. */
    pthread_mutex_lock(&scheduler->lock);
    scheduler->running = pthread_create(&scheduler->thread, NULL, dispatch, scheduler) == 0;
    pthread_mutex_unlock(&scheduler->lock);
    if (scheduler->running)
        return scheduler;
    (void)sl_fail(err, SL_IO, "cannot start the scheduler's thread");
    sv_scheduler_destroy(scheduler);
    return NULL;
}

void sv_scheduler_stop(struct sv_scheduler *scheduler)
{
    if (!scheduler || !scheduler->running)
        return;
    struct sv_error error;
    (void)sv_fail_draining(&error);
    sv_scheduler_fail_all(scheduler, &error);
    pthread_mutex_lock(&scheduler->lock);
    scheduler->stop = true;
    pthread_mutex_unlock(&scheduler->lock);
    sv_scheduler_wake(scheduler);
    (void)pthread_join(scheduler->thread, NULL);
    pthread_mutex_lock(&scheduler->lock);
    scheduler->running = false;
    apply_changes(scheduler); /* of a thread that waits for one */
    pthread_mutex_unlock(&scheduler->lock);
}

void sv_scheduler_destroy(struct sv_scheduler *scheduler)
{
    if (!scheduler)
        return;
    sv_scheduler_stop(scheduler);
    assert(scheduler->executor_count == 0);
    pthread_cond_destroy(&scheduler->changed);
    pthread_cond_destroy(&scheduler->wakeup);
    pthread_mutex_destroy(&scheduler->lock);
    free(scheduler);
}

/* ---- versions come and go -------------------------------------------------------------------- */

/* Waits until the thread has taken note; one change at a time. */
static bool change(struct sv_scheduler *scheduler, struct sv_executor *arriving,
                   struct sv_executor *leaving)
{
    pthread_mutex_lock(&scheduler->lock);
    while (scheduler->arriving || scheduler->leaving)
        pthread_cond_wait(&scheduler->changed, &scheduler->lock);
    bool fits = !arriving || scheduler->executor_count < SV_EXECUTORS_MAX;
    scheduler->arriving = fits ? arriving : NULL;
    scheduler->leaving = leaving;
    scheduler->woken = true;
    pthread_cond_signal(&scheduler->wakeup);
    if (!scheduler->running)
        apply_changes(scheduler);
    while ((arriving && scheduler->arriving == arriving) ||
           (leaving && scheduler->leaving == leaving))
        pthread_cond_wait(&scheduler->changed, &scheduler->lock);
    pthread_mutex_unlock(&scheduler->lock);
    return fits;
}

/* The kind depends on the model's task. */
static struct sv_executor *make_executor(const struct sv_scheduler *scheduler,
                                         struct sv_model_ref *ref, struct sl_err *err)
{
    const struct sv_scheduler_options *options = &scheduler->options;
    const struct sl_model_info *info = sl_model_info(ref->model);
    if (info->generates)
        return sv_completion_executor_create(ref, &options->complete, scheduler->metrics, err);
    if (sv_classify_outputs(info) > 0)
        return sv_classification_executor_create(ref, &options->classify, scheduler->metrics, err);
    sl_fail(err, SL_BAD_INPUT, "the model has neither classes nor embeddings");
    return NULL;
}

static struct sv_executor *attach(void *context, struct sv_model_ref *ref, struct sl_err *err)
{
    struct sv_scheduler *scheduler = context;
    struct sv_executor *executor = make_executor(scheduler, ref, err);
    if (!executor)
        return NULL;
    if (sv_executor_warm(executor, err) &&
        (change(scheduler, executor, NULL) ||
         sl_fail(err, SL_BUSY, "more than %d versions are loaded", SV_EXECUTORS_MAX)))
        return executor;
    executor->kind->destroy(executor);
    return NULL;
}

static void detach(void *context, struct sv_executor *executor)
{
    (void)change(context, NULL, executor);
    executor->kind->destroy(executor);
}

static void expire(void *context, struct sv_executor *executor)
{
    (void)sv_fail(&executor->ending, SV_DRAINING, NULL,
                  "The version of the model was unloaded before the request finished.");
    atomic_store(&executor->is_ending, true);
    sv_scheduler_sweep(context);
}

struct sv_model_host sv_scheduler_host(struct sv_scheduler *scheduler)
{
    return (struct sv_model_host){
        .context = scheduler, .attach = attach, .detach = detach, .expire = expire};
}

/* ---- for other threads ----------------------------------------------------------------------- */

bool sv_scheduler_is_open(struct sv_scheduler *scheduler, const struct sv_model_ref *ref,
                          struct sv_error *error)
{
    (void)scheduler;
    return sv_admission_is_open(&ref->executor->admission, error);
}

bool sv_scheduler_admit(struct sv_scheduler *scheduler, const struct sv_model_ref *ref, int items,
                        int64_t tokens, int64_t *reserved, struct sv_error *error)
{
    (void)scheduler;
    return sv_admission_admit(&ref->executor->admission, items, tokens, reserved, error);
}

bool sv_scheduler_settle(struct sv_scheduler *scheduler, const struct sv_model_ref *ref, int items,
                         int64_t reserved, int64_t tokens, struct sv_error *error)
{
    (void)scheduler;
    return sv_admission_settle(&ref->executor->admission, items, reserved, tokens, error);
}

void sv_scheduler_withdraw(struct sv_scheduler *scheduler, const struct sv_model_ref *ref,
                           int items, int64_t tokens)
{
    (void)scheduler;
    sv_admission_withdraw(&ref->executor->admission, items, tokens);
}

void sv_scheduler_submit_completion(struct sv_scheduler *scheduler, const struct sv_model_ref *ref,
                                    struct sv_completion_task *task)
{
    sv_completion_executor_push(ref->executor, task);
    sv_scheduler_wake(scheduler);
}

void sv_scheduler_submit_classification(struct sv_scheduler *scheduler,
                                        const struct sv_model_ref *ref,
                                        struct sv_classification_task *task)
{
    sv_classification_executor_push(ref->executor, task);
    sv_scheduler_wake(scheduler);
}

bool sv_scheduler_stats(struct sv_scheduler *scheduler, const struct sv_model_ref *ref,
                        struct sv_classification_stats *stats)
{
    (void)scheduler;
    return sv_classification_executor_stats(ref->executor, stats);
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
    pthread_mutex_lock(&scheduler->lock);
    for (int i = 0; i < scheduler->executor_count; i++)
        items += sv_executor_pending(scheduler->executors[i]);
    pthread_mutex_unlock(&scheduler->lock);
    return items;
}

bool sv_scheduler_is_alive(const struct sv_scheduler *scheduler)
{
    int64_t silent = sl_now_ns() - atomic_load(&scheduler->last_progress_ns);
    return atomic_load(&scheduler->is_idle) ||
           silent < (int64_t)SV_HEARTBEAT_SECONDS_MAX * 1000000000;
}
