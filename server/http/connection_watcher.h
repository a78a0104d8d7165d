/* connection_watcher.h - notices clients that left or stalled while their connections are
 * suspended.
 *
 * libmicrohttpd does not look at suspended connections, so one thread polls their sockets. A
 * client that closed, reset or shut down its sending side has left; one that sent bytes ahead
 * has not. The same thread calls `tick` of every request in flight from time to time, and shuts
 * down connections that miss their deadline. (libmicrohttpd's own timeout starts anew with every
 * byte.) */
#pragma once

#include "core/request.h"

struct sv_watcher;

/* One per connection, made by http_server.c. The fields belong to the watcher. */
struct sv_watched_connection {
    struct sv_watched_connection *next, **link;
    int fd;
    const atomic_bool *is_mid_request;     /* a part of a request has arrived */
    bool is_receiving;                     /* until the deadline; else something is being sent */
    int64_t deadline_ns, busy_deadline_ns; /* the second applies when most connections are in use */
};

/* Watches up to this many requests. */
struct sv_watcher *sv_watcher_create(int requests_max, struct sl_err *err) SL_MUST_CHECK;
void sv_watcher_destroy(
    struct sv_watcher *watcher); /* NULL is fine; nothing may be watched any more */

enum { SV_NOT_WATCHED = -1 };

/* Cancels the request when its client disconnects. Returns an index for sv_watcher_remove, or
 * SV_NOT_WATCHED if all slots are in use. Remove before the socket is closed: descriptors are
 * reused. */
int sv_watcher_add(struct sv_watcher *watcher, int fd, struct sv_request *request);
void sv_watcher_remove(struct sv_watcher *watcher, int watch); /* SV_NOT_WATCHED is fine */
void sv_watcher_cancel_all(struct sv_watcher *watcher);

/* A connection is watched from its beginning until just before its socket is closed. */
void sv_watcher_open_connection(struct sv_watcher *watcher, struct sv_watched_connection *watched,
                                int fd, const atomic_bool *is_mid_request);
void sv_watcher_close_connection(struct sv_watcher *watcher, struct sv_watched_connection *watched);
/* The connection is shut down unless its next step happens within `ns`; when most connections are
 * in use, within SV_BUSY_TIMEOUT_MS plus `more_ns`. If it is receiving, and *is_mid_request, which
 * may be NULL, it gets a 408 before. */
void sv_watcher_set_deadline(struct sv_watcher *watcher, struct sv_watched_connection *watched,
                             bool is_receiving, int64_t ns, int64_t more_ns);
/* The response is written but the client is still sending. Closing the socket now would reset the
 * connection and lose the response, so the watcher reads and discards for a while. */
void sv_watcher_linger(struct sv_watcher *watcher, int fd);
void sv_watcher_clear_deadline(struct sv_watcher *watcher,
                               struct sv_watched_connection *watched); /* no deadline */
