/* transport_error.c - why a request got no response, and what to do about it. */
#include "common/transport_error.h"

#include <curl/curl.h>
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { TEXT_MAX = 512, NAME_MAX_BYTES = 64 };

/* "cannot reach URL: why; advice" */
static bool fail_reach(const struct endpoint *endpoint, const char *why, const char *advice,
                       struct client_error *failure)
{
    return client_error_set(failure, EXIT_FAILED, "cannot reach %s: %s; %s", endpoint->url, why,
                            advice);
}

/* The usual advice: the daemon does not run, or elsewhere. */
static bool fail_address(const struct endpoint *endpoint, const char *why,
                         struct client_error *failure)
{
    char advice[TEXT_MAX];
    (void)snprintf(advice, sizeof advice, "start sluiced, or give its address with %s",
                   endpoint->options);
    return fail_reach(endpoint, why, advice, failure);
}

/* ---- no connection --------------------------------------------------------------------------- */

/* Who may use a socket. */
static bool fail_denied(const struct endpoint *endpoint, const char *path,
                        struct client_error *failure)
{
    struct stat info;
    struct group entry, *group = NULL;
    char buffer[4096], advice[TEXT_MAX] = "run sluicectl as root or as the daemon's user";
    if (stat(path, &info) == 0 && info.st_gid != 0 && info.st_mode & S_IWGRP)
        (void)getgrgid_r(info.st_gid, &entry, buffer, sizeof buffer, &group);
    if (group)
        (void)snprintf(advice, sizeof advice,
                       "run sluicectl as root or as a member of the group %.*s", NAME_MAX_BYTES,
                       group->gr_name);
    return fail_reach(endpoint, "permission denied", advice, failure);
}

static bool fail_socket(const struct endpoint *endpoint, const char *path, int error,
                        struct client_error *failure)
{
    struct stat info;
    if (error == EACCES || error == EPERM)
        return fail_denied(endpoint, path, failure);
    if (stat(path, &info) != 0)
        return fail_address(endpoint,
                            errno == ENOENT ? "there is no such socket" : strerrordesc_np(errno),
                            failure);
    if (!S_ISSOCK(info.st_mode))
        return fail_address(endpoint, "it is not a socket", failure);
    return fail_address(endpoint,
                        error == ECONNREFUSED || error == 0 ? "no daemon listens on this socket"
                                                            : strerrordesc_np(error),
                        failure);
}

/* A URL without a port means 80 or 443, which is rarely the daemon's. */
static bool fail_refused(const struct endpoint *endpoint, struct client_error *failure)
{
    char why[TEXT_MAX] = "connection refused";
    int port = endpoint_default_port(endpoint);
    if (port > 0)
        (void)snprintf(why, sizeof why, "connection refused on port %d, as the URL names none",
                       port);
    return fail_address(endpoint, why, failure);
}

static bool fail_connect(const struct endpoint *endpoint, const struct transport_end *end,
                         struct client_error *failure)
{
    const char *path = endpoint_socket_path(endpoint);
    long error = 0;
    (void)curl_easy_getinfo((CURL *)end->curl, CURLINFO_OS_ERRNO, &error);
    if (path)
        return fail_socket(endpoint, path, (int)error, failure);
    if (error == ECONNREFUSED)
        return fail_refused(endpoint, failure);
    return fail_address(endpoint, error ? strerrordesc_np((int)error) : end->detail, failure);
}

static bool fail_host(const struct endpoint *endpoint, const struct transport_end *end,
                      struct client_error *failure)
{
    char advice[TEXT_MAX];
    (void)end;
    (void)snprintf(advice, sizeof advice, "check the address that %s gives", endpoint->options);
    return fail_reach(endpoint, "unknown host", advice, failure);
}

static bool fail_proxy(const struct endpoint *endpoint, const struct transport_end *end,
                       struct client_error *failure)
{
    (void)end;
    return fail_reach(endpoint, "unknown proxy host",
                      "check the environment variables http_proxy, https_proxy and all_proxy",
                      failure);
}

static bool fail_time(const struct endpoint *endpoint, const struct transport_end *end,
                      struct client_error *failure)
{
    char advice[TEXT_MAX];
    curl_off_t connected_us = 0;
    (void)curl_easy_getinfo((CURL *)end->curl, CURLINFO_APPCONNECT_TIME_T, &connected_us);
    if (connected_us == 0)
        (void)curl_easy_getinfo((CURL *)end->curl, CURLINFO_CONNECT_TIME_T, &connected_us);
    if (connected_us > 0)
        return client_error_set(failure, EXIT_FAILED,
                                "no response from %s within %.3g s; --timeout sets the limit",
                                endpoint->url, (double)end->timeout_ms / 1000);
    (void)snprintf(advice, sizeof advice, "check the address that %s gives, and firewalls",
                   endpoint->options);
    return fail_reach(endpoint, "no answer to the attempts to connect", advice, failure);
}

