/* test_sluicectl_connection.c - what sluicectl says when it cannot reach the daemon: the address,
 * the reason, and what to do. And where it looks for the admin listener. */
#include "support/daemon.h"
#include "support/program.h"
#include "support/sluicectl_cli.h"
#include "support/test.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>

#define OPENSSL "/usr/bin/openssl"

static struct program_result result;
static char directory[PATH_MAX];

static void make_directory(void)
{
    test_directory_create(directory);
}

static void remove_directory(void)
{
    test_directory_remove(directory);
}

TestSuite(sluicectl_connection, .init = make_directory, .fini = remove_directory);

/* Runs `sluicectl models`, which must fail with this code and these words. */
static void expect(int code, const char *url, const char *said)
{
    program_run(&result, "sluicectl", NULL, ARGS("models", "--timeout", "0.5", "--url", url));
    EXPECT_EXIT(&result, code);
    EXPECT_SAID(result.err, said);
    EXPECT_SAID(result.err, url);
    cr_assert_str_eq(result.out, "");
}

/* A UNIX socket of this name in the directory, and its URL. */
static int bind_socket(const char *name, char url[static PATH_MAX + 8], char path[static PATH_MAX])
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s",
                   test_path(path, directory, name));
    (void)snprintf(url, PATH_MAX + 8, "unix:%s", path);
    cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* ---- addresses ------------------------------------------------------------------------------- */

Test(sluicectl_connection, urls_are_checked)
{
    static const struct {
        const char *url, *said;
    } cases[] = {
        {"", "invalid URL '': it is empty; expected http://HOST:PORT, https://HOST:PORT or "
             "unix:PATH"},
        {"ftp://localhost", "invalid URL 'ftp://localhost': unknown scheme; expected http://"},
        {"http://", "invalid URL 'http://': No host"},
        {"http://localhost:99999", "invalid URL 'http://localhost:99999': Port number"},
        {"unix:", "invalid URL 'unix:': no path; expected"},
    };

    char longest[200] = "unix:";
    for (size_t i = 0; i < COUNT(cases); i++)
        expect(2, cases[i].url, cases[i].said);
    memset(longest + 5, 'a', sizeof longest - 6);
    expect(2, longest, "the path has more than 107 bytes");
}

Test(sluicectl_connection, a_refused_connection)
{
    expect(1, "http://127.0.0.1:1",
           "cannot reach http://127.0.0.1:1: connection refused; start sluiced, or give its "
           "address with --url or SLUICE_URL\n");
    program_run(&result, "sluicectl", NULL, ARGS("jobs", "--admin-url", "http://127.0.0.1:1"));
    EXPECT_EXIT(&result, 1);
    EXPECT_SAID(result.err, "give its address with --admin-url or SLUICE_ADMIN_URL\n");
    program_run(&result, "sluicectl", NULL,
                ARGS("bench", "--model", "m", "--connections", "1", "--url", "http://127.0.0.1:1"));
    EXPECT_EXIT(&result, 1);
    EXPECT_SAID(result.err, "cannot reach http://127.0.0.1:1: connection refused; start sluiced");
}

Test(sluicectl_connection, an_unknown_host)
{
    unsetenv("http_proxy");
    unsetenv("all_proxy");
    expect(1, "http://sluice.invalid",
           "cannot reach http://sluice.invalid: unknown host; check the address that --url or "
           "SLUICE_URL gives");
    cr_assert_eq(setenv("http_proxy", "http://proxy.invalid", 1), 0);
    expect(1, "http://sluice.invalid", "unknown proxy host; check the environment variables");
}

Test(sluicectl_connection, sockets)
{
    char url[PATH_MAX + 8], path[PATH_MAX];
    (void)snprintf(url, sizeof url, "unix:%s", test_path(path, directory, "none"));
    expect(1, url, ": there is no such socket; start sluiced, or give its address with --url");
    (void)close(bind_socket("stale", url, path));
    expect(1, url, ": no daemon listens on this socket; start sluiced");
    test_write_file(test_path(path, directory, "file"), "");
    (void)snprintf(url, sizeof url, "unix:%s", path);
    expect(1, url, ": it is not a socket; ");
}

Test(sluicectl_connection, a_socket_of_somebody_else)
{
    enum { NOBODY = 65534 };

    char url[PATH_MAX + 8], path[PATH_MAX], program[PATH_MAX];
    int fd = bind_socket("denied", url, path);
    cr_assert_eq(listen(fd, 1), 0);
    cr_assert_eq(chmod(path, 0), 0);
    cr_assert_eq(chmod(directory, 0755), 0);
    bool is_root = geteuid() == 0;
    if (is_root)
        cr_assert_eq(seteuid(NOBODY), 0);
    if (access(program_path(program, "sluicectl"), X_OK) != 0)
        cr_skip_test("another user may not run this build");
    expect(1, url, ": permission denied; run sluicectl as root or as the daemon's user\n");
    if (is_root)
        cr_assert_eq(seteuid(0), 0);
    (void)close(fd);
}

