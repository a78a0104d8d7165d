/* job_log_reader.h - what a trainer reports in log.jsonl. */
#pragma once

#include "jobs/job.h"

/* Reads new lines of the trainer's log; they become progress, events and metrics. */
void sv_job_read_log(struct sv_jobs *jobs, struct sv_job *job);
/* Writes the step metrics as CSV. */
bool sv_job_write_csv(struct sv_jobs *jobs, const struct sv_job *job, struct sl_buffer *out);
