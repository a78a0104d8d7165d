/* test_request_headers.c - what may stand in the first line of a request. */
#include "base/buffer.h"
#include "support/daemon.h"
#include "support/raw_socket.h"
#include "support/test.h"

static struct daemon d;

static void start(void)
{
    DAEMON_START(&d, "--max-sequences", "4");
}

static void stop(void)
{
    daemon_stop(&d);
}

TestSuite(request_head, .init = start, .fini = stop);

/* RFC 9112, 3.2.2: to a server as to a proxy, the path is what follows the authority. */
Test(request_head, targets_may_be_absolute_urls)
{
    static const struct {
        const char *target, *status;
    } cases[] = {
        {"/v1/models", "HTTP/1.1 200 "},
        {"http://x/v1/models", "HTTP/1.1 200 "},
        {"HTTPS://user@[::1]:80/v1/models/tiny", "HTTP/1.1 200 "},
        {"http://x:8080/info?model=none", "HTTP/1.1 404 "},
        {"http://x", "HTTP/1.1 200 "},
        {"http://x?y", "HTTP/1.1 200 "},
        {"http://x/nowhere", "HTTP/1.1 404 "},
        {"http:///v1/models", "HTTP/1.1 404 "},
        {"ftp://x/v1/models", "HTTP/1.1 404 "},
        {"x/v1/models", "HTTP/1.1 404 "},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sl_buffer got = {0}, request = {0};
        int fd = raw_connect(&d);
        sl_buffer_printf(&request, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", cases[i].target);
        raw_send(fd, request.data);
        cr_assert(raw_read_until(fd, &got, "\r\n\r\n"), "%s", cases[i].target);
        cr_expect_eq(strncmp(got.data, cases[i].status, strlen(cases[i].status)), 0, "%s: %s",
                     cases[i].target, got.data);
        (void)close(fd);
        sl_buffer_release(&got);
        sl_buffer_release(&request);
    }
}
