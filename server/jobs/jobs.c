/* jobs.c - the thread that runs the jobs, and what other threads ask of it. */
#include "jobs/jobs.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/sha256.h"
#include "core/metrics.h"
#include "core/options.h"
#include "jobs/job.h"
#include "jobs/jobs_internal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the list -------------------------------------------------------------------------------- */

void sv_jobs_append(struct sv_jobs *jobs, struct sv_job *job)
{
    struct sv_job **place = &jobs->first;
    while (*place)
        place = &(*place)->next;
    pthread_mutex_lock(&jobs->list_lock);
    *place = job;
    pthread_mutex_unlock(&jobs->list_lock);
}

struct sv_job *sv_jobs_find(const struct sv_jobs *jobs, const char *id)
{
    struct sv_job *job = jobs->first;
    while (job && strcmp(job->spec.id, id) != 0)
        job = job->next;
    return job;
}

static int count_jobs(const struct sv_jobs *jobs, bool running)
{
    int count = 0;
    for (const struct sv_job *job = jobs->first; job; job = job->next)
        if (!sv_job_phase_has_ended(job->phase))
            count += sv_job_phase_is_running(job->phase) == running;
    return count;
}

static void count_states(struct sv_jobs *jobs)
{
    static const char *const states[] = {"validating_files", "queued", "running"};
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        int count = 0;
        for (const struct sv_job *job = jobs->first; job; job = job->next)
            count += strcmp(sv_job_status(job->phase, job->desired), states[i]) == 0;
        sv_metric_set(sv_metrics_series(jobs->server->metrics, SV_METRIC_TRAIN_JOBS, &states[i]),
                      count);
    }
}

static struct sv_series *ended_series(struct sv_jobs *jobs, enum sv_job_phase phase)
{
    const char *status = sv_job_status(phase, SV_DESIRED_RUNNING);
    return sv_metrics_series(jobs->server->metrics, SV_METRIC_TRAIN_JOBS_ENDED, &status);
}

