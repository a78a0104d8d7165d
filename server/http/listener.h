/* listener.h - the socket that clients connect to, opened before anything is promised. */
#pragma once

#include "sluice/err.h"

#include <stdbool.h>

/* Checks an address without binding it. */
bool sv_listen_check(const char *address, bool insecure, struct sl_err *err) SL_MUST_CHECK;
/* Binds "address:port" and listens; *port gets the port in use. Without `insecure` only loopback
 * addresses are accepted. Returns the socket, which the caller closes, or -1. */
int sv_listen(const char *address, bool insecure, int *port, struct sl_err *err) SL_MUST_CHECK;
