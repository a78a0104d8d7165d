/* served_daemon.h - a sluiced for one benchmark, and requests to control it. */
#pragma once

#include "base/buffer.h"

#include <limits.h>
#include <sys/types.h>

struct served_daemon {
    pid_t pid;
    int port, admin_port;
    char directory[64]; /* for what the benchmark needs on disk; removed at the end */
};

/* Prints what failed, with errno, and ends the program. */
__attribute__((noreturn)) void bench_fail(const char *what);

/* On the loopback interface. `flags` of socket(2). */
int bench_connect(int port, int flags);

/* Makes the directory. */
void served_daemon_init(struct served_daemon *d);
/* Serves `store` with these options besides, NULL ends them; returns when the ports are open. */
void served_daemon_start(struct served_daemon *d, const char *store, const char *const *options);
void served_daemon_stop(struct served_daemon *d);
double served_daemon_resident_mib(const struct served_daemon *d);

/* Sends a request on a connection of its own and returns the status; 0: no response. `response`
 * gets the body, unless it is NULL. */
int bench_request(int port, const char *method, const char *path, const char *body,
                  struct sl_buffer *response);

void bench_sleep(double seconds);
