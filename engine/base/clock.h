/* clock.h - the two clocks: one that only goes forward, and the calendar's. Any thread. */
#pragma once

#include <stdint.h>
#include <time.h>

/* Monotonic: for durations and deadlines. It starts anywhere and never jumps. */
int64_t sl_now_ns(void);
double sl_now_seconds(void);

/* Wall clock, since 1970 in UTC: for people and files. It may jump. */
int64_t sl_wall_ns(void);

/* A time of either clock in the form that the system's calls take. */
struct timespec sl_timespec(int64_t ns);
