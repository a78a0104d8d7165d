/* thread_priority.h - how the kernel shares the processors among our threads. All of it applies to
 * the calling thread, and to threads that it creates from then on; none of it needs a privilege.
 * These are hints: where the kernel refuses one, everything works, only later. */
#pragma once

#include <stdint.h>

/* Adds to the nice level: each one means 20 % less of a processor beside others that compute. There
 * is no way back. */
void sv_thread_add_nice(int levels);

/* For a thread that does little and should do it at once: its time slice is this long (ns, at
 * least 100 us), so it has its turn before others have used up theirs. 0: the default. Linux 6.12
 * and later; earlier ones treat a thread that mostly sleeps so anyway. */
void sv_thread_set_slice(int64_t ns);
