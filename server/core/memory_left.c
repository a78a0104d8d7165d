/* memory_left.c - how much memory the machine and the cgroups leave. */
#include "core/memory_left.h"
#include "base/control_groups.h"

#include <stdlib.h>

/* A number in a file of the kernel; -1: none, such as "max". */
static int64_t read_number(const char *directory, const char *file, const char *key)
{
    char text[SL_KERNEL_LINE_BYTES];
    const int64_t number =
        sl_kernel_line(directory, file, key, text) ? strtoll(text, NULL, 10) : -1;
    return number > 0 ? number : -1;
}

static void lower(void *context, const char *directory)
{
    struct sv_memory_left *found = context;
    const int64_t limit = read_number(directory, "memory.max", "");
    const int64_t used = read_number(directory, "memory.current", "");
    const int64_t cache = read_number(directory, "memory.stat", "inactive_file ");
    if (limit < 0 || used < 0)
        return; /* the root has no limit */
    const int64_t held = cache > 0 && cache < used ? used - cache : used;
    const int64_t left = limit > held ? limit - held : 0;
    if (left < found->bytes)
        *found =
            (struct sv_memory_left){.bytes = left, .limit = limit, .used = held, .is_cgroup = true};
}

struct sv_memory_left sv_memory_left(void)
{
    const int64_t total = read_number("/proc", "meminfo", "MemTotal:");
    const int64_t left = read_number("/proc", "meminfo", "MemAvailable:");
    struct sv_memory_left found = {.bytes = INT64_MAX};
    if (total > 0 && left > 0)
        found = (struct sv_memory_left){
            .bytes = left * 1024, .limit = total * 1024, .used = (total - left) * 1024};
    sl_cgroup_for_each(lower, &found);
    return found;
}
