/* connection_watcher.h - notices clients that left or stalled while their connections are
 * suspended.
 *
 * libmicrohttpd does not look at suspended connections, so one thread looks at their sockets
 * instead. A client that closed, reset or shut down its sending side has left; bytes that it sent
 * ahead are not leaving. The same thread ticks every call in flight now and then, for what must be
 * said in time, and shuts connections whose next request, or the rest of one, does not come: a
 * byte now and then is enough to stay for libmicrohttpd. */
#pragma once

#include "core/request.h"

struct sv_watcher;

/* A connection; http_server.c makes one for each. The fields are the watcher's. */
struct sv_guest {
    struct sv_guest *next, **link;
    int fd;
    int64_t until_ns, crowded_until_ns; /* the second when most connections are taken */
};

/* Watches at most that many calls, of as many connections. */
struct sv_watcher *sv_watcher_create(int calls_max, struct sl_err *err) SL_MUST_CHECK;
void sv_watcher_destroy(struct sv_watcher *watcher); /* NULL is fine; nothing is watched any more */

enum { SV_UNWATCHED = -1 };

/* From now on the call is cancelled when the socket's other end leaves. Returns what remove wants,
 * or SV_UNWATCHED when there is no room. Remove before the socket is closed: numbers are used
 * again. */
int sv_watcher_add(struct sv_watcher *watcher, int fd, struct sv_call *call);
void sv_watcher_remove(struct sv_watcher *watcher, int watch); /* SV_UNWATCHED is fine */
void sv_watcher_cancel_all(struct sv_watcher *watcher);

/* From its first moment until before its socket is closed. */
void sv_watcher_meet(struct sv_watcher *watcher, struct sv_guest *guest, int fd);
void sv_watcher_part(struct sv_watcher *watcher, struct sv_guest *guest);
/* What comes next, or goes, has so much time, or its connection is shut; when most connections are
 * taken it has SV_CROWDED_MS and `more_ns`. */
void sv_watcher_expect(struct sv_watcher *watcher, struct sv_guest *guest, int64_t ns,
                       int64_t more_ns);
/* The answer is written and the socket will be closed, but the client still sends: closed at once,
 * the connection would be reset, and the answer lost. The watcher reads on for a while. */
void sv_watcher_linger(struct sv_watcher *watcher, int fd);
void sv_watcher_trust(struct sv_watcher *watcher, struct sv_guest *guest); /* nothing has to come */
