/* trainer_command.h - starts `sluice train` and `sluice eval` for a job. */
#pragma once

#include "jobs/job.h"

bool sv_trainer_start(struct sv_jobs *jobs, struct sv_job *job, struct sl_err *err) SL_MUST_CHECK;
/* Evaluates the new version (0) or the serving one (1). */
bool sv_evaluation_start(struct sv_jobs *jobs, struct sv_job *job, int which, struct sl_err *err)
    SL_MUST_CHECK;
/* Whether another process still trains in the job's directory. */
bool sv_trainer_is_locked(const struct sv_jobs *jobs, const struct sv_job *job);
/* Whether the trainer has finished the model. */
bool sv_trainer_has_model(const struct sv_jobs *jobs, const struct sv_job *job);
