/* ctl_job_follower.h - prints the events of a training job until it has ended. */
#pragma once

#include "sluicectl/ctl_command.h"

/* Fails when the job ended without a model. A daemon that restarts meanwhile is waited for. */
bool ctl_follow_job(const struct ctl_options *ctl, const char *id, struct client_error *failure)
    SL_MUST_CHECK;
