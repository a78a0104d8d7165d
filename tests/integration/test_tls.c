/* test_tls.c - the TCP listeners with a certificate. */
#include "support/http_client.h"
#include "support/program.h"
#include "support/test.h"
#include "support/tiny_store.h"

#include <signal.h>
#include <sys/wait.h>

#define OPENSSL "/usr/bin/openssl"

static struct daemon d;
static struct program_result result;
static char certificate[PATH_MAX], key[PATH_MAX], other_key[PATH_MAX];

static void make_key(const char *path, const char *certificate_path)
{
    program_run(&result, OPENSSL, NULL,
                ARGS("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                     "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                     "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", path, "-out",
                     certificate_path));
    EXPECT_EXIT(&result, 0);
}

static void start(void)
{
    char path[PATH_MAX];
    if (access(OPENSSL, X_OK) != 0)
        cr_skip_test("there is no openssl to make a certificate with");
    daemon_make_store(&d);
    make_key(test_path(other_key, d.directory, "other"), test_path(path, d.directory, "unused"));
    make_key(test_path(key, d.directory, "key"),
             test_path(certificate, d.directory, "certificate"));
}

static int check_config(const char *certificate_path, const char *key_path)
{
    program_run(&result, "sluiced", NULL,
                ARGS("--check-config", "--store", d.store, "--tls-certificate", certificate_path,
                     "--tls-key", key_path));
    return result.exit_code;
}

Test(tls, requests_are_encrypted_on_ports_and_plain_on_sockets, .init = start)
{
    char url[64], plain[64], address[64], request[PATH_MAX];
    daemon_serve(&d,
                 (const char *const[]){"--tls-certificate", certificate, "--tls-key", key, NULL});
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%d", d.port);
    (void)snprintf(plain, sizeof plain, "http://127.0.0.1:%d", d.port);
    (void)snprintf(address, sizeof address, "127.0.0.1:%d", d.port);
    program_run(&result, "sluicectl", NULL,
                ARGS("complete", "--model", TINY_MODEL, "--max-tokens", "2", "--url", url,
                     "--ca-file", certificate, "a"));
    EXPECT_EXIT(&result, 0);
    program_run(&result, "sluicectl", NULL, ARGS("models", "--url", url));
    cr_assert_neq(result.exit_code, 0, "it is not signed");
    program_run(&result, "sluicectl", NULL, ARGS("models", "--url", plain));
    cr_assert_neq(result.exit_code, 0);
    struct http_response answer = http_admin(&d, "GET", "/v1/models", NULL);
    cr_assert_eq(answer.status, 200);
    http_response_release(&answer);
    test_write_file(
        test_path(request, d.directory, "request"),
        "GET /ping HTTP/1.1\r\nHost: x\r\n\r\nGET /ping HTTP/1.1\r\nHost: x\r\n: x\r\n\r\n"
        "GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n");
    program_run(&result, OPENSSL, request,
                ARGS("s_client", "-quiet", "-ign_eof", "-connect", address));
    EXPECT_SAID(result.out, "HTTP/1.1 200 ");
    EXPECT_SAID(result.out, "HTTP/1.1 400 ");
    EXPECT_SAID(result.out, "A header's name is empty");
    cr_assert_not(strstr(result.out, "tiny"), "what follows is not read: %s", result.out);
    daemon_stop(&d);
}

Test(tls, bad_files_are_reported, .init = start)
{
    cr_assert_eq(check_config(certificate, key), 0, "%s", result.err);
    cr_assert_eq(check_config(certificate, other_key), 2);
    EXPECT_SAID(result.err, "tls_certificate and tls_key are not a PEM certificate");
    cr_assert_eq(check_config(certificate, ""), 2);
    EXPECT_SAID(result.err, "tls_certificate is set and tls_key is not");
    cr_assert_eq(check_config("", key), 2);
    cr_assert_eq(check_config(certificate, "/nonexistent"), 2);
    EXPECT_SAID(result.err, "tls_key '/nonexistent': No such file");
    cr_assert_eq(check_config(certificate, d.directory), 2);
    cr_assert_eq(check_config(certificate, certificate), 2);
    cr_assert_eq(chmod(key, 0604), 0);
    cr_assert_eq(check_config(certificate, key), 2);
    EXPECT_SAID(result.err, "every user may read or write it; use chmod o-rw");
    test_directory_remove(d.directory);
}

/* ---- another certificate while the daemon serves --------------------------------------------- */

/* A client that trusts one certificate only; it keeps its connection. */
static CURL *client(const char *trusted)
{
    char url[64];
    CURL *curl = curl_easy_init();
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%d/ping", d.port);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_CAINFO, trusted);
    curl_easy_setopt(curl, CURLOPT_SSL_SESSIONID_CACHE, 0L);
    return curl;
}

static bool is_served(CURL *curl)
{
    struct http_response response = http_perform(curl);
    bool served = response.status == 200;
    http_response_release(&response);
    return served;
}

