/* memory.c - the memory of the machine and the limits of our cgroups. */
#include "registry/memory.h"

#include "base/control_groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number behind a key at the beginning of a line; -1: there is none. */
static int64_t read_number(const char *path, const char *key)
{
    char line[128];
    int64_t number = -1;
    FILE *file = fopen(path, "re");
    while (file && number < 0 && fgets(line, sizeof line, file)) {
        char *end, *digits = line + strlen(key);
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        number = strtoll(digits, &end, 10);
        if (end == digits)
            break; /* "max" */
    }
    if (file)
        (void)fclose(file);
    return number > 0 ? number : -1;
}

static int64_t read_of(const char *directory, const char *name, const char *key)
{
    char path[SL_CGROUP_PATH_BYTES + 32];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    return read_number(path, key);
}

static void lower(void *context, const char *directory)
{
    struct sv_memory_room *room = context;
    const int64_t limit = read_of(directory, "memory.max", "");
    const int64_t used = read_of(directory, "memory.current", "");
    const int64_t cache = read_of(directory, "memory.stat", "inactive_file ");
    if (limit < 0 || used < 0)
        return; /* the root has neither */
    const int64_t held = cache > 0 && cache < used ? used - cache : used;
    const int64_t left = limit > held ? limit - held : 0;
    if (left < room->bytes)
        *room =
            (struct sv_memory_room){.bytes = left, .limit = limit, .used = held, .is_cgroup = true};
}

struct sv_memory_room sv_memory_left(void)
{
    static const char meminfo[] = "/proc/meminfo";
    const int64_t total = read_number(meminfo, "MemTotal:");
    const int64_t left = read_number(meminfo, "MemAvailable:");
    struct sv_memory_room room = {.bytes = INT64_MAX};
    if (total > 0 && left > 0)
        room = (struct sv_memory_room){
            .bytes = left * 1024, .limit = total * 1024, .used = (total - left) * 1024};
    sl_cgroup_for_each(lower, &room);
    return room;
}
