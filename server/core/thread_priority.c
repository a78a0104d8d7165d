/* thread_priority.c - how the kernel shares the processors among our threads. */
#include "core/thread_priority.h"

#include <linux/sched.h>
#include <linux/sched/types.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* On Linux, process 0 is the calling thread. */
void sv_thread_add_nice(int levels)
{
    (void)setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + levels);
}

void sv_thread_set_slice(int64_t ns)
{
    struct sched_attr attributes = {.size = sizeof attributes,
                                    .sched_policy = SCHED_NORMAL,
                                    .sched_nice = getpriority(PRIO_PROCESS, 0),
                                    .sched_runtime = (uint64_t)ns};
    (void)syscall(SYS_sched_setattr, 0, &attributes, 0);
}
