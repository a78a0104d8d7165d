/* job_retention.h - how many jobs that have ended are kept. */
#pragma once

#include "jobs/job.h"

/* Forgets the oldest jobs that have ended when there are too many. With the lock. */
void sv_jobs_evict_oldest(struct sv_jobs *jobs);
