/* cgroup.c - a control group of its own for the trainers.
 *
 * In cgroup v2 a group whose children share a controller has no processes itself. So the daemon
 * moves to a child, beside the one of the trainers. It does so only if systemd says, by an extended
 * attribute, that the group is ours (Delegate=). */
#include "jobs/cgroup.h"
#include "core/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static const char mount[] = "/sys/fs/cgroup";

/* The daemon's group: the line "0::/path" of /proc/self/cgroup. */
static bool find_group(char group[static PATH_MAX])
{
    char line[PATH_MAX];
    bool found = false;
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && !found && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        found = strncmp(line, "0::/", 4) == 0;
        if (found)
            (void)snprintf(group, PATH_MAX, "%s%.3000s", mount, line + 3);
    }
    if (file)
        (void)fclose(file);
    return found;
}

static bool is_delegated(const char *group)
{
    static const char *const names[] = {"user.delegate", "trusted.delegate"};
    char value[8] = "";
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (getxattr(group, names[i], value, sizeof value - 1) > 0 && value[0] == '1')
            return true;
    return false;
}

static int open_file(const char *group, const char *name)
{
    char path[PATH_MAX + 64];
    (void)snprintf(path, sizeof path, "%s/%s", group, name);
    return open(path, O_WRONLY | O_CLOEXEC);
}

static bool write_file(const char *group, const char *name, const char *text)
{
    int fd = open_file(group, name);
    bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        (void)close(fd);
    return written;
}

static bool make_group(const char *group, const char *name)
{
    char path[PATH_MAX + 64];
    (void)snprintf(path, sizeof path, "%s/%s", group, name);
    return mkdir(path, S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH) == 0 || errno == EEXIST;
}

int sv_cgroup_open(int weight)
{
    char group[PATH_MAX], text[16];
    int fd = -1;
    (void)snprintf(text, sizeof text, "%d", weight);
    bool mine = find_group(group) && is_delegated(group);
    if (mine && make_group(group, "serve") && make_group(group, "train") &&
        write_file(group, "serve/cgroup.procs", "0") &&
        write_file(group, "cgroup.subtree_control", "+cpu") &&
        write_file(group, "train/cpu.weight", text))
        fd = open_file(group, "train/cgroup.procs");
    if (fd >= 0)
        SV_LOG(SV_LOG_INFO, "trainers have a control group", sv_str("group", group),
               sv_int("cpu.weight", weight));
    else
        SV_LOG(mine ? SV_LOG_WARN : SV_LOG_INFO, "trainers have no control group of their own",
               sv_str("reason", mine ? strerrordesc_np(errno)
                                     : "systemd delegates none; job_nice alone holds them back"));
    return fd;
}
