/* killed_daemon.c - asks again and again, for a few seconds. */
#include "core/killed_daemon.h"

#include "core/limits.h"

#include <unistd.h>

bool sv_killed_daemon_wait(bool (*is_free)(const void *thing), const void *thing)
{
    enum { STEP_MS = 20 };

    for (int ms = 0; !is_free(thing); ms += STEP_MS) {
        if (ms >= SV_KILLED_DAEMON_MS)
            return false;
        (void)usleep(STEP_MS * 1000);
    }
    return true;
}
