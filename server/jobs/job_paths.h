/* job_paths.h - where the files of a job are, and their removal. */
#pragma once

#include "jobs/job.h"

/* The job's directory, or a file in it unless the name is "". */
void sv_job_path(const struct sv_jobs *jobs, const struct sv_job *job, const char *name,
                 char path[static PATH_MAX]);
/* An absolute path as it is, another one in the job's directory. */
void sv_job_data_path(const struct sv_jobs *jobs, const struct sv_job *job, const char *data,
                      char path[static PATH_MAX]);

/* Removes what only a job that has not ended needs. */
void sv_job_clean_up(const struct sv_jobs *jobs, const struct sv_job *job);
/* Removes jobs/<id>, job.json first: a directory without it is no job. */
void sv_jobs_remove_directory(const struct sv_jobs *jobs, const char *id);
