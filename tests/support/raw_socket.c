/* raw_socket.c - bytes to and from a daemon, as a client without manners sends them. */
#include "support/raw_socket.h"
#include "base/buffer.h"
#include "base/clock.h"

#include "support/test.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

int raw_connect_holding(const struct daemon *daemon, int bytes)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)daemon->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    cr_assert_geq(fd, 0);
    if (bytes > 0)
        cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes), 0);
    cr_assert_eq(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

int raw_connect(const struct daemon *daemon)
{
    return raw_connect_holding(daemon, 0);
}

void raw_send_bytes(int fd, const char *bytes, size_t count)
{
    cr_assert_eq(send(fd, bytes, count, MSG_NOSIGNAL), (ssize_t)count);
}

void raw_send(int fd, const char *text)
{
    raw_send_bytes(fd, text, strlen(text));
}

void raw_send_completion(int fd, const char *json)
{
    struct sl_buffer request = {0};
    sl_buffer_printf(
        &request,
        "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        "Content-Length: %zu\r\n\r\n%s",
        strlen(json), json);
    raw_send(fd, request.data);
    sl_buffer_release(&request);
}

int raw_complete(const struct daemon *daemon, const char *json)
{
    int fd = raw_connect(daemon);
    raw_send_completion(fd, json);
    return fd;
}

bool raw_read_until(int fd, struct sl_buffer *got, const char *text)
{
    char bytes[4096];
    size_t searched = 0, overlap = strlen(text) - 1;
    int64_t until = sl_now_ns() + (int64_t)DAEMON_WAIT_MS * 1000000;
    while (!got->data || !strstr(got->data + searched, text)) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int64_t ms = (until - sl_now_ns()) / 1000000;
        ssize_t count =
            ms > 0 && poll(&ready, 1, (int)ms) == 1 ? read(fd, bytes, sizeof bytes) : -1;
        if (count <= 0)
            return false;
        searched = got->bytes > overlap ? got->bytes - overlap : 0;
        sl_buffer_append(got, bytes, (size_t)count);
    }
    return true;
}

void raw_expect(int fd, const char *text)
{
    struct sl_buffer got = {0};
    cr_assert(raw_read_until(fd, &got, text), "'%s' did not come, but: %s", text,
              got.data ? got.data : "nothing");
    sl_buffer_release(&got);
}