/* ---- servers that are not what the URL says -------------------------------------------------- */

/* Listens on a free port, and never accepts. */
static int listen_silently(char url[static 64])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    cr_assert_eq(listen(fd, 8), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&address, &bytes), 0);
    (void)snprintf(url, 64, "http://127.0.0.1:%d", ntohs(address.sin_port));
    return fd;
}

Test(sluicectl_connection, a_server_that_does_not_respond)
{
    char url[64];
    int fd = listen_silently(url);
    expect(1, url, " within 0.5 s; --timeout sets the limit");
    (void)close(fd);
}

/* A certificate for localhost and no address, signed by itself. */
static void make_certificate(char certificate[static PATH_MAX], char key[static PATH_MAX])
{
    if (access(OPENSSL, X_OK) != 0)
        cr_skip_test("there is no openssl to make a certificate with");
    program_run(&result, OPENSSL, NULL,
                ARGS("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                     "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                     "subjectAltName=DNS:localhost", "-keyout", test_path(key, directory, "key"),
                     "-out", test_path(certificate, directory, "certificate")));
    EXPECT_EXIT(&result, 0);
}

static void expect_with_ca_file(int code, const char *url, const char *ca_file, const char *said)
{
    program_run(&result, "sluicectl", NULL, ARGS("models", "--url", url, "--ca-file", ca_file));
    EXPECT_EXIT(&result, code);
    EXPECT_SAID(result.err, said);
}

Test(sluicectl_connection, tls)
{
    struct daemon d = {0};
    char certificate[PATH_MAX], key[PATH_MAX], path[PATH_MAX], url[64], plain[64], named[64];
    make_certificate(certificate, key);
    DAEMON_START(&d, "--tls-certificate", certificate, "--tls-key", key);
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%d", d.port);
    (void)snprintf(named, sizeof named, "https://localhost:%d", d.port);
    (void)snprintf(plain, sizeof plain, "http://127.0.0.1:%d", d.port);
    program_run(&result, "sluicectl", NULL, ARGS("models", "--url", plain));
    EXPECT_EXIT(&result, 1);
    EXPECT_SAID(result.err, ": the server speaks TLS (HTTPS), not plain HTTP; use https://127.0");
    program_run(&result, "sluicectl", NULL, ARGS("models", "--url", url));
    EXPECT_EXIT(&result, 1);
    EXPECT_SAID(result.err, "the certificate of https://127.0.0.1:");
    EXPECT_SAID(result.err, " is not trusted: self");
    EXPECT_SAID(result.err, "give the certificate of the daemon, or that of its issuer, with "
                            "--ca-file FILE");
    expect_with_ca_file(1, url, certificate, "use a URL with a name that is in the certificate");
    expect_with_ca_file(0, named, certificate, "");
    expect_with_ca_file(2, named, "/nonexistent", "cannot read --ca-file '/nonexistent': No such");
    test_write_file(test_path(path, directory, "empty"), "");
    expect_with_ca_file(2, named, path, "has no certificates; expected PEM");
    daemon_stop(&d);
}

Test(sluicectl_connection, plain_http_where_the_url_says_https)
{
    static struct ctl_target t;
    char url[64];
    ctl_serve(&t);
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%d/", t.daemon.port);
    program_run(&result, "sluicectl", NULL, ARGS("models", "--url", url));
    EXPECT_EXIT(&result, 1);
    EXPECT_SAID(result.err, "the server speaks plain HTTP, not TLS; use http://127.0.0.1:");
    daemon_stop(&t.daemon);
}

/* ---- the admin listener ---------------------------------------------------------------------- */

Test(sluicectl_connection, the_socket_in_the_working_directory_is_found)
{
    struct daemon d = {0};
    DAEMON_START(&d, "--max-sequences", "4");
    unsetenv("SLUICE_ADMIN_URL");
    cr_assert_eq(chdir(d.directory), 0);
    program_run(&result, "sluicectl", NULL, ARGS("load", "tiny"));
    EXPECT_EXIT(&result, 0);
    cr_assert_str_eq(result.out, "tiny@1 is ready\n");
    cr_assert_eq(chdir("/"), 0);
    daemon_stop(&d);
}

Test(sluicectl_connection, the_socket_of_another_user_is_not_used)
{
    enum { NOBODY = 65534 };

    struct daemon d = {0};
    char socket[PATH_MAX];
    if (geteuid() != 0)
        cr_skip_test("only root can give a socket away");
    DAEMON_START(&d, "--max-sequences", "4");
    unsetenv("SLUICE_ADMIN_URL");
    cr_assert_eq(chdir(d.directory), 0);
    cr_assert_eq(chown(daemon_admin_socket(&d, socket), NOBODY, NOBODY), 0);
    program_run(&result, "sluicectl", NULL, ARGS("load", "tiny@7"));
    cr_assert_null(strstr(result.err, "no version 7"), "%s", result.err);
    cr_assert_eq(chdir("/"), 0);
    daemon_stop(&d);
}
