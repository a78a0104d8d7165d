/* jobs.c - the thread that runs the jobs, and what other threads ask of it. */
#include "jobs/jobs.h"
#include "base/allocate.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/sha256.h"
#include "core/log.h"
#include "core/options.h"
#include "jobs/cgroup.h"
#include "jobs/job_data.h"
#include "jobs/job_events.h"
#include "jobs/job_list.h"
#include "jobs/job_metrics.h"
#include "jobs/job_object.h"
#include "jobs/job_paths.h"
#include "jobs/job_record.h"
#include "jobs/job_request.h"
#include "jobs/job_state_machine.h"
#include "jobs/jobs_recovery.h"
#include "jobs/promote_model.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the thread ------------------------------------------------------------------------------ */

/* Nothing of it runs or will call back, and its end is on the disk. */
static bool is_done(const struct sv_job *job)
{
    return sv_job_phase_has_ended(job->phase) && job->saves_failed == 0 &&
           job->run.process.pid == 0 && (!job->run.asked || atomic_load(&job->run.answered));
}

struct oldest {
    const struct sv_jobs *jobs;
    char id[SV_JOB_ID_MAX];
};

/* The list has all jobs that have not ended. */
static void take_ended(void *context, const char *id, const char *document)
{
    struct oldest *oldest = context;
    (void)document;
    if (!oldest->id[0] && !sv_jobs_find(oldest->jobs, id))
        (void)snprintf(oldest->id, sizeof oldest->id, "%s", id);
}

/* Forgets the oldest jobs that have ended when there are too many. With the lock. */
static void evict_oldest(struct sv_jobs *jobs)
{
    struct sl_err err;
    while (jobs->ended > SV_JOBS_ENDED_MAX) {
        struct oldest oldest = {.jobs = jobs};
        /* All that have not ended fit, and one that has. */
        struct sv_page page = {
            .limit = 2000, .oldest_first = true, .each = take_ended, .context = &oldest};
        jobs->ended--;
        if (!sv_state_list(jobs->server->state, SV_JOBS, &page, &err) || !oldest.id[0])
            return;
        sv_jobs_remove_directory(jobs, oldest.id);
        if (!sv_state_delete(jobs->server->state, SV_JOBS, oldest.id, &err))
            SV_LOG(SV_LOG_WARN, "a job could not be forgotten", sv_str("job", oldest.id),
                   sv_str("reason", err.text));
    }
}

static void remove_done(struct sv_jobs *jobs)
{
    for (struct sv_job **place = &jobs->first; *place;) {
        if (!is_done(*place)) {
            place = &(*place)->next;
            continue;
        }
        struct sv_job *job = sv_jobs_take_out(jobs, place);
        sv_job_clean_up(jobs, job);
        sv_job_free(job);
        jobs->ended++;
    }
    evict_oldest(jobs);
}

