/* test_tls.c - the TCP listeners with a certificate. */
#include "support/http_client.h"
#include "support/program.h"
#include "support/test.h"
#include "support/tiny_store.h"

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
    EXPECT_SAID(result.err, "tls_certificate and tls_key: ");
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
