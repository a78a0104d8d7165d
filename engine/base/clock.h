/* clock.h - the monotonic clock and the wall clock. Any thread. */
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* Monotonic, for durations and deadlines. Its zero is arbitrary, and it never jumps. */
int64_t sl_now_ns(void);
double sl_now_seconds(void);

/* Wall clock, since 1970 in UTC: for people and files. It may jump. */
int64_t sl_wall_ns(void);

/* A time of either clock as a timespec. */
struct timespec sl_timespec(int64_t ns);

/* Initialises a condition whose timed waits end at a time of the monotonic clock. */
void sl_monotonic_cond_init(pthread_cond_t *condition);
