/* control_groups.h - the control groups, version 2, that this process is in, and what their files
 * say. */
#pragma once

#include <limits.h>
#include <stdbool.h>

enum {
    SL_CGROUP_PATH_BYTES = PATH_MAX + 16, /* of a group's directory */
    SL_KERNEL_LINE_BYTES = 128            /* of a line, with newline and NUL */
};

/* Our cgroup; the root if version 2 has none for us. */
void sl_cgroup_own(char directory[static SL_CGROUP_PATH_BYTES]);
/* Calls `read` for our cgroup and each one above it, up to the root. */
void sl_cgroup_for_each(void (*read)(void *context, const char *directory), void *context);

/* What follows `key` in the first line that begins with it, of a file in a group or in /proc.
 * False: there is no such file or line. */
bool sl_kernel_line(const char *directory, const char *file, const char *key,
                    char rest[static SL_KERNEL_LINE_BYTES]);
