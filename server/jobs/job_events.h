/* job_events.h - events and checkpoints of a job: events.jsonl and the index. */
#pragma once

#include "jobs/job.h"

/* Appends an event. level: info, warn or error. data: a JSON object, or NULL for a message. */
void sv_job_event(struct sv_jobs *jobs, struct sv_job *job, const char *level, const char *data,
                  const char *format, ...) SL_PRINTF(5, 6);
/* Reads events.jsonl: indexes events unless the index has them, and finds where to go on. */
bool sv_job_events_load(struct sv_jobs *jobs, struct sv_job *job, struct sl_err *err) SL_MUST_CHECK;
/* Records a checkpoint, the state saved last. */
void sv_job_checkpoint(struct sv_jobs *jobs, struct sv_job *job);
