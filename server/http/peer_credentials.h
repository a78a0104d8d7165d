/* peer_credentials.h - who is at the other end of a connection. */
#pragma once

#include "core/caller.h"

/* Fills in what the connection itself says: the address, or the user behind a UNIX socket. */
void sv_peer_read(int fd, struct sv_caller *caller);
