/* memory.h - how much memory this process may still use. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sv_memory_room {
    int64_t bytes;       /* left; INT64_MAX: unknown */
    int64_t limit, used; /* of the tightest limit */
    bool is_cgroup;      /* it is a memory.max of our cgroups; else the machine's memory */
};

/* Memory that the kernel can take back, such as the cache of files, counts as left. */
struct sv_memory_room sv_memory_left(void);
