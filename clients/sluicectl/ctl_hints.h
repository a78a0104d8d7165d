/* ctl_hints.h - what the user of a command line can do about the daemon's errors. */
#pragma once

#include "sluicectl/ctl_command.h"

/* Adds a hint to the failure of a command, if there is one for the daemon's error code. */
void ctl_add_hint(const struct ctl_command *command, const struct ctl_options *ctl,
                  struct client_error *failure);
