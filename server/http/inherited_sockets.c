/* inherited_sockets.c - listening sockets that the service manager opened. */
#include "http/inherited_sockets.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>

/* systemd-socket-activate gives the name `unknown` unless it is told another. */
static bool read_socket(struct sv_inherited_socket *out, int fd, const char *name,
                        struct sl_err *err)
{
    *out = (struct sv_inherited_socket){.fd = fd, .is_admin = strcmp(name, "admin") == 0};
    if (!out->is_admin && strcmp(name, "inference") != 0 && strcmp(name, "unknown") != 0)
        return sl_fail(err, SL_BAD_INPUT,
                       "the service manager passed a socket named '%s'; set FileDescriptorName= "
                       "to inference or admin",
                       name);
    return sd_is_socket(fd, AF_UNSPEC, SOCK_STREAM, 1) > 0 ||
           sl_fail(err, SL_BAD_INPUT,
                   "the socket '%s' of the service manager does not listen for streams; use "
                   "ListenStream= and Accept=no",
                   name);
}

/* One for inference, and as many for administration as there may be. */
static bool check_counts(const struct sv_inherited_socket *sockets, int count, struct sl_err *err)
{
    int inference = 0;
    for (int i = 0; i < count; i++)
        inference += !sockets[i].is_admin;
    return inference <= 1 ||
           sl_fail(err, SL_BAD_INPUT,
                   "the service manager passed %d sockets for inference; one is expected",
                   inference);
}

int sv_inherited_sockets(struct sv_inherited_socket sockets[static SV_INHERITED_SOCKETS_MAX],
                         struct sl_err *err)
{
    char **names = NULL;
    int count = sd_listen_fds_with_names(1, &names);
    bool good = count >= 0 || sl_fail(err, SL_IO, "cannot take the service manager's sockets: %s",
                                      strerrordesc_np(-count));
    if (good && count > SV_INHERITED_SOCKETS_MAX)
        good = sl_fail(err, SL_BAD_INPUT, "the service manager passed %d sockets; at most %d fit",
                       count, SV_INHERITED_SOCKETS_MAX);
    for (int i = 0; good && i < count; i++)
        good = read_socket(&sockets[i], SD_LISTEN_FDS_START + i, names[i], err);
    good = good && check_counts(sockets, count, err);
    for (int i = 0; i < count; i++)
        free(names[i]);
    free((void *)names);
    return good ? count : -1;
}
