/* hosts.h - checks the Host of a request, against DNS rebinding.
 *
 * A web page can make its own host name resolve to 127.0.0.1 and then read the responses of this
 * daemon; its requests have that name in Host. Addresses, `localhost` and the names of the
 * option allowed_hosts are accepted. At its default, `auto`, names are checked only if there are
 * no API keys and the option insecure is not set. */
#pragma once

#include "core/request.h"

/* `host` is a Host header or the authority of a URL, perhaps with a port; NULL: there is none.
 * UNIX sockets take any. */
bool sv_host_check(const struct sv_request *request, const char *host, struct sv_error *error);
