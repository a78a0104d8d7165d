/* listeners.h - all listeners of the daemon: `listen`, and the addresses of `admin_listen`, each
 * with threads and a connection watcher of its own, so that one answers while another is flooded.
 *
 * Only the thread that owns it may use it. */
#pragma once

#include "core/options.h"
#include "core/server.h"

struct sv_listeners;
struct sv_router;

/* Checks the addresses without binding them. Addresses that other machines can reach need keys. */
bool sv_listeners_check(const struct sv_options *options, bool has_keys, struct sl_err *err)
    SL_MUST_CHECK;

/* Takes the sockets of the service manager and binds the other addresses. `options` must outlive
 * it. NULL: see err. */
struct sv_listeners *sv_listeners_open(const struct sv_options *options, bool has_keys,
                                       struct sl_err *err) SL_MUST_CHECK;
/* Accepts requests. Server and router must outlive it. */
bool sv_listeners_start(struct sv_listeners *listeners, struct sv_server *server,
                        const struct sv_router *router, struct sl_err *err) SL_MUST_CHECK;
/* Writes the option port_file, if it is set. */
bool sv_listeners_write_ports(const struct sv_listeners *listeners, struct sl_err *err)
    SL_MUST_CHECK;
int sv_listeners_port(const struct sv_listeners *listeners); /* of `listen` */
void sv_listeners_log(const struct sv_listeners *listeners);

/* Reads the TLS certificate and its key again, for connections to come. False: they are as they
 * were. */
bool sv_listeners_reload(struct sv_listeners *listeners, struct sl_err *err) SL_MUST_CHECK;

/* Accepts no more connections on sockets of the service manager: they wait for the daemon that is
 * started next. True if the one for inference is such a socket. */
bool sv_listeners_leave(struct sv_listeners *listeners);
/* Cancels every request that waits. */
void sv_listeners_cancel_all(struct sv_listeners *listeners);
/* Closes every connection. No request may be suspended any more. NULL is fine. */
void sv_listeners_close(struct sv_listeners *listeners);
