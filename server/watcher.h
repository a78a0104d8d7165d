/* watcher.h - notices clients that left, while their connections are suspended.
 *
 * libmicrohttpd does not look at suspended connections, so one thread looks at their sockets
 * instead. A client that closed, reset or shut down its sending side has left; bytes that it sent
 * ahead are not leaving. The same thread ticks every call in flight now and then, for what must be
 * said in time. */
#pragma once

#include "call.h"

struct sv_watcher;

/* Watches at most that many calls. */
struct sv_watcher *sv_watcher_create(int calls_max, struct sl_err *err) SL_MUST_CHECK;
void sv_watcher_destroy(struct sv_watcher *watcher); /* NULL is fine; nothing is watched any more */

enum { SV_UNWATCHED = -1 };

/* From now on the call is cancelled when the socket's other end leaves. Returns what remove wants,
 * or SV_UNWATCHED when there is no room. Remove before the socket is closed: numbers are used
 * again. */
int sv_watcher_add(struct sv_watcher *watcher, int fd, struct sv_call *call);
void sv_watcher_remove(struct sv_watcher *watcher, int watch); /* SV_UNWATCHED is fine */
void sv_watcher_cancel_all(struct sv_watcher *watcher);