/* In the order of creation, while there are places. */
static void begin_next(struct sv_jobs *jobs)
{
    int places = (int)jobs->server->options->jobs_running - sv_jobs_count(jobs, true);
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
        sv_jobs_count_states(jobs);
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
    sv_jobs_reset_counts(jobs);
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

/* ---- opening and closing --------------------------------------------------------------------- */

static void join(struct sv_jobs *jobs)
{
    sv_jobs_stop(jobs);
    if (jobs->started)
        (void)pthread_join(jobs->thread, NULL);
    jobs->started = false;
}

static void find_program(struct sv_jobs *jobs)
{
    const char *given = jobs->server->options->trainer;
    char self[PATH_MAX];
    ssize_t bytes = readlink("/proc/self/exe", self, sizeof self - 1);
    self[bytes > 0 ? bytes : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (given[0] || !slash)
        (void)snprintf(jobs->program, sizeof jobs->program, "%s", given[0] ? given : "sluice");
    else
        (void)snprintf(jobs->program, sizeof jobs->program, "%.*s/sluice", (int)(slash - self),
                       self);
    if (access(jobs->program, X_OK) != 0)
        SV_LOG(SV_LOG_WARN, "no program to train with; jobs will fail",
               sv_str("program", jobs->program), sv_str("option", "trainer"));
}

struct sv_jobs *sv_jobs_open(struct sv_server *server, struct sl_err *err)
{
    struct sv_jobs *jobs = sl_new(sizeof *jobs, "the jobs", err);
    if (!jobs)
        return NULL;
    jobs->server = server;
    pthread_mutex_init(&jobs->lock, NULL);
    pthread_mutex_init(&jobs->list_lock, NULL);
    sl_monotonic_cond_init(&jobs->changed);
    sv_file_checks_init(&jobs->file_checks);
    jobs->cgroup_fd = -1;
    find_program(jobs);
    if (sv_jobs_recover(jobs, err)) {
        jobs->cgroup_fd = sv_cgroup_open((int)server->options->job_cpu_weight);
        return jobs;
    }
    sv_jobs_close(jobs);
    return NULL;
}

void sv_jobs_close(struct sv_jobs *jobs)
{
    if (!jobs)
        return;
    join(jobs);
    sv_file_checks_destroy(&jobs->file_checks);
    while (jobs->first) {
        struct sv_job *next = jobs->first->next;
        sv_job_free(jobs->first);
        jobs->first = next;
    }
    if (jobs->cgroup_fd >= 0)
        (void)close(jobs->cgroup_fd);
    pthread_cond_destroy(&jobs->changed);
    pthread_mutex_destroy(&jobs->list_lock);
    pthread_mutex_destroy(&jobs->lock);
    free(jobs);
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

static void read_key(const struct sv_job_origin *origin, struct sv_idempotency_key *key)
{
    struct sl_buffer both = {0};
    if (!origin->idempotency_key)
        return;
    sl_buffer_append(&both, origin->caller, strlen(origin->caller) + 1);
    sl_buffer_append_string(&both, origin->idempotency_key);
    if (!both.failed)
        sl_sha256_hex(both.data, both.bytes, key->key);
    sl_buffer_release(&both);
    (void)snprintf(key->body, sizeof key->body, "%s", origin->body);
}

/* Finds the job of an earlier request with the same key; *is_new: there is none. Fails if its body
 * was another one. */
static bool find_same(struct sv_jobs *jobs, const struct sv_idempotency_key *key,
                      struct sl_buffer *object, bool *is_new, struct sv_error *error)
{
    const struct sv_idempotency_key *known =
        sv_idempotency_find(&jobs->keys, key->key, sl_wall_ns() / 1000000000);
    *is_new = !known;
    if (!known)
        return true;
    if (strcmp(known->body, key->body) == 0)
        return sv_jobs_describe(jobs, known->id, object, error);
    return sv_fail(error, SV_CONFLICT, NULL, "The Idempotency-Key was used for another request.");
}

static bool has_room(const struct sv_jobs *jobs, struct sv_error *error)
{
    enum { RETRY_MS = 30000 };

    int64_t max = jobs->server->options->jobs_queued;
    if (sv_jobs_count(jobs, false) + sv_jobs_count(jobs, true) <
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
        return sv_fail_draining(error);
    if (!has_room(jobs, error) || !store(jobs, job, error))
        return false;
    sv_jobs_insert(jobs, job);
    sv_job_event(jobs, job, "info", NULL, "Created fine-tuning job: %s", job->spec.id);
    sv_job_event(jobs, job, "info", NULL, "Validating training file: %s", job->spec.training_file);
    sv_job_write(job, object);
    pthread_cond_signal(&jobs->changed);
    return true;
}

bool sv_jobs_create(struct sv_jobs *jobs, struct sv_job_params *params,
                    const struct sv_job_origin *origin, struct sl_buffer *object, bool *is_new,
                    struct sv_error *error)
{
    struct sv_idempotency_key key = {.key = ""};
    struct sv_job *job = sv_job_new();
    if (!job)
        return sv_fail_no_memory(error);
    read_key(origin, &key);
    pthread_mutex_lock(&jobs->lock);
    bool ok = find_same(jobs, &key, object, is_new, error);
    bool made = ok && *is_new && sv_job_spec_make(jobs, params, &job->spec, error);
    if (made) {
        sv_job_set_key(&job->spec, key.key, key.body);
        made = add(jobs, job, object, error);
    }
    if (made) {
        sv_idempotency_add(&jobs->keys, &job->spec.key);
        job->spec.document = params->document;
        params->document = NULL;
    } else
        sv_job_free(job);
    pthread_mutex_unlock(&jobs->lock);
    return made || (ok && !*is_new);
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
        sv_job_undo_pin(jobs, job);
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
