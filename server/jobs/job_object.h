/* job_object.h - the object of a job that clients see. */
#pragma once

#include "jobs/job.h"

enum { SV_JOB_RESULT_ID_MAX = SV_JOB_ID_MAX + 8 };

/* The id of a file that a job makes. */
void sv_job_result_id(const struct sv_job *job, enum sv_job_result result,
                      char id[static SV_JOB_RESULT_ID_MAX]);
void sv_job_write(const struct sv_job *job, struct sl_buffer *out);
