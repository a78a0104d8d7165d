/* service_manager.h - what systemd does for the daemon: holds its listening sockets across
 * restarts, and hears its notifications. */
#pragma once

#include "support/daemon.h"

#include <stdbool.h>

enum { NOTIFICATIONS_MAX = 4096 };

struct service_manager {
    struct daemon daemon; /* its port is that of the inference socket */
    int inference, admin; /* the sockets it holds; the second is a UNIX socket */
    int notify;
    char heard[NOTIFICATIONS_MAX]; /* the notifications since the start, one line per variable */
};

/* Makes a store with the tiny model, and the sockets: for inference at 127.0.0.1. */
void service_manager_open(struct service_manager *manager);

/* How a daemon is started. */
struct service_start {
    const char *const *options; /* besides the store; NULL ends them */
    const char *names;          /* LISTEN_FDNAMES */
    const char *watchdog_usec;  /* NULL: there is no watchdog */
    const char *keys;           /* of $CREDENTIALS_DIRECTORY; NULL: none */
};

/* Starts a daemon with these sockets. */
void service_manager_spawn(struct service_manager *manager, const struct service_start *start);
/* Waits for this text among the notifications since the daemon was started; fails when it does not
 * come. */
void service_manager_hear(struct service_manager *manager, const char *text);
/* Spawns with the usual names, and waits for READY. */
void service_manager_start(struct service_manager *manager, const char *const *options);
/* Sends SIGTERM. The daemon must exit with 0. */
void service_manager_stop(struct service_manager *manager);
/* Closes the sockets and removes the store. */
void service_manager_close(struct service_manager *manager);
