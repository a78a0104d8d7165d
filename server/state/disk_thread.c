/* disk_thread.c - one thread for work that waits for the disk. */
#include "state/disk_thread.h"
#include "base/allocate.h"
#include "core/limits.h"

#include <pthread.h>
#include <stdlib.h>

struct task {
    void (*run)(void *context);
    void *context;
};

struct sv_disk_thread {
    pthread_t thread;
    pthread_mutex_t lock; /* guards everything below */
    pthread_cond_t changed;
    struct task tasks[SV_WORKER_TASKS_MAX]; /* a ring */
    int first, count;
    bool stopping;
};

/* The next task; false: the disk thread stops. */
static bool take(struct sv_disk_thread *worker, struct task *task)
{
    pthread_mutex_lock(&worker->lock);
    while (worker->count == 0 && !worker->stopping)
        pthread_cond_wait(&worker->changed, &worker->lock);
    bool taken = worker->count > 0;
    if (taken) {
        *task = worker->tasks[worker->first];
        worker->first = (worker->first + 1) % SV_WORKER_TASKS_MAX;
        worker->count--;
    }
    pthread_mutex_unlock(&worker->lock);
    return taken;
}

static void *work(void *context)
{
    struct task task;
    while (take(context, &task))
        task.run(task.context);
    return NULL;
}

struct sv_disk_thread *sv_disk_thread_start(struct sl_err *err)
{
    struct sv_disk_thread *worker = sl_new(sizeof *worker, "a worker", err);
    if (!worker)
        return NULL;
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->changed, NULL);
    if (pthread_create(&worker->thread, NULL, work, worker) == 0)
        return worker;
    (void)sl_fail(err, SL_NO_MEMORY, "cannot start a thread");
    free(worker);
    return NULL;
}

void sv_disk_thread_stop(struct sv_disk_thread *worker)
{
    if (!worker)
        return;
    pthread_mutex_lock(&worker->lock);
    worker->stopping = true;
    pthread_cond_signal(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
    (void)pthread_join(worker->thread, NULL);
    pthread_cond_destroy(&worker->changed);
    pthread_mutex_destroy(&worker->lock);
    free(worker);
}

bool sv_disk_thread_submit(struct sv_disk_thread *worker, void (*run)(void *context), void *context)
{
    pthread_mutex_lock(&worker->lock);
    bool fits = worker->count < SV_WORKER_TASKS_MAX && !worker->stopping;
    if (fits) {
        int last = (worker->first + worker->count++) % SV_WORKER_TASKS_MAX;
        worker->tasks[last] = (struct task){run, context};
        pthread_cond_signal(&worker->changed);
    }
    pthread_mutex_unlock(&worker->lock);
    return fits;
}
