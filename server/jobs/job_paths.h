/* job_paths.h - where the files of a job are, and their removal. */
#pragma once

#include "jobs/job.h"

/* The job's directory, or a file in it unless the name is "". */
void sv_job_path(const struct sv_jobs *jobs, const struct sv_job *job, const char *name,
                 char path[static PATH_MAX]);
/* An absolute path as it is, another one in the job's directory. */
void sv_job_data_path(const struct sv_jobs *jobs, const struct sv_job *job, const char *data,
                      char path[static PATH_MAX]);

/* The names of files in the job's directory: standard output and errors of the trainer; and what
 * ends the name of a file that is being written. */
#define SV_TRAINER_OUTPUT "trainer.out"
#define SV_TRAINER_ERRORS "trainer.err"
#define SV_JOB_UNFINISHED ".tmp"

/* Removes what a job that has ended does not need: its data, the trainer's state and output, and
 * its model. A model that the registry refused stays until the job is forgotten. */
void sv_job_clean_up(const struct sv_jobs *jobs, const struct sv_job *job);
/* Removes jobs/<id>, job.json first: a directory without it is no job. */
void sv_jobs_remove_directory(const struct sv_jobs *jobs, const char *id);
