/* memory_left.h - how much memory this process may still use. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Bytes. Memory that the kernel can take back, such as the cache of files, counts as left. */
struct sv_memory_left {
    int64_t bytes;       /* left; INT64_MAX: unknown */
    int64_t limit, used; /* of the tightest limit */
    bool is_cgroup;      /* it is a memory.max of our cgroups; else the machine's memory */
};

/* Reads files of the kernel. Any thread. */
struct sv_memory_left sv_memory_left(void);
