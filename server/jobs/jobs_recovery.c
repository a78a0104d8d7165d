/* jobs_recovery.c - what the directories say when the daemon starts, and which jobs are kept. */
#include "base/clock.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "core/log.h"
#include "core/options.h"
#include "jobs/cgroup.h"
#include "jobs/jobs_internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- directories ----------------------------------------------------------------------------- */

static bool is_id(const char *id)
{
    static const char prefix[] = "ftjob-";
    size_t start = sizeof prefix - 1;
    return strncmp(id, prefix, start) == 0 && strlen(id) < SV_JOB_ID_MAX && id[start] &&
           !id[start + strspn(id + start, "0123456789abcdef")];
}

void sv_jobs_remove_directory(const struct sv_jobs *jobs, const char *id)
{
    static const char *const below[] = {"/job.json", "/run/state", "/run/state.sluice-tmp",
                                        "/run",      "/model/1",   "/model/1.sluice-tmp",
                                        "/model",    "/report",    ""};
    char path[PATH_MAX];
    struct sl_err err;
    for (size_t i = 0; i < sizeof below / sizeof below[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/jobs/%s%s", sv_state_directory(jobs->server->state),
                       id, below[i]);
        if (unlink(path) != 0 && errno != ENOENT && !sl_directory_remove(path, &err))
            SV_LOG(SV_LOG_WARN, "a job could not be removed", sv_str("job", id),
                   sv_str("reason", err.text));
    }
}

/* ---- the oldest ------------------------------------------------------------------------------ */

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

void sv_jobs_evict_oldest(struct sv_jobs *jobs)
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

/* ---- idempotency keys ------------------------------------------------------------------------ */

bool sv_jobs_find_same(struct sv_jobs *jobs, const struct sv_job_spec *asked,
                       struct sl_buffer *object, bool *is_new, struct sv_error *error)
{
    int64_t oldest = sl_wall_ns() / 1000000000 - SV_IDEMPOTENCY_SECONDS;
    *is_new = true;
    for (int i = 0; asked->key[0] && i < SV_IDEMPOTENCY_KEYS_MAX; i++) {
        const struct sv_idempotency *known = &jobs->keys[i];
        if (known->created_at < oldest || strcmp(known->key, asked->key) != 0)
            continue;
        *is_new = false;
        if (strcmp(known->body, asked->body) == 0)
            return sv_jobs_describe(jobs, known->id, object, error);
        (void)sv_fail(error, SV_CONFLICT, NULL,
                      "The Idempotency-Key was used for another request.");
        error->permanent = true;
        return false;
    }
    return true;
}

/* The newest take the places of the oldest. */
void sv_jobs_remember(struct sv_jobs *jobs, const struct sv_job_spec *spec)
{
    if (!spec->key[0])
        return;
    struct sv_idempotency *place = &jobs->keys[jobs->next_key++ % SV_IDEMPOTENCY_KEYS_MAX];
    *place = (struct sv_idempotency){.created_at = spec->created_ns / 1000000000};
    memcpy(place->key, spec->key, sizeof place->key);
    memcpy(place->body, spec->body, sizeof place->body);
    memcpy(place->id, spec->id, sizeof place->id);
}

/* ---- settings -------------------------------------------------------------------------------- */

static const struct sv_field own_fields[] = {
    SV_CUSTOM_FIELD("hyperparameters", sv_type_settings,
                    offsetof(struct sv_job_spec, hyperparameters), 0, SV_JOB_SETTINGS_MAX,
                    .help = "settings"),
    SV_CUSTOM_FIELD("metadata", sv_type_metadata, offsetof(struct sv_job_spec, metadata), 0,
                    SV_METADATA_MAX, .help = "texts"),
    {.kind = SV_FIELD_END},
};

bool sv_jobs_own_settings(struct sv_job_spec *spec, struct sv_error *error)
{
    struct sl_buffer text = {0};
    struct sl_json_writer json = {.out = &text};
    const struct sv_string *values[] = {&spec->hyperparameters.raw, &spec->metadata.raw};
    static const char *const names[] = {"hyperparameters", "metadata"};
    sl_json_begin_object(&json);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (values[i]->data)
            sl_json_add_raw(sl_json_key(&json, names[i]), values[i]->data, values[i]->bytes);
    sl_json_end_object(&json);
    spec->hyperparameters = spec->metadata = (struct sv_settings){0};
    spec->document = text.failed ? NULL : sv_json_read(&text, own_fields, NULL, spec, error);
    if (text.failed)
        (void)sv_fail_no_memory(error);
    sl_buffer_release(&text);
    return spec->document;
}

