/* test_cors.c - what pages of other origins may do from a browser. */
#include "access/cors.h"
#include "support/http_client.h"
#include "support/program.h"
#include "support/raw_socket.h"
#include "support/test.h"

#define PAGE                      "https://app.example"
#define LINE(name, value)         name ": " value "\r\n"
#define ORIGIN(origin)            LINE("Origin", origin)
#define PREFLIGHT(origin, method) ORIGIN(origin) LINE("Access-Control-Request-Method", method)

static struct daemon d;

/* Sends a request by hand and expects a status. The response's head, which the caller releases. */
static struct sl_buffer ask_at(int port, const char *start_line, const char *lines,
                               const char *status)
{
    struct daemon at = d;
    struct sl_buffer request = {0}, got = {0};
    at.port = port;
    int fd = raw_connect(&at);
    sl_buffer_printf(&request, "%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n", start_line,
                     lines);
    raw_send(fd, request.data);
    cr_assert(raw_read_until(fd, &got, "\r\n\r\n"), "%s", request.data);
    cr_assert_eq(strncmp(got.data + 9, status, 3), 0, "%s: %s", request.data, got.data);
    sl_buffer_release(&request);
    (void)close(fd);
    return got;
}

static void expect_at(int port, const char *start_line, const char *lines, const char *status,
                      const char *said)
{
    struct sl_buffer got = ask_at(port, start_line, lines, status);
    EXPECT_SAID(got.data, said);
    sl_buffer_release(&got);
}

static void expect_nothing_at(int port, const char *start_line, const char *lines,
                              const char *status)
{
    struct sl_buffer got = ask_at(port, start_line, lines, status);
    cr_assert_not(strcasestr(got.data, "Access-Control"), "%s", got.data);
    sl_buffer_release(&got);
}

#define EXPECT(...)         expect_at(d.port, __VA_ARGS__)
#define EXPECT_NOTHING(...) expect_nothing_at(d.port, __VA_ARGS__)

Test(cors, listed_origins)
{
    DAEMON_START(&d, "--cors-origins", "http://localhost:3000  " PAGE);
    EXPECT("GET /v1/models", ORIGIN(PAGE), "200", "Access-Control-Allow-Origin: " PAGE "\r\n");
    EXPECT("GET /v1/models", ORIGIN(PAGE), "200", "Access-Control-Expose-Headers: *\r\n");
    EXPECT("GET /v1/models", ORIGIN(PAGE), "200", "Vary: Origin\r\n");
    EXPECT("GET /v1/models", ORIGIN("HTTP://LocalHost:3000"), "200",
           "Access-Control-Allow-Origin: HTTP://LocalHost:3000\r\n");
    EXPECT("GET /v1/models/none", ORIGIN(PAGE), "404", "Access-Control-Allow-Origin: " PAGE "\r\n");
    EXPECT("GET /nothing", ORIGIN(PAGE), "404", "Access-Control-Allow-Origin: " PAGE "\r\n");
    EXPECT("GET /v1/models", "", "200", "Vary: Origin\r\n");
    EXPECT_NOTHING("GET /v1/models", "", "200");
    static const char *const others[] = {ORIGIN("https://app.example.evil"),
                                         ORIGIN("https://app.example:8443"),
                                         ORIGIN("http://app.example"),
                                         ORIGIN("http://localhost"),
                                         ORIGIN("null"),
                                         ORIGIN("*"),
                                         ORIGIN("http://localhost:3000 " PAGE),
                                         ORIGIN("")};
    for (size_t i = 0; i < COUNT(others); i++)
        EXPECT_NOTHING("GET /v1/models", others[i], "200");
    daemon_stop(&d);
}

Test(cors, preflight_requests_are_answered_from_the_table)
{
    DAEMON_START(&d, "--cors-origins", PAGE);
    EXPECT("OPTIONS /v1/completions", PREFLIGHT(PAGE, "POST"), "204",
           "Access-Control-Allow-Methods: POST\r\n");
    EXPECT("OPTIONS /v1/models/x", PREFLIGHT(PAGE, "GET"), "204",
           "Access-Control-Allow-Methods: GET, HEAD, DELETE\r\n");
    EXPECT("OPTIONS /v1/models", PREFLIGHT(PAGE, "GET"), "204",
           "Access-Control-Allow-Origin: " PAGE "\r\n");
    EXPECT("OPTIONS /v1/models", PREFLIGHT(PAGE, "GET"), "204", "Access-Control-Max-Age: 600\r\n");
    EXPECT("OPTIONS /v1/completions",
           PREFLIGHT(PAGE, "POST")
               LINE("Access-Control-Request-Headers", "authorization,content-type,x-stainless-os"),
           "204", "Access-Control-Allow-Headers: authorization,content-type,x-stainless-os\r\n");
    struct sl_buffer got = ask_at(
        d.port, "OPTIONS /v1/models",
        PREFLIGHT(PAGE, "GET") LINE("Access-Control-Request-Headers", "a\"b<script>"), "204");
    cr_assert_not(strstr(got.data, "script"), "%s", got.data);
    cr_assert_not(strstr(got.data, "Allow-Credentials"), "%s", got.data);
    cr_assert_not(strstr(got.data, "Content-Type"), "%s", got.data);
    sl_buffer_release(&got);
    EXPECT_NOTHING("OPTIONS /v1/models", PREFLIGHT("https://evil.example", "GET"), "403");
    EXPECT("OPTIONS /nothing", PREFLIGHT(PAGE, "GET"), "404", "Access-Control-Allow-Origin");
    EXPECT("OPTIONS /v1/models", ORIGIN(PAGE), "405", "Allow: GET, HEAD\r\n");
    EXPECT("OPTIONS /v1/models", LINE("Access-Control-Request-Method", "GET"), "405", "Allow: ");
    daemon_stop(&d);
}

