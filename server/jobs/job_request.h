/* job_request.h - from a request to what a job is: its model, its files and its settings. */
#pragma once

#include "jobs/job.h"

/* Fills the spec of a new job from a request. */
bool sv_job_spec_make(struct sv_jobs *jobs, const struct sv_job_params *params,
                      struct sv_job_spec *spec, struct sv_error *error) SL_MUST_CHECK;
