/* job_state_machine.h - what happens in each phase of a job. */
#pragma once

#include "jobs/job.h"

/* Advances a job as far as possible without waiting. Call it with the lock, which it releases
 * during slow work. True: call it again at once. */
bool sv_job_step(struct sv_jobs *jobs, struct sv_job *job);
/* Starts a waiting job. */
void sv_job_begin(struct sv_jobs *jobs, struct sv_job *job);
void sv_job_fail(struct sv_jobs *jobs, struct sv_job *job, const char *code, const char *param,
                 const char *message);
