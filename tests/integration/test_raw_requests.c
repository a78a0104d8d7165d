/* test_raw_requests.c - requests as bytes: each gets the answers it should, and no other. */
#include "base/buffer.h"
#include "support/daemon.h"
#include "support/raw_requests.h"
#include "support/raw_socket.h"
#include "support/test.h"

#include <ctype.h>
#include <sys/socket.h>

static struct daemon d;

static void start(void)
{
    DAEMON_START(&d, "--admin-listen", "");
}

static void stop(void)
{
    daemon_stop(&d);
}

TestSuite(raw_requests, .init = start, .fini = stop);

/* Follows every row: it is answered unless the row closes the connection, and closes it. */
static const char last[] = "GET /ping HTTP/1.1\r\nHost: x\r\nx-request-id: the-last\r\n"
                           "Connection: close\r\n\r\n";

/* All that comes until the connection is closed. */
static void exchange(const char *bytes, size_t count, struct sl_buffer *got)
{
    int fd = raw_connect(&d);
    struct sl_buffer request = {0};
    sl_buffer_append(&request, bytes, count);
    sl_buffer_append_string(&request, last);
    raw_send_bytes(fd, request.data, request.bytes);
    (void)raw_read_until(fd, got, "never there");
    sl_buffer_append_string(got, ""); /* a string, even when empty */
    sl_buffer_release(&request);
    (void)close(fd);
}

/* The statuses of all answers, separated by spaces. */
static void list_statuses(const struct sl_buffer *got, char list[static 128])
{
    static const char line[] = "HTTP/1.1 ";
    size_t length = 0;
    list[0] = '\0';
    for (const char *at = got->data; at && (at = strstr(at, line)); at++) {
        const char *status = at + sizeof line - 1;
        if (isdigit((unsigned char)*status) && length < 120)
            length +=
                (size_t)snprintf(list + length, 128 - length, "%s%.3s", length ? " " : "", status);
    }
}

static bool is_json(const struct sl_buffer *got)
{
    const char *head = got->data, *type = NULL;
    for (const char *at = head; (at = strstr(at, "Content-Type: ")); at++)
        type = at;
    return type && strncmp(type, "Content-Type: application/", 26) == 0;
}

static void expect_answers(const struct raw_request *r, int index)
{
    struct sl_buffer got = {0};
    char statuses[128], want[160];
    exchange(r->bytes, r->count, &got);
    list_statuses(&got, statuses);
    (void)snprintf(want, sizeof want, r->what ? "%s" : "%s 200", r->answers);
    cr_expect_str_eq(statuses, want, "row %d: %s, not %s:\n%.*s\n-> %s", index, statuses, want,
                     (int)r->count, r->bytes, got.data);
    cr_expect_eq(strstr(got.data, "the-last") == NULL, r->what != NULL, "row %d: %s", index,
                 got.data);
    if (r->what) {
        cr_expect(strstr(got.data, r->what), "row %d: '%s' is not in: %s", index, r->what,
                  got.data);
        cr_expect(strstr(got.data, "Connection: close"), "row %d: %s", index, got.data);
        cr_expect(is_json(&got), "row %d: %s", index, got.data);
    }
    sl_buffer_release(&got);
}

Test(raw_requests, each_gets_its_answers_and_no_other)
{
    for (int i = 0; raw_requests[i].bytes; i++)
        expect_answers(&raw_requests[i], i);
}

Test(raw_requests, headers_that_may_be_a_transfer_encoding_are_rejected)
{
    char request[RAW_MUTATION_MAX], statuses[128];
    int count = 0;
    for (size_t bytes; (bytes = raw_mutation(count, request)) > 0; count++) {
        struct sl_buffer got = {0};
        exchange(request, bytes, &got);
        list_statuses(&got, statuses);
        cr_expect(strcmp(statuses, "400") == 0 || strcmp(statuses, "501") == 0,
                  "mutation %d: '%s'\n%s\n-> %s", count, statuses, request, got.data);
        sl_buffer_release(&got);
    }
    cr_expect_eq(count, RAW_MUTATIONS, "%d", count);
}

/* A head of this many bytes, in one header or in many. */
static void expect_head_of(size_t bytes, size_t each, const char *want)
{
    struct sl_buffer request = {0}, got = {0};
    char statuses[128];
    sl_buffer_append_string(&request, "GET /ping HTTP/1.1\r\nHost: x\r\n");
    while (request.bytes + each + 7 <= bytes)
        sl_buffer_printf(&request, "A: %0*d\r\n", (int)each, 0);
    if (request.bytes + 7 < bytes)
        sl_buffer_printf(&request, "A: %0*d\r\n", (int)(bytes - request.bytes - 7), 0);
    sl_buffer_append_string(&request, "\r\n");
    exchange(request.data, request.bytes, &got);
    list_statuses(&got, statuses);
    cr_expect_str_eq(statuses, want, "%zu bytes: %s", bytes, statuses);
    sl_buffer_release(&request);
    sl_buffer_release(&got);
}