/* ---- the start ------------------------------------------------------------------------------- */

/* Jobs in the order of creation, whatever the order of their directories. */
static void insert(struct sv_jobs *jobs, struct sv_job *job)
{
    struct sv_job **place = &jobs->first;
    while (*place && (*place)->spec.created_ns < job->spec.created_ns)
        place = &(*place)->next;
    job->next = *place;
    *place = job;
}

static bool load_one(struct sv_jobs *jobs, const char *id, struct sl_err *err)
{
    struct sl_err damage;
    struct sv_job *job = sv_job_load(jobs, id, &damage);
    if (!job && damage.code == SL_NOT_FOUND) {
        sv_jobs_remove_directory(jobs, id);
        return true;
    }
    if (!job) { /* kept, so that an administrator can look at it */
        SV_LOG(SV_LOG_ERROR, "a job is left out", sv_str("job", id), sv_str("reason", damage.text));
        return true;
    }
    (void)err;
    insert(jobs, job);
    return true;
}

static bool for_each_job(struct sv_jobs *jobs, struct sl_err *err)
{
    char path[PATH_MAX];
    struct dirent **names;
    (void)snprintf(path, sizeof path, "%s/jobs", sv_state_directory(jobs->server->state));
    int count = scandir(path, &names, NULL, alphasort);
    bool ok = count >= 0 || sl_fail(err, SL_IO, "list '%s': %s", path, strerrordesc_np(errno));
    for (int i = 0; i < count; i++) {
        if (ok && is_id(names[i]->d_name))
            ok = load_one(jobs, names[i]->d_name, err);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    return ok;
}

/* The index gets what it lacks. A job that has not ended reads its events and its log, to go on. */
static bool take_up(struct sv_jobs *jobs, struct sv_job *job, struct sl_err *err)
{
    bool ended = sv_job_phase_has_ended(job->phase), is_new = sv_state_is_new(jobs->server->state);
    sv_jobs_remember(jobs, &job->spec);
    atomic_store(&job->has_ended, ended);
    sv_job_index(jobs, job);
    if (ended && !is_new)
        return true;
    if (!sv_job_events_load(jobs, job, err))
        return false;
    if (ended) { /* for the checkpoints */
        job->run.event_offset = INT64_MAX;
        sv_job_read_log(jobs, job);
        return true;
    }
    sv_job_read_log(jobs, job);
    if (job->phase == SV_JOB_TRAINING)
        sv_job_event(jobs, job, "info", NULL, "The daemon has started again");
    job->phase = sv_job_phase_restart(job->phase);
    sv_job_keep(jobs, job);
    return true;
}

/* The others and the models are served, whatever is wrong with one job. */
static void take_up_all(struct sv_jobs *jobs)
{
    struct sl_err err;
    for (struct sv_job *job = jobs->first; job; job = job->next) {
        if (take_up(jobs, job, &err))
            continue;
        SV_LOG(SV_LOG_ERROR, "a job could not be taken up", sv_str("job", job->spec.id),
               sv_str("reason", err.text));
        if (!sv_job_phase_has_ended(job->phase))
            sv_job_fail(jobs, job, "recovery_failed", NULL, err.text);
    }
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
    struct sv_jobs *jobs = calloc(1, sizeof *jobs);
    if (!jobs) {
        (void)sl_fail(err, SL_NO_MEMORY, "no memory for the jobs");
        return NULL;
    }
    jobs->server = server;
    pthread_mutex_init(&jobs->lock, NULL);
    pthread_mutex_init(&jobs->list_lock, NULL);
    sl_monotonic_cond_init(&jobs->changed);
    jobs->cgroup_fd = -1;
    find_program(jobs);
    if (for_each_job(jobs, err)) {
        take_up_all(jobs);
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
    sv_jobs_join(jobs);
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
