/* jobs_recovery.h - what the directories say when the daemon starts. */
#pragma once

#include "jobs/job.h"

/* Loads all jobs, brings the index up to date and lets those that have not ended go on. */
bool sv_jobs_recover(struct sv_jobs *jobs, struct sl_err *err) SL_MUST_CHECK;
