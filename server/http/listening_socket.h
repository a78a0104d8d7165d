/* listening_socket.h - checks an address and opens its listening socket. */
#pragma once

#include "core/limits.h"

#include "sluice/err.h"

#include <stdbool.h>
#include <sys/types.h>

/* Where to listen: "address:port", or "unix:path". */
struct sv_address {
    const char *text;
    const char *option;  /* that it comes from, for messages */
    bool is_public_fine; /* else only loopback addresses and UNIX sockets are accepted */
};

/* A socket that listens. */
struct sv_socket {
    int fd;                      /* -1: none */
    bool is_inherited;           /* from the service manager, which keeps it open */
    int port;                    /* 0 for a UNIX socket */
    char path[SV_UNIX_PATH_MAX]; /* of a UNIX socket, else "" */
    dev_t device;                /* the file at `path` when it was created */
    ino_t inode;
};

/* Checks an address without binding it. */
bool sv_listen_check(const struct sv_address *address, struct sl_err *err) SL_MUST_CHECK;

/* Binds and listens. A UNIX socket gets mode 0660 and replaces a socket on which no process
 * listens; any other file at its path is an error. The caller closes `fd`. */
bool sv_listen(const struct sv_address *address, struct sv_socket *out, struct sl_err *err)
    SL_MUST_CHECK;

/* Takes a socket that listens already, with the same rule for public addresses. Writes its address
 * to `text` and lets `address` point to it. The caller closes `fd`, even after a failure. */
bool sv_listen_inherited(int fd, struct sv_address *address, char text[static SV_OPTION_TEXT_MAX],
                         struct sv_socket *out, struct sl_err *err) SL_MUST_CHECK;

/* Removes a UNIX socket's file, unless another was put in its place. Does not close `fd`. */
void sv_socket_remove(const struct sv_socket *socket);
