/* job_paths.c - where the files of a job are, and their removal. */
#include "jobs/job_paths.h"
#include "base/file.h"
#include "core/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void sv_job_path(const struct sv_jobs *jobs, const struct sv_job *job, const char *name,
                 char path[static PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, "%s/jobs/%s%s%s", sv_state_directory(jobs->server->state),
                   job->spec.id, name[0] ? "/" : "", name);
}

void sv_job_data_path(const struct sv_jobs *jobs, const struct sv_job *job, const char *data,
                      char path[static PATH_MAX])
{
    if (data[0] == '/')
        (void)snprintf(path, PATH_MAX, "%s", data);
    else
        sv_job_path(jobs, job, data, path);
}

/* ---- removal --------------------------------------------------------------------------------- */

static void remove_file(const struct sv_jobs *jobs, const struct sv_job *job, const char *name)
{
    char path[PATH_MAX];
    sv_job_path(jobs, job, name, path);
    if (unlink(path) != 0 && errno != ENOENT)
        SV_LOG(SV_LOG_WARN, "remove", sv_str("path", path),
               sv_str("reason", strerrordesc_np(errno)));
}

static void remove_directory(const char *path)
{
    struct sl_err err;
    if (!sl_directory_remove(path, &err))
        SV_LOG(SV_LOG_WARN, "remove", sv_str("path", path), sv_str("reason", err.text));
}

/* A file that the job links to, and what a conversion that was cut off left. */
static void remove_data(const struct sv_jobs *jobs, const struct sv_job *job, const char *data)
{
    char fresh[PATH_MAX + 8];
    if (!data[0] || data[0] == '/')
        return;
    (void)snprintf(fresh, sizeof fresh, "%s" SV_JOB_UNFINISHED, data);
    remove_file(jobs, job, data);
    remove_file(jobs, job, fresh);
}

void sv_job_clean_up(const struct sv_jobs *jobs, const struct sv_job *job)
{
    static const char *const directories[] = {
        "run/state", "run/state.sluice-tmp", "report", "model/1.sluice-tmp", "model/1", "model"};

    enum { ALL = sizeof directories / sizeof directories[0], BUT_MODEL = ALL - 2 };

    char path[PATH_MAX];
    const bool was_refused = strcmp(job->error.code, SV_JOB_LOAD_FAILED) == 0;
    for (int i = 0; i < (was_refused ? BUT_MODEL : ALL); i++) {
        sv_job_path(jobs, job, directories[i], path);
        remove_directory(path);
    }
    remove_data(jobs, job, job->spec.data);
    remove_data(jobs, job, job->spec.validation);
    remove_file(jobs, job, SV_TRAINER_OUTPUT);
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
