/* publish_model.h - a finished model becomes a version in the store. */
#pragma once

#include "jobs/job.h"

/* Copies the model into the store as the spec's version, whole or not at all; again is fine. Slow;
 * without the lock. SL_BUSY: another model has this version. */
bool sv_job_publish(struct sv_jobs *jobs, const struct sv_job_spec *spec, struct sl_err *err)
    SL_MUST_CHECK;
/* Removes the spec's version from the store: it cannot be loaded. Slow; without the lock. */
void sv_job_withdraw(struct sv_jobs *jobs, const struct sv_job_spec *spec);
