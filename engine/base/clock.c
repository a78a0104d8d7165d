/* clock.c - the monotonic clock and the wall clock, in nanoseconds. */
#include "base/clock.h"

enum { NS_PER_SECOND = 1000000000 };

static int64_t read_clock(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * NS_PER_SECOND + t.tv_nsec;
}

int64_t sl_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double sl_now_seconds(void)
{
    return 1e-9 * (double)sl_now_ns();
}

int64_t sl_wall_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

struct timespec sl_timespec(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / NS_PER_SECOND, .tv_nsec = ns % NS_PER_SECOND};
}

void sl_monotonic_cond_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}
