/* killed_daemon.h - waiting for what a killed daemon held. If it was killed while it started a
 * trainer, the child has its lock and its sockets for a moment. */
#pragma once

#include <stdbool.h>

/* Asks until it is free, for at most SV_KILLED_DAEMON_MS; false: it still is not, so it is another
 * daemon's. Only at start: the thread sleeps. */
bool sv_killed_daemon_wait(bool (*is_free)(const void *thing), const void *thing);
