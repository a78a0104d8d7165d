/* listener.h - the socket that clients connect to, opened before anything is promised. */
#pragma once

#include "sluice/err.h"

#include <stdbool.h>

/* Whether such an address may be listened on; whether its port is free shows only then. */
bool sv_listen_check(const char *address, bool insecure, struct sl_err *err) SL_MUST_CHECK;
/* Binds "address:port" and listens; *port gets the port in use. Without `insecure` only addresses
 * of this machine itself are accepted. -1: see err. The caller closes it. */
int sv_listen(const char *address, bool insecure, int *port, struct sl_err *err) SL_MUST_CHECK;
