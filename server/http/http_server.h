/* http_server.h - HTTP/1.1: turns bytes into requests, and responses and streams into bytes.
 *
 * Its threads run no model: they read requests, tokenize and write responses. A request that has
 * to wait is suspended until it is woken. */
#pragma once

#include "core/caller.h"
#include "core/server.h"

#include "sluice/err.h"

struct sv_http_listener;
struct sv_router;
struct sv_watcher;

/* One listener. */
struct sv_http_options {
    enum sv_listener listener;
    int socket;
    bool has_tls; /* with the pair of sv_tls_use */
    int threads, connections_max;
    int64_t body_memory_limit; /* of all listeners; this one takes no body beyond it */
};

/* Serves on the listening socket and owns it. Server, router and watcher must outlive it. */
struct sv_http_listener *sv_http_start(struct sv_server *server, const struct sv_router *router,
                                       struct sv_watcher *watcher,
                                       const struct sv_http_options *options, struct sl_err *err)
    SL_MUST_CHECK;
/* Stops accepting: new connections wait in the kernel's backlog. Open ones are still served. */
void sv_http_stop_accepting(struct sv_http_listener *http);
/* Closes every connection. No request may be suspended any more. NULL is fine. */
void sv_http_stop(struct sv_http_listener *http);
