/* job_phase.h - the states of a job: its phase, what its owner wants, and what clients see. */
#pragma once

#include "core/request_error.h"

#include <stdint.h>

/* A job passes through them in this order, and may end in any of them. */
enum sv_job_phase {
    SV_JOB_PREPARING,  /* its files are checked */
    SV_JOB_WAITING,    /* for its turn */
    SV_JOB_TRAINING,   /* a trainer runs, or is about to be started again */
    SV_JOB_PUBLISHING, /* the model is copied into the store */
    SV_JOB_LOADING,    /* the registry loads it */
    SV_JOB_MEASURING,  /* the new and the serving version are evaluated */
    SV_JOB_PROMOTING,  /* the registry moves a label */
    SV_JOB_SUCCEEDED,
    SV_JOB_FAILED,
    SV_JOB_CANCELLED,
    SV_JOB_PHASES
};

enum sv_job_action { SV_JOB_PAUSE, SV_JOB_RESUME, SV_JOB_CANCEL };

enum sv_job_desired_state { SV_DESIRED_RUNNING, SV_DESIRED_PAUSED };

const char *sv_job_phase_name(enum sv_job_phase phase); /* in job.json */
/* The phase with this name; false: there is none. */
bool sv_job_phase_find(const char *name, enum sv_job_phase *phase);

static inline bool sv_job_phase_has_ended(enum sv_job_phase phase)
{
    return phase >= SV_JOB_SUCCEEDED;
}

/* Whether it takes one of the places of running jobs. */
static inline bool sv_job_phase_is_running(enum sv_job_phase phase)
{
    return phase >= SV_JOB_TRAINING && phase <= SV_JOB_PROMOTING;
}

/* OpenAI's status. A job that pauses is "queued". */
const char *sv_job_status(enum sv_job_phase phase, enum sv_job_desired_state desired);

/* Applies an action; fails with SV_CONFLICT if the phase does not permit it. */
bool sv_job_phase_act(enum sv_job_phase *phase, enum sv_job_desired_state *desired,
                      enum sv_job_action action, struct sv_error *error) SL_MUST_CHECK;

/* The phase in which a job continues when the daemon has started again. */
enum sv_job_phase sv_job_phase_restart(enum sv_job_phase phase);

/* ---- failures of a trainer ------------------------------------------------------------------- */

enum { SV_JOB_TRIES = 3 }; /* that end at the same step */

struct sv_job_failures {
    int count;    /* in a row at this step */
    int64_t step; /* that the last one reached */
};

/* Counts a failure at a step. Returns how long to wait before the next try [ms]; -1: no more. */
int64_t sv_job_failed_at(struct sv_job_failures *failures, int64_t step);
