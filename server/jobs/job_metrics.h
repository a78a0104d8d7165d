/* job_metrics.h - the metrics of jobs. */
#pragma once

#include "jobs/job.h"

/* Sets the series of a job that trains, and drops them. */
void sv_job_set_metrics(const struct sv_jobs *jobs, const struct sv_job *job);
void sv_job_drop_metrics(struct sv_jobs *jobs, const struct sv_job *job);

/* How many jobs have each status. */
void sv_jobs_count_states(struct sv_jobs *jobs);
/* Counts a job that ended in this phase. */
void sv_job_count_end(struct sv_jobs *jobs, enum sv_job_phase phase);
/* Makes the counters 0, so that their first increase can be seen. */
void sv_jobs_reset_counts(struct sv_jobs *jobs);
