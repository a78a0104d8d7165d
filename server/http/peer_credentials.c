/* peer_credentials.c - who is at the other end of a connection. */
#include "http/peer_credentials.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

static void read_user(int fd, struct sv_caller *caller)
{
    struct ucred user = {.uid = (uid_t)-1};
    socklen_t size = sizeof user;
    (void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &user, &size);
    caller->is_unix = true;
    caller->uid = user.uid;
    (void)snprintf(caller->address, sizeof caller->address, "unix");
}

void sv_peer_read(int fd, struct sv_caller *caller)
{
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
        struct sockaddr_un un;
    } peer = {.un = {0}};

    char host[INET6_ADDRSTRLEN] = "";
    socklen_t size = sizeof peer;
    *caller = (struct sv_caller){.uid = (uid_t)-1};
    if (getpeername(fd, &peer.any, &size) != 0)
        return; /* it is gone */
    if (peer.any.sa_family == AF_UNIX)
        read_user(fd, caller);
    else if (peer.any.sa_family == AF_INET &&
             inet_ntop(AF_INET, &peer.in.sin_addr, host, sizeof host))
        (void)snprintf(caller->address, sizeof caller->address, "%s:%d", host,
                       ntohs(peer.in.sin_port));
    else if (peer.any.sa_family == AF_INET6 &&
             inet_ntop(AF_INET6, &peer.in6.sin6_addr, host, sizeof host))
        (void)snprintf(caller->address, sizeof caller->address, "[%s]:%d", host,
                       ntohs(peer.in6.sin6_port));
}
