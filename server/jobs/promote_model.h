/* promote_model.h - what a job asks of the registry: to load its version, and to move a label to
 * it. */
#pragma once

#include "jobs/job.h"

/* Asks the registry to pin `stable` of an older version, so that the new one is not served when the
 * daemon starts in between; to load the new version; to move a label to it. False: it could not be
 * asked now. */
bool sv_job_ask_pin(struct sv_jobs *jobs, struct sv_job *job);
bool sv_job_ask_load(struct sv_jobs *jobs, struct sv_job *job);
bool sv_job_ask_promotion(struct sv_jobs *jobs, struct sv_job *job);
/* `stable` follows the highest version again, if the job has pinned it. Does not wait. */
void sv_job_undo_pin(struct sv_jobs *jobs, const struct sv_job *job);
/* The version that serves requests for the job's model, "mood@3". False: none, or the new one. */
bool sv_job_find_serving(struct sv_jobs *jobs, const struct sv_job *job,
                         char serving[static SV_MODEL_ID_MAX]);
/* Records a promotion by the job's rule in the audit log. */
void sv_job_audit_promotion(struct sv_jobs *jobs, const struct sv_job *job);
