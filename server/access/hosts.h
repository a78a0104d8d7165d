/* hosts.h - which hosts a request may be for.
 *
 * A page of another site can make its own name stand for 127.0.0.1 (DNS rebinding), and then read
 * what this daemon answers. Its requests still carry that name. Addresses, `localhost` and the
 * names of the option allowed_hosts are accepted. At its default, `auto`, names are checked where
 * nothing else keeps strangers out: there are no API keys and the option insecure is not set. */
#pragma once

#include "core/request.h"

/* `host` is a Host header or the authority of a URL, perhaps with a port; NULL: there is none.
 * UNIX sockets take any. */
bool sv_host_check(const struct sv_request *request, const char *host, struct sv_error *error);
