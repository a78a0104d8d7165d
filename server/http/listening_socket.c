/* listening_socket.c - a socket that clients connect to, opened before anything is promised. */
#include "http/listening_socket.h"

#include "core/killed_daemon.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
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
    return port[0] && strspn(port, "0123456789") == strlen(port);
}

/* False for UNIX sockets and loopback addresses. */
static bool is_public(const struct sockaddr *address)
{
    if (address->sa_family == AF_UNIX)
        return false;
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)address;
        return ntohl(in->sin_addr.s_addr) >> 24 != 127;
    }
    const struct sockaddr_in6 *in6 = (const void *)address;
    return !IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

union socket_address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    struct sockaddr_un un;
};

/* The address that a socket is bound to; all zero if there is none. */
static union socket_address bound_address(int fd)
{
    union socket_address bound;
    memset(&bound, 0, sizeof bound);
    socklen_t size = sizeof bound;
    if (getsockname(fd, &bound.any, &size) != 0)
        memset(&bound, 0, sizeof bound);
    return bound;
}

static int port_of(int fd)
{
    union socket_address bound = bound_address(fd);
    return bound.any.sa_family == AF_INET    ? ntohs(bound.in.sin_port)
           : bound.any.sa_family == AF_INET6 ? ntohs(bound.in6.sin6_port)
                                             : 0;
}

static int open_tcp(const struct addrinfo *info)
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

struct tcp_result {
    int fd, error; /* -1 and why, if it could not listen */
};

struct tcp_attempt {
    const struct addrinfo *info;
    struct tcp_result *result;
};

static bool is_settled(const void *thing)
{
    const struct tcp_attempt *attempt = thing;
    const int fd = open_tcp(attempt->info);
    *attempt->result = (struct tcp_result){fd, fd < 0 ? errno : 0};
    return attempt->result->error != EADDRINUSE;
}

/* A killed daemon's port is free soon. */
static struct tcp_result open_free_tcp(const struct addrinfo *info)
{
    struct tcp_result result = {.fd = -1};
    const struct tcp_attempt attempt = {.info = info, .result = &result};
    (void)sv_killed_daemon_wait(is_settled, &attempt);
    return result;
}

static bool is_listen(const struct sv_address *address)
{
    return strcmp(address->option, "listen") == 0;
}

/* Other machines may reach the daemon only if it has keys, or its operator wants it. */
static bool check_public(const struct sv_address *address, const struct sockaddr *resolved,
                         struct sl_err *err)
{
    return address->is_public_fine || !is_public(resolved) ||
           sl_fail(
               err, SL_BAD_INPUT,
               "%s: other machines can reach '%s', and there are no API keys; set api_keys_file, "
               "or listen on 127.0.0.1 or [::1]%s",
               address->option, address->text, is_listen(address) ? ", or set insecure: true" : "");
}

/* The address to listen on; the caller frees it. NULL: see err. */
static struct addrinfo *resolve(const struct sv_address *address, struct sl_err *err)
{
    char host[256], service[8];
    struct addrinfo *info, hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    if (!split(address->text, host, service)) {
        (void)sl_fail(err, SL_BAD_INPUT,
                      "%s: '%s' is not address:port, such as 127.0.0.1:8080 or [::1]:8080%s",
                      address->option, address->text,
                      is_listen(address) ? "" : ", nor unix:PATH, nor auto");
        return NULL;
    }
    if (strtol(service, NULL, 10) > UINT16_MAX) {
        (void)sl_fail(err, SL_BAD_INPUT, "%s: '%s': the port is above %d", address->option,
                      address->text, UINT16_MAX);
        return NULL;
    }
    int status = getaddrinfo(host, service, &hints, &info);
    if (status != 0) {
        (void)sl_fail(err, SL_BAD_INPUT, "%s: '%s': %s", address->option, host,
                      gai_strerror(status));
        return NULL;
    }
    if (check_public(address, info->ai_addr, err))
        return info;
    freeaddrinfo(info);
    return NULL;
}

static bool listen_tcp(const struct sv_address *address, struct sv_socket *out, struct sl_err *err)
{
    struct addrinfo *info = resolve(address, err);
    if (!info)
        return false;
    const struct tcp_result result = open_free_tcp(info);
    out->fd = result.fd;
    if (result.error)
        (void)sl_fail(err, SL_IO, "%s: '%s': %s; set another with %s", address->option,
                      address->text, strerrordesc_np(result.error),
                      is_listen(address) ? "--listen or SLUICE_LISTEN"
                                         : "--admin-listen or SLUICE_ADMIN_LISTEN");
    else
        out->port = port_of(out->fd);
    freeaddrinfo(info);
    return out->fd >= 0;
}

/* ---- UNIX sockets ---------------------------------------------------------------------------- */

static const char unix_prefix[] = "unix:";

static bool is_unix(const char *text)
{
    return strncmp(text, unix_prefix, sizeof unix_prefix - 1) == 0;
}

static bool read_path(const struct sv_address *address, struct sockaddr_un *to, struct sl_err *err)
{
    const char *path = address->text + sizeof unix_prefix - 1;
    size_t length = strlen(path);
    *to = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (length == 0 || length >= sizeof to->sun_path)
        return sl_fail(err, SL_BAD_INPUT,
                       "%s: the path in '%s' has %zu bytes; a UNIX socket's has 1 to %zu",
                       address->option, address->text, length, sizeof to->sun_path - 1);
    memcpy(to->sun_path, path, length + 1);
    return true;
}

