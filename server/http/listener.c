/* listener.c - the socket that clients connect to, opened before anything is promised. */
#include "http/listener.h"
#include "core/limits.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Splits "127.0.0.1:8080" or "[::1]:8080". */
static bool split(const char *address, char host[static 256], char port[static 8])
{
    const char *colon = strrchr(address, ':');
    if (!colon || colon == address || colon - address > 255 || strlen(colon + 1) > 7)
        return false;
    size_t length = (size_t)(colon - address);
    bool bracketed = address[0] == '[' && address[length - 1] == ']' && length > 2;
    if (!bracketed && memchr(address, ':', length))
        return false; /* IPv6 without brackets */
    (void)snprintf(host, 256, "%.*s", (int)(bracketed ? length - 2 : length),
                   bracketed ? address + 1 : address);
    (void)snprintf(port, 8, "%s", colon + 1);
    return port[0] && strspn(port, "0123456789") == strlen(port) && strtol(port, NULL, 10) < 65536;
}

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)address;
        return ntohl(in->sin_addr.s_addr) >> 24 == 127;
    }
    const struct sockaddr_in6 *in6 = (const void *)address;
    return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

static int port_of(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } bound = {.in6 = {0}};

    socklen_t size = sizeof bound;
    if (getsockname(fd, &bound.any, &size) != 0)
        return 0;
    return ntohs(bound.any.sa_family == AF_INET ? bound.in.sin_port : bound.in6.sin6_port);
}

static int open_socket(const struct addrinfo *info)
{
    int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1;
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, info->ai_addr, info->ai_addrlen) == 0 && listen(fd, SV_BACKLOG) == 0)
        return fd;
    int reason = errno;
    (void)close(fd);
    errno = reason;
    return -1;
}

/* The address to listen on; the caller frees it. NULL: see err. */
static struct addrinfo *resolve(const char *address, bool insecure, struct sl_err *err)
{
    char host[256], service[8];
    struct addrinfo *info, hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    if (!split(address, host, service)) {
        (void)sl_fail(err, SL_BAD_INPUT,
                      "listen: '%s' is not address:port, such as 127.0.0.1:8080 or [::1]:8080",
                      address);
        return NULL;
    }
    int status = getaddrinfo(host, service, &hints, &info);
    if (status != 0) {
        (void)sl_fail(err, SL_BAD_INPUT, "listen: '%s': %s", host, gai_strerror(status));
        return NULL;
    }
    if (insecure || is_loopback(info->ai_addr))
        return info;
    (void)sl_fail(
        err, SL_BAD_INPUT,
        "listen: '%s' can be reached from other machines and there is no authentication; listen on "
        "a loopback address behind a proxy, or set insecure: true",
        address);
    freeaddrinfo(info);
    return NULL;
}

bool sv_listen_check(const char *address, bool insecure, struct sl_err *err)
{
    struct addrinfo *info = resolve(address, insecure, err);
    if (info)
        freeaddrinfo(info);
    return info != NULL;
}

int sv_listen(const char *address, bool insecure, int *port, struct sl_err *err)
{
    struct addrinfo *info = resolve(address, insecure, err);
    if (!info)
        return -1;
    int fd = open_socket(info);
    if (fd < 0)
        (void)sl_fail(err, SL_IO, "listen: '%s': %s; set another with --listen or SLUICE_LISTEN",
                      address, strerrordesc_np(errno));
    else
        *port = port_of(fd);
    freeaddrinfo(info);
    return fd;
}
