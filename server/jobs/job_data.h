/* job_data.h - the files that a job trains on: uploaded ones, and those of data_directory. */
#pragma once

#include "jobs/job.h"

/* Finds what a training file's name means, and the name under which the job will have it. */
bool sv_job_data_find(struct sv_jobs *jobs, const char *name, const char *param,
                      struct sv_job_spec *spec, char data[static PATH_MAX], struct sv_error *error)
    SL_MUST_CHECK;
/* What the client calls a file of a job, by its id. */
void sv_job_file_name(const struct sv_jobs *jobs, const char *id,
                      char name[static SV_FILE_NAME_MAX]);
/* Links uploaded files into the job's directory, so that they may be deleted meanwhile. */
bool sv_job_data_link(struct sv_jobs *jobs, const struct sv_job *job, struct sv_error *error)
    SL_MUST_CHECK;
