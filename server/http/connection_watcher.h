/* connection_watcher.h - notices clients that left or stalled while their connections are
 * suspended.
 *
 * libmicrohttpd does not look at suspended connections, so one thread looks at their sockets
 * instead. A client that closed, reset or shut down its sending side has left; bytes that it sent
 * ahead are not leaving. The same thread ticks every request in flight now and then, for what must
 * be said in time, and shuts connections whose next request, or the rest of one, does not come: a
 * byte now and then is enough to stay for libmicrohttpd. */
#pragma once

#include "core/request.h"

struct sv_watcher;

/* A connection; http_server.c makes one for each. The fields are the watcher's. */
struct sv_watched_connection {
    struct sv_watched_connection *next, **link;
    int fd;
    int64_t deadline_ns, busy_deadline_ns; /* the second when most connections are taken */
};

/* Watches at most that many requests, of as many connections. */
struct sv_watcher *sv_watcher_create(int requests_max, struct sl_err *err) SL_MUST_CHECK;
void sv_watcher_destroy(struct sv_watcher *watcher); /* NULL is fine; nothing is watched any more */

enum { SV_NOT_WATCHED = -1 };

/* From now on the request is cancelled when the socket's other end leaves. Returns what remove
 * wants, or SV_NOT_WATCHED when there is no room. Remove before the socket is closed: numbers are
 * used again. */
int sv_watcher_add(struct sv_watcher *watcher, int fd, struct sv_request *request);
void sv_watcher_remove(struct sv_watcher *watcher, int watch); /* SV_NOT_WATCHED is fine */
void sv_watcher_cancel_all(struct sv_watcher *watcher);

/* From its first moment until before its socket is closed. */
void sv_watcher_open_connection(struct sv_watcher *watcher, struct sv_watched_connection *watched,
                                int fd);
void sv_watcher_close_connection(struct sv_watcher *watcher, struct sv_watched_connection *watched);
/* What comes next, or goes, has so much time, or its connection is shut; when most connections are
 * taken it has SV_BUSY_TIMEOUT_MS and `more_ns`. */
void sv_watcher_set_deadline(struct sv_watcher *watcher, struct sv_watched_connection *watched,
                             int64_t ns, int64_t more_ns);
/* The answer is written and the socket will be closed, but the client still sends: closed at once,
 * the connection would be reset, and the answer lost. The watcher reads on for a while. */
void sv_watcher_linger(struct sv_watcher *watcher, int fd);
void sv_watcher_clear_deadline(struct sv_watcher *watcher,
                               struct sv_watched_connection *watched); /* nothing has to come */