Test(raw_requests, long_heads)
{
    enum { MAX = 16 << 10, MANY = 300000 };

    expect_head_of(MAX, MAX - 100, "200 200");
    expect_head_of(MAX, 50, "200 200");
    expect_head_of(MAX + 20, MAX, "431");
    expect_head_of(MAX + 20, 50, "431");
    expect_head_of(MANY, MANY - 100, "431");
    expect_head_of(MANY, 50, "431");
}

Test(raw_requests, long_chunk_extensions)
{
    enum { LONG = 1 << 20 };

    struct sl_buffer request = {0}, got = {0};
    char statuses[128];
    sl_buffer_printf(&request,
                     "POST /predict HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3;%0*d"
                     "\r\nabc\r\n0\r\n\r\n",
                     LONG, 0);
    exchange(request.data, request.bytes, &got);
    list_statuses(&got, statuses);
    cr_expect_str_eq(statuses, "400", "%s", got.data);
    cr_expect(strstr(got.data, "The extension of a chunk"), "%s", got.data);
    sl_buffer_release(&request);
    sl_buffer_release(&got);
}

/* However the bytes arrive. */
Test(raw_requests, byte_by_byte)
{
    static const char request[] =
        "POST /predict HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"inp\r\n"
        "8\r\nuts\":\"a\"\r\n1;x\r\n}\r\n0\r\nT: x\r\n\r\n"
        "GET /ping HTTP/1.1\r\nHost: x\r\n: x\r\n\r\n";
    struct sl_buffer got = {0};
    char statuses[128];
    int fd = raw_connect(&d);
    for (size_t i = 0; i < sizeof request - 1; i++) {
        if (send(fd, &request[i], 1, MSG_NOSIGNAL) != 1)
            break; /* it was closed, after the error */
        sleep_ms(1);
    }
    (void)raw_read_until(fd, &got, "never there");
    list_statuses(&got, statuses);
    cr_expect(strcmp(statuses, "200 400") == 0 || strcmp(statuses, "404 400") == 0, "%s", got.data);
    sl_buffer_release(&got);
    (void)close(fd);
}

/* A client that sends half a request and no more is told so. */
Test(raw_requests, the_end_of_the_connection_in_a_head)
{
    static const char *const halves[] = {"GET", "GET /ping HTTP/1.1\r\nHost: x\r\n",
                                         "GET /ping HTTP/1.1\r\nHost: x\r\nA"};
    for (size_t i = 0; i < COUNT(halves); i++) {
        struct sl_buffer got = {0};
        int fd = raw_connect(&d);
        raw_send(fd, halves[i]);
        cr_assert_eq(shutdown(fd, SHUT_WR), 0);
        cr_expect(raw_read_until(fd, &got, "ended in the middle of a request"), "%s",
                  got.data ? got.data : halves[i]);
        sl_buffer_release(&got);
        (void)close(fd);
    }
}

/* Nor is silence the answer to one that stops. */
Test(raw_stalls, half_a_request_gets_408)
{
    static const char *const halves[] = {
        "POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\n0\r\n\r\n",
        "POST /predict HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST /predict HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
        "POST /predict HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0"};
    int fds[COUNT(halves)];
    DAEMON_START(&d, "--admin-listen", "", "--request-timeout", "1");
    for (size_t i = 0; i < COUNT(halves); i++) {
        fds[i] = raw_connect(&d);
        raw_send(fds[i], halves[i]);
    }
    for (size_t i = 0; i < COUNT(halves); i++) {
        struct sl_buffer got = {0};
        char statuses[128];
        (void)raw_read_until(fds[i], &got, "never there");
        list_statuses(&got, statuses);
        cr_expect_str_eq(statuses, "408", "%s: %s", halves[i], got.data);
        cr_expect(strstr(got.data, "not received in time.\"}"), "%s", got.data);
        cr_expect_eq(strlen(strstr(got.data, "\r\n\r\n") + 4),
                     (size_t)strtol(strstr(got.data, "Content-Length: ") + 16, NULL, 10));
        sl_buffer_release(&got);
        (void)close(fds[i]);
    }
    daemon_stop(&d);
}
