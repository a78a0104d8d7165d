/* job_record.h - job.json: the request of a job and its progress, on the disk and in the index. */
#pragma once

#include "jobs/job.h"

/* Writes job.json, synced, and the object in the index; or has the jobs' thread try again until it
 * is done: the disk may be full for a while. */
void sv_job_keep(struct sv_jobs *jobs, struct sv_job *job);
/* The same once, for a job that there is only if it can be saved. */
bool sv_job_save(struct sv_jobs *jobs, const struct sv_job *job, struct sl_err *err) SL_MUST_CHECK;
/* The object in the index alone, for changes that are not worth a sync. */
void sv_job_index(struct sv_jobs *jobs, const struct sv_job *job);
/* Reads job.json of a directory; NULL: see err. */
struct sv_job *sv_job_load(struct sv_jobs *jobs, const char *id, struct sl_err *err) SL_MUST_CHECK;
