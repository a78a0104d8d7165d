/* job_list.h - the list of jobs that have not ended, or whose trainer still runs. */
#pragma once

#include "jobs/job.h"

struct sv_job *sv_jobs_find(const struct sv_jobs *jobs, const char *id); /* NULL: it has ended */
/* Puts a job in its place by the order of creation. With the lock. */
void sv_jobs_insert(struct sv_jobs *jobs, struct sv_job *job);
/* Takes the job at *place out of the list. With the lock. */
struct sv_job *sv_jobs_take_out(struct sv_jobs *jobs, struct sv_job **place);
/* Those that run, or those that wait. */
int sv_jobs_count(const struct sv_jobs *jobs, bool running);
