/* ctl_hints.h - what the user of a command line can do about the daemon's errors. */
#pragma once

#include "sluicectl/ctl_command.h"

/* Removes what the daemon advises for HTTP requests, if there is a hint instead. */
void ctl_remove_advice(struct client_error *failure);
/* Does that, and adds a hint to the failure of a command, if there is one for the daemon's error
 * code. */
void ctl_add_hint(const struct ctl_command *command, const struct ctl_options *ctl,
                  struct client_error *failure);