/* ---- TLS ------------------------------------------------------------------------------------- */

/* What to do about a certificate, by a word of the reason. */
static const struct {
    const char *word, *advice;
} trust[] = {
    {"subject name", "use a URL with a name that is in the certificate"},
    {"expired", "renew the certificate of the daemon"},
    {"not yet valid", "check the clocks of both machines"},
    {"", "give the certificate of the daemon, or that of its issuer, with --ca-file FILE"},
};

/* libcurl's words without what they begin with. */
static const char *without(const char *text, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(text, prefix, length) == 0 ? text + length : text;
}

static bool fail_trust(const struct endpoint *endpoint, const struct transport_end *end,
                       struct client_error *failure)
{
    const char *why = without(without(end->detail, "SSL certificate problem: "), "SSL: ");
    size_t i = 0;
    while (!strstr(why, trust[i].word))
        i++;
    return client_error_set(failure, EXIT_FAILED, "the certificate of %s is not trusted: %s; %s",
                            endpoint->url, why, trust[i].advice);
}

static bool fail_ca_file(const struct endpoint *endpoint, const struct transport_end *end,
                         struct client_error *failure)
{
    (void)end;
    return client_error_set(failure, EXIT_BAD_INPUT,
                            "--ca-file '%s' has no certificates; expected PEM: lines from "
                            "-----BEGIN CERTIFICATE----- to -----END CERTIFICATE-----",
                            endpoint->ca_file ? endpoint->ca_file : "");
}

/* ---- something else answers ------------------------------------------------------------------ */

/* There is a server, but no response of HTTP, or no TLS. */
static bool fail_protocol(const struct endpoint *endpoint, const struct transport_end *end,
                          struct client_error *failure)
{
    char other[ENDPOINT_URL_MAX], advice[ENDPOINT_URL_MAX + 8];
    bool is_tls = end->code == CURLE_SSL_CONNECT_ERROR;
    if (endpoint_other_scheme(endpoint, other)) {
        bool is_plain = strncmp(other, "http:", 5) == 0;
        (void)snprintf(advice, sizeof advice, "use %s", other);
        return fail_reach(endpoint,
                          is_plain ? "the server speaks plain HTTP, not TLS"
                                   : "the server speaks TLS (HTTPS), not plain HTTP",
                          advice, failure);
    }
    if (is_tls)
        return fail_address(endpoint, end->detail, failure);
    if (end->code == CURLE_UNSUPPORTED_PROTOCOL || end->code == CURLE_WEIRD_SERVER_REPLY)
        return fail_address(endpoint, "the server does not speak HTTP", failure);
    return client_error_set(failure, EXIT_FAILED,
                            "%s closed the connection without a response; see the daemon's log",
                            endpoint->url);
}

/* ---- all ------------------------------------------------------------------------------------- */

static const struct {
    CURLcode code;
    bool (*fail)(const struct endpoint *endpoint, const struct transport_end *end,
                 struct client_error *failure);
} failures[] = {
    {CURLE_COULDNT_CONNECT, fail_connect},        {CURLE_COULDNT_RESOLVE_HOST, fail_host},
    {CURLE_COULDNT_RESOLVE_PROXY, fail_proxy},    {CURLE_OPERATION_TIMEDOUT, fail_time},
    {CURLE_PEER_FAILED_VERIFICATION, fail_trust}, {CURLE_SSL_CACERT_BADFILE, fail_ca_file},
    {CURLE_SSL_CONNECT_ERROR, fail_protocol},     {CURLE_GOT_NOTHING, fail_protocol},
    {CURLE_UNSUPPORTED_PROTOCOL, fail_protocol}, /* HTTP/0.9, so no HTTP at all */
    {CURLE_WEIRD_SERVER_REPLY, fail_protocol},
};

bool transport_error_set(const struct endpoint *endpoint, const struct transport_end *given,
                         struct client_error *failure)
{
    struct transport_end end = *given;
    if (!end.detail[0])
        end.detail = curl_easy_strerror((CURLcode)end.code);
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++)
        if ((int)failures[i].code == end.code)
            return failures[i].fail(endpoint, &end, failure);
    return client_error_set(failure, EXIT_FAILED, "the response from %s was cut short: %s",
                            endpoint->url, end.detail);
}
