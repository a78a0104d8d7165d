/* clock.c - seconds of a clock that only goes forward. */
#include "base/clock.h"

#include <time.h>

double sl_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