void sv_job_count_end(struct sv_jobs *jobs, enum sv_job_phase phase)
{
    sv_metric_add(ended_series(jobs, phase), 1);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Nothing of it runs or will call back, and its end is on the disk. */
static bool is_done(const struct sv_job *job)
{
    return sv_job_phase_has_ended(job->phase) && job->saves_failed == 0 &&
           job->run.process.pid == 0 && (!job->run.asked || atomic_load(&job->run.answered));
}

static void remove_done(struct sv_jobs *jobs)
{
    for (struct sv_job **place = &jobs->first; *place;) {
        struct sv_job *job = *place;
        if (!is_done(job)) {
            place = &job->next;
            continue;
        }
        pthread_mutex_lock(&jobs->list_lock);
        *place = job->next;
        pthread_mutex_unlock(&jobs->list_lock);
        sv_job_clean_up(jobs, job);
        sv_job_free(job);
        jobs->ended++;
    }
    sv_jobs_evict_oldest(jobs);
}

/* In the order of creation, while there are places. */
static void begin_next(struct sv_jobs *jobs)
{
    int places = (int)jobs->server->options->jobs_running - count_jobs(jobs, true);
    for (struct sv_job *job = jobs->first; job && places > 0 && !jobs->stopping; job = job->next)
        if (job->phase == SV_JOB_WAITING && job->desired == SV_DESIRED_RUNNING) {
            sv_job_begin(jobs, job);
            places--;
        }
}

/* The lock is given up during slow steps. Only this thread removes jobs, so the list stays. */
static void step_all(struct sv_jobs *jobs)
{
    for (struct sv_job *job = jobs->first; job; job = job->next)
        while (sv_job_step(jobs, job))
            continue;
}

static bool is_idle(const struct sv_jobs *jobs)
{
    for (const struct sv_job *job = jobs->first; job; job = job->next)
        if (job->phase > SV_JOB_WAITING || job->desired == SV_DESIRED_RUNNING ||
            job->saves_failed > 0)
            return false;
    return true;
}

/* The trainers have ended, and nothing that the registry was asked is open. */
static bool may_end(const struct sv_jobs *jobs)
{
    for (const struct sv_job *job = jobs->first; job; job = job->next)
        if (job->run.process.pid > 0 || (job->run.asked && !atomic_load(&job->run.answered)))
            return false;
    return true;
}

static void wait_for_news(struct sv_jobs *jobs)
{
    struct timespec until = sl_timespec(sl_now_ns() + (int64_t)SV_JOB_POLL_MS * 1000000);
    if (is_idle(jobs) && !jobs->stopping)
        (void)pthread_cond_wait(&jobs->changed, &jobs->lock);
    else
        (void)pthread_cond_timedwait(&jobs->changed, &jobs->lock, &until);
}

static void kill_all(struct sv_jobs *jobs)
{
    for (struct sv_job *job = jobs->first; job; job = job->next)
        sv_child_process_signal(&job->run.process, SIGKILL);
}

/* A last try before the daemon ends. */
static void save_last(struct sv_jobs *jobs)
{
    for (struct sv_job *job = jobs->first; job; job = job->next)
        if (job->saves_failed > 0)
            sv_job_keep(jobs, job);
}

static void *run(void *context)
{
    struct sv_jobs *jobs = context;
    int64_t deadline_ns = 0;
    pthread_mutex_lock(&jobs->lock);
    while (!jobs->stopping || !may_end(jobs)) {
        step_all(jobs);
        remove_done(jobs);
        begin_next(jobs);
        step_all(jobs);
        count_states(jobs);
        if (jobs->stopping && deadline_ns == 0)
            deadline_ns = sl_now_ns() + (int64_t)SV_JOB_STOP_SECONDS * 1000000000;
        if (jobs->stopping && sl_now_ns() > deadline_ns)
            kill_all(jobs);
        if (!jobs->stopping || !may_end(jobs))
            wait_for_news(jobs);
    }
    save_last(jobs);
    pthread_mutex_unlock(&jobs->lock);
    return NULL;
}

bool sv_jobs_start(struct sv_jobs *jobs, struct sl_err *err)
{
    /* They are 0, so that the first increase can be seen. */
    for (int phase = SV_JOB_SUCCEEDED; phase < SV_JOB_PHASES; phase++)
        (void)ended_series(jobs, (enum sv_job_phase)phase);
    jobs->started = pthread_create(&jobs->thread, NULL, run, jobs) == 0;
    return jobs->started || sl_fail(err, SL_NO_MEMORY, "cannot start the thread of the jobs");
}

void sv_jobs_stop(struct sv_jobs *jobs)
{
    if (!jobs)
        return;
    pthread_mutex_lock(&jobs->lock);
    jobs->stopping = true;
    pthread_cond_signal(&jobs->changed);
    pthread_mutex_unlock(&jobs->lock);
}

void sv_jobs_join(struct sv_jobs *jobs)
{
    sv_jobs_stop(jobs);
    if (jobs->started)
        (void)pthread_join(jobs->thread, NULL);
    jobs->started = false;
}

/* ---- requests -------------------------------------------------------------------------------- */

/* The directory is complete once job.json is in it. */
static bool store(struct sv_jobs *jobs, struct sv_job *job, struct sv_error *error)
{
    char path[PATH_MAX];
    struct sl_err err;
    sv_job_path(jobs, job, "", path);
    if (mkdir(path, S_IRWXU) != 0) {
        (void)sl_fail(&err, sl_file_error_code(errno), "make directory '%s': %s", path,
                      strerrordesc_np(errno));
        return sv_state_fail_disk("The job could not be stored", &err, error);
    }
    if (sv_job_data_link(jobs, job, error) &&
        (sv_job_save(jobs, job, &err) ||
         sv_state_fail_disk("The job could not be stored", &err, error)))
        return true;
    sv_jobs_remove_directory(jobs, job->spec.id);
    return false;
}

static void set_origin(struct sv_job_spec *spec, const struct sv_job_origin *origin)
{
    struct sl_buffer both = {0};
    if (!origin->idempotency_key)
        return;
    sl_buffer_append(&both, origin->caller, strlen(origin->caller) + 1);
    sl_buffer_append_string(&both, origin->idempotency_key);
    if (!both.failed)
        sl_sha256_hex(both.data, both.bytes, spec->key);
    sl_buffer_release(&both);
    (void)snprintf(spec->body, sizeof spec->body, "%s", origin->body);
}

static bool has_room(const struct sv_jobs *jobs, struct sv_error *error)
{
    enum { RETRY_MS = 30000 };

    int64_t max = jobs->server->options->jobs_queued;
    if (count_jobs(jobs, false) + count_jobs(jobs, true) <
        max + jobs->server->options->jobs_running)
        return true;
    (void)sv_fail(error, SV_OVERLOADED, NULL,
                  "%lld jobs wait already, the maximum; cancel one, or try again later.",
                  (long long)max);
    error->retry_ms = RETRY_MS;
    return false;
}

static bool add(struct sv_jobs *jobs, struct sv_job *job, struct sl_buffer *object,
                struct sv_error *error)
{
    if (jobs->stopping)
        return sv_fail(error, SV_DRAINING, NULL, "The daemon is shutting down.");
    if (!has_room(jobs, error) || !store(jobs, job, error))
        return false;
    sv_jobs_append(jobs, job);
    sv_job_event(jobs, job, "info", NULL, "Created fine-tuning job: %s", job->spec.id);
    sv_job_event(jobs, job, "info", NULL, "Validating training file: %s", job->spec.training_file);
    sv_job_write(job, object);
    pthread_cond_signal(&jobs->changed);
    return true;
}

bool sv_jobs_create(struct sv_jobs *jobs, const struct sv_job_params *params,
                    const struct sv_job_origin *origin, struct sl_buffer *object, bool *is_new,
                    struct sv_error *error)
{
    struct sv_job_spec asked = {0};
    struct sv_job *job = sv_job_new();
    if (!job)
        return sv_fail_no_memory(error);
    set_origin(&asked, origin);
    pthread_mutex_lock(&jobs->lock);
    bool ok = sv_jobs_find_same(jobs, &asked, object, is_new, error);
    if (ok && *is_new)
        ok = sv_job_spec_make(jobs, params, &job->spec, error);
    if (ok && *is_new) {
        memcpy(job->spec.key, asked.key, sizeof asked.key);
        memcpy(job->spec.body, asked.body, sizeof asked.body);
        ok = sv_jobs_own_settings(&job->spec, error) && add(jobs, job, object, error);
    }
    if (ok && *is_new)
        sv_jobs_remember(jobs, &job->spec);
    else
        sv_job_free(job);
    pthread_mutex_unlock(&jobs->lock);
    return ok;
}

static const char *const past[] =
    {[SV_JOB_PAUSE] = "Pausing", [SV_JOB_RESUME] = "Resuming", [SV_JOB_CANCEL] = "Cancelled"};

static bool act(struct sv_jobs *jobs, struct sv_job *job, enum sv_job_action action,
                struct sv_error *error)
{
    if (!sv_job_phase_act(&job->phase, &job->desired, action, error))
        return false;
    if (action == SV_JOB_CANCEL) {
        job->finished_at = sl_wall_ns() / 1000000000;
        sv_child_process_signal(&job->run.process, SIGKILL);
        sv_job_drop_metrics(jobs, job);
        sv_job_count_end(jobs, job->phase);
    }
    sv_job_event(jobs, job, "info", NULL, "%s the job", past[action]);
    sv_job_keep(jobs, job);
    return true;
}

bool sv_jobs_describe(struct sv_jobs *jobs, const char *id, struct sl_buffer *object,
                      struct sv_error *error)
{
    struct sl_err err;
    return sv_state_get(jobs->server->state, SV_JOBS, id, object, &err) ||
           sv_fail(error, SV_JOB_NOT_FOUND, "fine_tuning_job_id",
                   "No job has the id '%.64s'; /v1/fine_tuning/jobs and `sluicectl jobs` list the "
                   "jobs.",
                   id);
}

bool sv_jobs_act(struct sv_jobs *jobs, const char *id, enum sv_job_action action,
                 struct sl_buffer *object, struct sv_error *error)
{
    if (!sv_jobs_describe(jobs, id, object, error))
        return false;
    sl_buffer_clear(object);
    pthread_mutex_lock(&jobs->lock);
    struct sv_job *job = sv_jobs_find(jobs, id);
    bool ok = job ? act(jobs, job, action, error)
                  : sv_fail(error, SV_CONFLICT, NULL, "The job has ended.");
    if (ok)
        sv_job_write(job, object);
    else
        error->permanent = error->kind == SV_CONFLICT;
    pthread_cond_signal(&jobs->changed);
    pthread_mutex_unlock(&jobs->lock);
    return ok;
}

uint64_t sv_jobs_revision(const struct sv_jobs *jobs)
{
    return atomic_load(&jobs->revision);
}

bool sv_job_has_ended(struct sv_jobs *jobs, const char *id)
{
    pthread_mutex_lock(&jobs->list_lock);
    const struct sv_job *job = sv_jobs_find(jobs, id);
    bool ended = !job || atomic_load(&job->has_ended);
    pthread_mutex_unlock(&jobs->list_lock);
    return ended;
}
