/* control_groups.h - the control groups, version 2, that this process is in. */
#pragma once

#include <limits.h>

enum { SL_CGROUP_PATH_BYTES = PATH_MAX + 16 }; /* of a group's directory */

/* Our cgroup; the root if version 2 has none for us. */
void sl_cgroup_own(char directory[static SL_CGROUP_PATH_BYTES]);
/* Calls `read` for our cgroup and each one above it, up to the root. */
void sl_cgroup_for_each(void (*read)(void *context, const char *directory), void *context);