static bool is_stale(const void *thing)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool refused =
        fd >= 0 && connect(fd, thing, sizeof(struct sockaddr_un)) != 0 && errno == ECONNREFUSED;
    if (fd >= 0)
        (void)close(fd);
    return refused;
}

/* Removes the socket of a daemon that was killed. Anything else at the path stays. */
static bool remove_stale(const struct sv_address *address, const struct sockaddr_un *to,
                         struct sl_err *err)
{
    struct stat found;
    if (lstat(to->sun_path, &found) != 0)
        return errno == ENOENT || sl_fail(err, SL_IO, "%s: '%s': %s", address->option, to->sun_path,
                                          strerrordesc_np(errno));
    if (!S_ISSOCK(found.st_mode))
        return sl_fail(err, SL_BAD_INPUT,
                       "%s: '%s' exists and is not a socket; remove it or set another path",
                       address->option, to->sun_path);
    if (!sv_killed_daemon_wait(is_stale, to))
        return sl_fail(err, SL_BUSY, "%s: another process serves '%s'; set another path",
                       address->option, to->sun_path);
    return unlink(to->sun_path) == 0 || errno == ENOENT ||
           sl_fail(err, SL_IO, "%s: '%s': %s", address->option, to->sun_path,
                   strerrordesc_np(errno));
}

/* Linux creates the file with the mode of the socket, less the umask: at no moment may more users
 * connect than in the end. */
static bool bind_unix(int fd, const struct sockaddr_un *to)
{
    return fchmod(fd, SV_UNIX_SOCKET_MODE) == 0 && bind(fd, (const void *)to, sizeof *to) == 0 &&
           chmod(to->sun_path, SV_UNIX_SOCKET_MODE) == 0 && listen(fd, SV_BACKLOG) == 0;
}

static bool listen_unix(const struct sv_address *address, struct sv_socket *out, struct sl_err *err)
{
    struct sockaddr_un to;
    struct stat made;
    if (!read_path(address, &to, err) || !remove_stale(address, &to, err))
        return false;
    out->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (out->fd < 0 || !bind_unix(out->fd, &to) || lstat(to.sun_path, &made) != 0) {
        (void)sl_fail(err, SL_IO, "%s: '%s': %s", address->option, to.sun_path,
                      strerrordesc_np(errno));
        if (out->fd >= 0)
            (void)close(out->fd);
        out->fd = -1;
        return false;
    }
    out->device = made.st_dev;
    out->inode = made.st_ino;
    memcpy(out->path, to.sun_path, strlen(to.sun_path) + 1);
    return true;
}

void sv_socket_remove(const struct sv_socket *socket)
{
    struct stat found;
    if (socket->path[0] && lstat(socket->path, &found) == 0 && found.st_dev == socket->device &&
        found.st_ino == socket->inode)
        (void)unlink(socket->path);
}

/* ---- either ---------------------------------------------------------------------------------- */

bool sv_listen_check(const struct sv_address *address, struct sl_err *err)
{
    struct sockaddr_un to;
    if (is_unix(address->text))
        return read_path(address, &to, err);
    struct addrinfo *info = resolve(address, err);
    if (info)
        freeaddrinfo(info);
    return info != NULL;
}

bool sv_listen(const struct sv_address *address, struct sv_socket *out, struct sl_err *err)
{
    *out = (struct sv_socket){.fd = -1};
    return is_unix(address->text) ? listen_unix(address, out, err) : listen_tcp(address, out, err);
}

static void write_address(int fd, const union socket_address *bound,
                          char text[static SV_OPTION_TEXT_MAX])
{
    char host[INET6_ADDRSTRLEN] = "";
    if (bound->any.sa_family == AF_UNIX)
        (void)snprintf(text, SV_OPTION_TEXT_MAX, "%s%s", unix_prefix, bound->un.sun_path);
    else if (bound->any.sa_family == AF_INET)
        (void)snprintf(text, SV_OPTION_TEXT_MAX, "%s:%d",
                       inet_ntop(AF_INET, &bound->in.sin_addr, host, sizeof host), port_of(fd));
    else
        (void)snprintf(text, SV_OPTION_TEXT_MAX, "[%s]:%d",
                       inet_ntop(AF_INET6, &bound->in6.sin6_addr, host, sizeof host), port_of(fd));
}

bool sv_listen_inherited(int fd, struct sv_address *address, char text[static SV_OPTION_TEXT_MAX],
                         struct sv_socket *out, struct sl_err *err)
{
    union socket_address bound = bound_address(fd);
    *out = (struct sv_socket){.fd = fd, .is_inherited = true, .port = port_of(fd)};
    write_address(fd, &bound, text);
    address->text = text;
    int family = bound.any.sa_family;
    if (family != AF_UNIX && family != AF_INET && family != AF_INET6)
        return sl_fail(err, SL_BAD_INPUT,
                       "%s: a socket of the service manager is of an unknown kind",
                       address->option);
    return check_public(address, &bound.any, err);
}
