/* job_object.h - the object of a job that clients see. */
#pragma once

#include "jobs/job.h"

enum { SV_JOB_RESULT_ID_MAX = SV_JOB_ID_MAX + 8 };

/* The ids of the files that a job makes: its CSV, and its report. */
void sv_job_result_id(const struct sv_job *job, bool is_report,
                      char id[static SV_JOB_RESULT_ID_MAX]);
void sv_job_write(const struct sv_job *job, struct sl_buffer *out);