/* A browser sends no key with a preflight request. */
Test(cors, any_origin_with_keys)
{
    char keys[PATH_MAX];
    daemon_make_store(&d);
    test_write_file(test_path(keys, d.directory, "keys"), "");
    daemon_serve(&d, (const char *const[]){"--cors-origins", "*", "--api-keys-file", keys, NULL});
    EXPECT("OPTIONS /v1/models", PREFLIGHT("null", "GET"), "204",
           "Access-Control-Allow-Origin: *\r\n");
    struct sl_buffer got = ask_at(d.port, "GET /v1/models", ORIGIN(PAGE), "401");
    EXPECT_SAID(got.data, "Access-Control-Allow-Origin: *\r\n");
    cr_assert_not(strstr(got.data, "Vary"), "the response is the same for all: %s", got.data);
    cr_assert_not(strstr(got.data, "Allow-Credentials"), "%s", got.data);
    sl_buffer_release(&got);
    daemon_stop(&d);
}

#define FORM(origin)                                                                               \
    LINE("Content-Type", "multipart/form-data; boundary=x")                                        \
    LINE("Content-Length", "0") ORIGIN(origin)

/* A form may be sent without asking first, so files are refused by their origin: unless it is the
 * daemon's own, whose web console sends files. */
Test(cors, never_on_the_admin_listener)
{
    DAEMON_START(&d, "--cors-origins", "*", "--admin-listen", "127.0.0.1:0");
    expect_nothing_at(d.admin_port, "GET /v1/models", ORIGIN(PAGE), "200");
    expect_nothing_at(d.admin_port, "OPTIONS /v1/models", PREFLIGHT(PAGE, "GET"), "405");
    expect_nothing_at(d.admin_port, "OPTIONS /v1/models/x", PREFLIGHT(PAGE, "DELETE"), "405");
    expect_nothing_at(d.admin_port, "POST /v1/files", FORM(PAGE), "403");
    expect_nothing_at(d.admin_port, "POST /v1/files", FORM("http://x.evil"), "403");
    expect_nothing_at(d.admin_port, "POST /v1/files", FORM("null"), "403");
    expect_nothing_at(d.admin_port, "POST /v1/files", FORM("http://x"), "501");
    expect_nothing_at(d.admin_port, "POST /v1/fine_tuning/jobs/x/cancel",
                      LINE("Content-Length", "0") ORIGIN(PAGE), "415");
    daemon_stop(&d);
}

Test(cors, off_by_default)
{
    DAEMON_START(&d, "--admin-listen", "127.0.0.1:0");
    EXPECT_NOTHING("GET /v1/models", ORIGIN(PAGE), "200");
    EXPECT_NOTHING("OPTIONS /v1/models", PREFLIGHT(PAGE, "GET"), "405");
    struct sl_buffer got = ask_at(d.port, "GET /v1/models", ORIGIN(PAGE), "200");
    cr_assert_not(strstr(got.data, "Vary"), "%s", got.data);
    sl_buffer_release(&got);
    daemon_stop(&d);
}

Test(cors, the_option_is_checked)
{
    static const char *const good[] = {"", "*", PAGE, " http://[::1]:8080  https://b "};
    static const char *const bad[] = {"app.example",           PAGE "/",  PAGE "/path",
                                      "* https://app.example", "null",    "https://",
                                      "https://a,http://b",    "ftp://a", "https://*.app.example"};
    struct sl_err err;
    for (size_t i = 0; i < COUNT(good); i++)
        EXPECT_OK(sv_cors_check(good[i], &err), err);
    for (size_t i = 0; i < COUNT(bad); i++)
        EXPECT_FAIL(sv_cors_check(bad[i], &err), err, SL_BAD_INPUT, "is not an origin; write");
}
