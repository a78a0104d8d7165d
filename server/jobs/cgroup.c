/* cgroup.c - a control group of its own for the trainers.
 *
 * In cgroup v2 a group whose children share a controller has no processes itself. So the daemon
 * moves to a child, beside the one of the trainers. It does so only if systemd says, by an extended
 * attribute, that the group is ours (Delegate=). */
#include "jobs/cgroup.h"
#include "base/control_groups.h"
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

enum { GROUP_MAX = SL_CGROUP_PATH_BYTES, PATHS_MAX = GROUP_MAX + 64 };

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
    char path[PATHS_MAX];
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
    char path[PATHS_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", group, name);
    return mkdir(path, S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH) == 0 || errno == EEXIST;
}

int sv_cgroup_divide(const char *group, int weight)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%d", weight);
    bool divided = make_group(group, "serve") && make_group(group, "train") &&
                   write_file(group, "serve/cgroup.procs", "0") &&
                   write_file(group, "cgroup.subtree_control", "+cpu") &&
                   write_file(group, "train/cpu.weight", text);
    return divided ? open_file(group, "train/cgroup.procs") : -1;
}

int sv_cgroup_open(int weight)
{
    char group[GROUP_MAX];
    sl_cgroup_own(group);
    bool mine = is_delegated(group);
    int fd = mine ? sv_cgroup_divide(group, weight) : -1;
    if (fd >= 0)
        SV_LOG(SV_LOG_INFO, "trainers have a control group", sv_str("group", group),
               sv_int("cpu.weight", weight));
    else
        SV_LOG(mine ? SV_LOG_WARN : SV_LOG_INFO, "trainers have no control group of their own",
               sv_str("reason", mine ? strerrordesc_np(errno)
                                     : "systemd delegates none; only job_nice limits them"));
    return fd;
}
