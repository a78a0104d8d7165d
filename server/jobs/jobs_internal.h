/* jobs_internal.h - what jobs.c and jobs_recovery.c share. */
#pragma once

#include "jobs/job.h"

struct sv_job *sv_jobs_find(const struct sv_jobs *jobs, const char *id); /* NULL: it has ended */
void sv_jobs_append(struct sv_jobs *jobs, struct sv_job *job);
void sv_jobs_join(struct sv_jobs *jobs); /* stops the thread and waits for it */

/* Removes jobs/<id>, job.json first: a directory without it is no job. */
void sv_jobs_remove_directory(const struct sv_jobs *jobs, const char *id);
/* Forgets the oldest jobs that have ended when there are too many. With the lock. */
void sv_jobs_evict_oldest(struct sv_jobs *jobs);

/* Finds the job of an earlier request with the same key; *is_new: there is none. Fails if its body
 * was another one. With the lock. */
bool sv_jobs_find_same(struct sv_jobs *jobs, const struct sv_job_spec *asked,
                       struct sl_buffer *object, bool *is_new, struct sv_error *error);
void sv_jobs_remember(struct sv_jobs *jobs, const struct sv_job_spec *spec);
/* Copies the settings, which belong to the request, so that they belong to the job. */
bool sv_jobs_own_settings(struct sv_job_spec *spec, struct sv_error *error);
