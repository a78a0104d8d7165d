/* trainer_failure.h - why a trainer or an evaluation ended without a result.
 *
 * With --json `sluice` says it in the last line of its standard output. One that was killed or
 * crashed does not: then its exit status tells how it ended, and its standard error stays in the
 * job's directory for administrators. No program reads that. */
#pragma once

#include "jobs/job.h"

struct sv_trainer_failure {
    enum sl_code code; /* SL_OK: unknown */
    bool is_final;     /* to try again is pointless: the data or the settings are wrong */
    const char *param; /* the file at fault: "training_file", "validation_file"; NULL: none */
    char reason[SV_TRAINER_REASON_MAX]; /* for people; files have the names that clients know */
};

/* status: as waitpid gives it. */
void sv_trainer_failure_find(const struct sv_jobs *jobs, const struct sv_job *job, int status,
                             struct sv_trainer_failure *failure);
/* The code of a job's error, by the file at fault. */
const char *sv_trainer_failure_code(const char *param);
