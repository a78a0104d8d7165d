/* inherited_sockets.h - listening sockets that the service manager opened before it started the
 * daemon (systemd.socket(5)). It keeps them open while the daemon restarts, so clients wait in the
 * kernel's backlog instead of being refused. */
#pragma once

#include "core/limits.h"

#include "sluice/err.h"

#include <stdbool.h>

enum { SV_INHERITED_SOCKETS_MAX = 1 + SV_ADMIN_ADDRESSES_MAX };

struct sv_inherited_socket {
    int fd;
    bool is_admin; /* named `admin`; else `inference` */
};

/* How many there are: 0 without a service manager, -1 if there are others than expected; see err.
 * Call it once, before there are threads. The caller closes them. */
int sv_inherited_sockets(struct sv_inherited_socket sockets[static SV_INHERITED_SOCKETS_MAX],
                         struct sl_err *err) SL_MUST_CHECK;
