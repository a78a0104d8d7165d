/* test_request_headers.c - what may stand in the first line of a request, and a body where none is
 * needed. */
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

/* It is read, and not mistaken for the next request. */
Test(request_head, a_body_that_an_endpoint_has_no_use_for_is_ignored)
{
    static const char *const heads[] = {"GET /health", "GET /v1/models", "GET /v1/models/tiny"};

    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        struct sl_buffer got = {0}, request = {0};
        int fd = raw_connect(&d);
        sl_buffer_printf(&request,
                         "%s HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nnot json{"
                         "GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n",
                         heads[i]);
        raw_send(fd, request.data);
        cr_assert(raw_read_until(fd, &got, "{\"live\":true}"), "%s: %s", heads[i], got.data);
        cr_expect_eq(strncmp(got.data, "HTTP/1.1 200 ", 13), 0, "%s", got.data);
        (void)close(fd);
        sl_buffer_release(&got);
        sl_buffer_release(&request);
    }
}
