/* control_groups.c - where the kernel keeps our control groups. */
#include "base/control_groups.h"

#include <stdio.h>
#include <string.h>

static const char cgroup_root[] = "/sys/fs/cgroup";

/* Our cgroup below the mount point of version 2, or "" when there is none. */
static void cgroup_name(char *name, size_t size)
{
    name[0] = '\0';
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (!file)
        return;
    char line[PATH_MAX];
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "0::/", 4) == 0)
            (void)snprintf(name, size, "%s", line + 3);
    }
    (void)fclose(file);
}

void sl_cgroup_own(char directory[static SL_CGROUP_PATH_BYTES])
{
    const size_t root = sizeof cgroup_root - 1;
    memcpy(directory, cgroup_root, sizeof cgroup_root);
    cgroup_name(directory + root, SL_CGROUP_PATH_BYTES - root);
}

void sl_cgroup_for_each(void (*read)(void *context, const char *directory), void *context)
{
    char directory[SL_CGROUP_PATH_BYTES];
    sl_cgroup_own(directory);
    for (char *end = directory + strlen(directory);; end = strrchr(directory, '/')) {
        *end = '\0';
        read(context, directory);
        if (strlen(directory) < sizeof cgroup_root)
            return;
    }
}

bool sl_kernel_line(const char *directory, const char *file, const char *key,
                    char rest[static SL_KERNEL_LINE_BYTES])
{
    char path[SL_CGROUP_PATH_BYTES + 32], line[SL_KERNEL_LINE_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", directory, file);
    FILE *stream = fopen(path, "re");
    bool found = false;
    while (stream && !found && fgets(line, sizeof line, stream))
        found = strncmp(line, key, strlen(key)) == 0;
    if (stream)
        (void)fclose(stream);
    if (found)
        (void)snprintf(rest, SL_KERNEL_LINE_BYTES, "%s", line + strlen(key));
    return found;
}