static bool is_served_anew(const char *trusted)
{
    CURL *curl = client(trusted);
    bool served = is_served(curl);
    curl_easy_cleanup(curl);
    return served;
}

static void reload_until(bool (*has_happened)(const char *), const char *what)
{
    cr_assert_eq(kill(d.pid, SIGHUP), 0);
    for (int i = 0; i < DAEMON_WAIT_MS / 10; i++) {
        if (has_happened(what))
            return;
        sleep_ms(10);
    }
    cr_assert(false, "waited in vain for %s", what);
}

static char log_path[PATH_MAX];

static bool is_logged(const char *text)
{
    static char log[1 << 16];
    test_read_file(log, sizeof log, log_path);
    return strstr(log, text);
}

static void serve_with_log(void)
{
    (void)daemon_keep_log(&d, log_path);
    daemon_serve(&d, (const char *const[]){"--tls-certificate", certificate, "--tls-key", key,
                                           "--log-level", "info", NULL});
}

Test(tls, sighup_replaces_the_certificate_without_closing_connections, .init = start)
{
    char new_key[PATH_MAX], new_certificate[PATH_MAX], old_certificate[PATH_MAX];
    long connections = -1;
    make_key(test_path(new_key, d.directory, "key2"),
             test_path(new_certificate, d.directory, "certificate2"));
    cr_assert_eq(link(certificate, test_path(old_certificate, d.directory, "old")), 0);
    serve_with_log();
    CURL *open = client(old_certificate);
    cr_assert(is_served(open));
    cr_assert(is_logged("TLS certificate not_after=20"));
    cr_assert_eq(rename(new_key, key), 0);
    cr_assert_eq(link(new_certificate, test_path(new_key, d.directory, "copy")), 0);
    cr_assert_eq(rename(new_key, certificate), 0);
    reload_until(is_served_anew, new_certificate);
    cr_assert_not(is_served_anew(old_certificate));
    cr_assert(is_served(open));
    curl_easy_getinfo(open, CURLINFO_NUM_CONNECTS, &connections);
    cr_assert_eq(connections, 0, "the connection was kept");
    curl_easy_cleanup(open);
    daemon_stop(&d);
}

Test(tls, sighup_with_a_bad_pair_keeps_the_old_one, .init = start)
{
    static const char same[] = "the TLS certificate stays as it was";
    char kept[PATH_MAX];
    cr_assert_eq(link(certificate, test_path(kept, d.directory, "kept")), 0);
    serve_with_log();
    cr_assert_eq(rename(other_key, key), 0);
    reload_until(is_logged, same);
    cr_assert(is_logged("tls_certificate and tls_key are not a PEM certificate"));
    cr_assert(is_served_anew(kept));
    cr_assert_eq(unlink(certificate), 0);
    reload_until(is_logged, "No such file or directory");
    cr_assert(is_served_anew(kept));
    daemon_stop(&d);
}

/* Connects again and again; false: once in vain. */
static bool visit(void)
{
    enum { VISITS = 50 };

    for (int i = 0; i < VISITS; i++)
        if (!is_served_anew(certificate))
            return false;
    return true;
}

/* A process, not a thread: libcurl's OpenSSL has tables that are read without a lock. The thread
 * sanitizer does not see how it orders accesses to them, and would report a race. */
static pid_t start_visitor(void)
{
    pid_t visitor = fork();
    if (visitor == 0)
        _exit(visit() ? EXIT_SUCCESS : EXIT_FAILURE);
    cr_assert_gt(visitor, 0);
    return visitor;
}

/* Reloads until the process has ended; returns how often. */
static int reload_beside(pid_t visitor)
{
    int status = 0, reloads = 0;
    pid_t ended = 0;
    for (; ended == 0 && reloads < DAEMON_WAIT_MS / 5; reloads++) {
        cr_assert_eq(kill(d.pid, SIGHUP), 0);
        sleep_ms(5);
        ended = waitpid(visitor, &status, WNOHANG);
    }
    cr_assert_eq(ended, visitor);
    cr_assert_eq(status, 0, "a client was not served");
    return reloads;
}

/* What a handshake uses is not freed by a reload beside it. */
Test(tls, handshakes_beside_reloads, .init = start)
{
    serve_with_log();
    pid_t visitors[] = {start_visitor(), start_visitor()};
    cr_assert_gt(reload_beside(visitors[0]), 1);
    (void)reload_beside(visitors[1]);
    daemon_stop(&d);
}

Test(tls, credentials_of_systemd, .init = start)
{
    char to[PATH_MAX];
    cr_assert_eq(rename(key, test_path(to, d.directory, "tls_key")), 0);
    cr_assert_eq(setenv("CREDENTIALS_DIRECTORY", d.directory, 1), 0);
    cr_assert_eq(check_config("", ""), 2);
    EXPECT_SAID(result.err, "tls_key is set and tls_certificate is not");
    cr_assert_eq(rename(certificate, test_path(to, d.directory, "tls_certificate")), 0);
    cr_assert_eq(check_config("", ""), 0, "%s", result.err);
    test_directory_remove(d.directory);
}
