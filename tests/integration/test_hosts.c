/* test_hosts.c - a page that makes its name stand for this machine gets no answer. */
#include "base/buffer.h"
#include "support/daemon.h"
#include "support/http_client.h"
#include "support/raw_socket.h"
#include "support/test.h"

static struct daemon d;

static void expect_status(const char *target, const char *host, const char *status)
{
    struct sl_buffer request = {0}, got = {0};
    int fd = raw_connect(&d);
    sl_buffer_printf(&request, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", target,
                     host);
    raw_send(fd, request.data);
    cr_assert(raw_read_until(fd, &got, "\r\n\r\n"), "%s", host);
    cr_assert_eq(strncmp(got.data + 9, status, 3), 0, "%s, host '%s': %s", target, host, got.data);
    sl_buffer_release(&request);
    sl_buffer_release(&got);
    (void)close(fd);
}

Test(hosts, names_are_checked_without_keys)
{
    static const char *const good[] = {"localhost",      "LocalHost:1", "localhost.",
                                       "127.0.0.1:80",   "10.1.2.3",    "[::1]",
                                       "[fe80::1]:8080", "sluice.lan",  "SLUICE.lan:9"};
    static const char *const bad[] = {"evil.example",
                                      "evil.example:80",
                                      "localhost.evil.example",
                                      "127.0.0.1.evil.example",
                                      "1.2.3",
                                      "::1",
                                      "[evil]",
                                      "",
                                      "sluice",
                                      "lan",
                                      "auto",
                                      "127.1"};
    DAEMON_START(&d, "--allowed-hosts", "other  sluice.lan");
    for (size_t i = 0; i < COUNT(good); i++)
        expect_status("/v1/models", good[i], "200");
    for (size_t i = 0; i < COUNT(bad); i++)
        expect_status("/v1/models", bad[i], "421");
    expect_status("http://evil.example/v1/models", "localhost", "421");
    expect_status("http://u@localhost:1/v1/models", "evil.example", "200");
    expect_status("/nothing", "evil.example", "421");
    struct curl_slist *headers = curl_slist_append(NULL, "Host: evil.example");
    struct http_response answer = http_admin_with(&d, "GET", "/v1/models", NULL, headers);
    cr_assert_eq(answer.status, 200, "no page reaches a UNIX socket");
    http_response_release(&answer);
    curl_slist_free_all(headers);
    daemon_stop(&d);
}

Test(hosts, the_default_depends_on_what_else_keeps_strangers_out)
{
    DAEMON_START(&d, "--allowed-hosts", "auto");
    expect_status("/v1/models", "evil.example", "421");
    expect_status("/v1/models", "auto", "421");
    expect_status("/v1/models", "127.0.0.1", "200");
    daemon_stop(&d);
    DAEMON_START(&d, "--allowed-hosts", "auto", "--insecure");
    expect_status("/v1/models", "sluice.example", "200");
    daemon_stop(&d);
    DAEMON_START(&d, "--allowed-hosts", "*");
    expect_status("/v1/models", "sluice.example", "200");
    daemon_stop(&d);
}
