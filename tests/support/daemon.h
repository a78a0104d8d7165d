/* daemon.h - a sluiced for one test alone: on a free port, with a store of its own. */
#pragma once

#include <limits.h>
#include <stddef.h>
#include <sys/types.h>

enum { DAEMON_WAIT_MS = 60000 };

struct daemon {
    pid_t pid;
    int port, admin_port;                      /* the second: if admin_listen has a TCP address */
    char directory[PATH_MAX], store[PATH_MAX]; /* the store is in the directory */
};

/* Makes the directory and the store, with the tiny model. */
void daemon_make_store(struct daemon *daemon);

/* The logs of the test's daemons, and the test's own errors, go to this file, which is made in the
 * directory. */
const char *daemon_keep_log(const struct daemon *daemon, char path[static PATH_MAX]);

/* Serves the store with these options besides; NULL ends them. Returns when the port is open. */
void daemon_serve(struct daemon *daemon, const char *const *options);

/* Both, with at least one option. */
#define DAEMON_START(daemon, ...)                                                                  \
    do {                                                                                           \
        daemon_make_store(daemon);                                                                 \
        daemon_serve(daemon, (const char *const[]){__VA_ARGS__, NULL});                            \
    } while (0)

/* Stops it with SIGTERM and removes the directory. It must exit with 0; under a sanitizer that also
 * means that there is nothing to report. */
void daemon_stop(struct daemon *daemon);

/* The path of the admin listener's UNIX socket at its default, beside the store. */
const char *daemon_admin_socket(const struct daemon *daemon, char path[static PATH_MAX]);

/* Runs sluiced with these arguments. Its errors go to the test's own standard error where
 * SLUICE_TEST_LOG is set, else nowhere. */
pid_t daemon_spawn(const char *const *args);

void sleep_ms(int ms);
