/* job_phase.c - the states of a job. */
#include "jobs/job_phase.h"

#include <string.h>

static const struct {
    const char *name, *status;
} phases[SV_JOB_PHASES] = {
    [SV_JOB_PREPARING] = {"preparing", "validating_files"},
    [SV_JOB_WAITING] = {"waiting", "queued"},
    [SV_JOB_TRAINING] = {"training", "running"},
    [SV_JOB_PUBLISHING] = {"publishing", "running"},
    [SV_JOB_LOADING] = {"loading", "running"},
    [SV_JOB_MEASURING] = {"measuring", "running"},
    [SV_JOB_PROMOTING] = {"promoting", "running"},
    [SV_JOB_SUCCEEDED] = {"succeeded", "succeeded"},
    [SV_JOB_FAILED] = {"failed", "failed"},
    [SV_JOB_CANCELLED] = {"cancelled", "cancelled"},
};

const char *sv_job_phase_name(enum sv_job_phase phase)
{
    return phases[phase].name;
}

bool sv_job_phase_find(const char *name, enum sv_job_phase *phase)
{
    for (int i = 0; i < SV_JOB_PHASES; i++)
        if (strcmp(phases[i].name, name) == 0) {
            *phase = (enum sv_job_phase)i;
            return true;
        }
    return false;
}

const char *sv_job_status(enum sv_job_phase phase, enum sv_job_desired_state desired)
{
    bool pauses = desired == SV_DESIRED_PAUSED && phase <= SV_JOB_TRAINING;
    return phases[pauses ? SV_JOB_WAITING : phase].status;
}

static bool fail_conflict(struct sv_error *error, const char *why, const char *detail)
{
    return sv_fail(error, SV_CONFLICT, NULL, "The job %s%s.", why, detail);
}

bool sv_job_phase_act(enum sv_job_phase *phase, enum sv_job_desired_state *desired,
                      enum sv_job_action action, struct sv_error *error)
{
    if (sv_job_phase_has_ended(*phase))
        return fail_conflict(error, "has ended: it is ", phases[*phase].status);
    if (*phase > SV_JOB_TRAINING && action != SV_JOB_RESUME)
        return fail_conflict(error, "is about to end: its model is complete, it is ",
                             phases[*phase].name);
    switch (action) {
    case SV_JOB_PAUSE:
        if (*desired == SV_DESIRED_PAUSED)
            return fail_conflict(error, "is paused already", "");
        *desired = SV_DESIRED_PAUSED;
        break;
    case SV_JOB_RESUME:
        if (*desired == SV_DESIRED_RUNNING)
            return fail_conflict(error, "is not paused: it is ", phases[*phase].status);
        *desired = SV_DESIRED_RUNNING;
        break;
    case SV_JOB_CANCEL: *phase = SV_JOB_CANCELLED; break;
    }
    return true;
}

enum sv_job_phase sv_job_phase_restart(enum sv_job_phase phase)
{
    return phase == SV_JOB_TRAINING ? SV_JOB_WAITING : phase;
}

int64_t sv_job_failed_at(struct sv_job_failures *failures, int64_t step)
{
    enum { FIRST_MS = 500, FACTOR = 4 };

    failures->count = step == failures->step ? failures->count + 1 : 1;
    failures->step = step;
    if (failures->count >= SV_JOB_TRIES)
        return -1;
    return failures->count == 1 ? FIRST_MS : FIRST_MS * FACTOR;
}
