/* jobs_recovery.c - what the directories say when the daemon starts. */
#include "jobs/jobs_recovery.h"
#include "core/log.h"
#include "jobs/job_events.h"
#include "jobs/job_list.h"
#include "jobs/job_log_reader.h"
#include "jobs/job_paths.h"
#include "jobs/job_record.h"
#include "jobs/job_state_machine.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_id(const char *id)
{
    static const char prefix[] = "ftjob-";
    size_t start = sizeof prefix - 1;
    return strncmp(id, prefix, start) == 0 && strlen(id) < SV_JOB_ID_MAX && id[start] &&
           !id[start + strspn(id + start, "0123456789abcdef")];
}

static void load_one(struct sv_jobs *jobs, const char *id)
{
    struct sl_err err;
    struct sv_job *job = sv_job_load(jobs, id, &err);
    if (job)
        sv_jobs_insert(jobs, job);
    else if (err.code == SL_NOT_FOUND)
        sv_jobs_remove_directory(jobs, id);
    else /* kept, so that an administrator can look at it */
        SV_LOG(SV_LOG_ERROR, "a job is left out", sv_str("job", id), sv_str("reason", err.text));
}

static bool load_all(struct sv_jobs *jobs, struct sl_err *err)
{
    char path[PATH_MAX];
    struct dirent **names;
    (void)snprintf(path, sizeof path, "%s/jobs", sv_state_directory(jobs->server->state));
    int count = scandir(path, &names, NULL, alphasort);
    if (count < 0)
        return sl_fail(err, SL_IO, "list '%s': %s", path, strerrordesc_np(errno));
    for (int i = 0; i < count; i++) {
        if (is_id(names[i]->d_name))
            load_one(jobs, names[i]->d_name);
        free(names[i]);
    }
    free(names);
    return true;
}

/* The index gets what it lacks. A job that has not ended reads its events and its log, to go on. */
static bool recover_job(struct sv_jobs *jobs, struct sv_job *job, struct sl_err *err)
{
    bool ended = sv_job_phase_has_ended(job->phase), is_new = sv_state_is_new(jobs->server->state);
    sv_idempotency_add(&jobs->keys, &job->spec.key);
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
static void recover_all(struct sv_jobs *jobs)
{
    struct sl_err err;
    for (struct sv_job *job = jobs->first; job; job = job->next) {
        if (recover_job(jobs, job, &err))
            continue;
        SV_LOG(SV_LOG_ERROR, "a job could not be recovered", sv_str("job", job->spec.id),
               sv_str("reason", err.text));
        if (!sv_job_phase_has_ended(job->phase))
            sv_job_fail(jobs, job, "recovery_failed", NULL, err.text);
    }
}

bool sv_jobs_recover(struct sv_jobs *jobs, struct sl_err *err)
{
    if (!load_all(jobs, err))
        return false;
    recover_all(jobs);
    return true;
}
