/* endpoint.c - how to reach the daemon: an address, a key, certificates. */
#include "common/endpoint.h"

#include <assert.h>
#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>
#include <unistd.h>

enum { PROBE_MS = 1000 };

static const char unix_prefix[] = "unix:", http[] = "http://", https[] = "https://";

/* What follows the prefix; NULL: the URL begins otherwise. */
static const char *after(const char *url, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncasecmp(url, prefix, length) == 0 ? url + length : NULL;
}

const char *endpoint_socket_path(const struct endpoint *endpoint)
{
    return after(endpoint->url, unix_prefix);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static bool fail_url(const struct endpoint *endpoint, const char *why, struct client_error *failure)
{
    return client_error_set(failure, EXIT_BAD_INPUT,
                            "invalid URL '%.256s': %s; expected http://HOST:PORT, "
                            "https://HOST:PORT or unix:PATH",
                            endpoint->url, why);
}

/* A part of a URL, to be freed with curl_free. NULL: see *code, or no memory. */
static char *part_of(const char *url, CURLUPart part, unsigned flags, CURLUcode *code)
{
    char *text = NULL;
    CURLU *parsed = curl_url();
    *code = CURLUE_OUT_OF_MEMORY;
    if (parsed)
        *code =
            curl_url_set(parsed, CURLUPART_URL, url, CURLU_GUESS_SCHEME | CURLU_NON_SUPPORT_SCHEME);
    if (*code == CURLUE_OK)
        *code = curl_url_get(parsed, part, &text, flags);
    curl_url_cleanup(parsed);
    return text;
}

/* NULL: the URL is well-formed. */
static const char *fault_of(const char *url)
{
    CURLUcode code;
    char *scheme = part_of(url, CURLUPART_SCHEME, 0, &code);
    const char *fault = code != CURLUE_OK ? curl_url_strerror(code) : NULL;
    if (scheme && strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0)
        fault = "unknown scheme";
    curl_free(scheme);
    return fault;
}

static_assert(sizeof((struct sockaddr_un){0}).sun_path == 108, "107 bytes and a NUL");

static const char *socket_fault(const char *path)
{
    if (!path[0])
        return "no path";
    return strlen(path) > 107 ? "the path has more than 107 bytes" : NULL;
}

int endpoint_default_port(const struct endpoint *endpoint)
{
    CURLUcode code = CURLUE_OK;
    if (endpoint_socket_path(endpoint))
        return 0;
    curl_free(part_of(endpoint->url, CURLUPART_PORT, 0, &code));
    return code != CURLUE_NO_PORT ? 0 : after(endpoint->url, https) ? 443 : 80;
}

bool endpoint_check(const struct endpoint *endpoint, struct client_error *failure)
{
    const char *socket = endpoint_socket_path(endpoint);
    if (strlen(endpoint->url) >= ENDPOINT_URL_MAX / 2)
        return fail_url(endpoint, "too long", failure);
    const char *fault = !endpoint->url[0] ? "it is empty"
                        : socket          ? socket_fault(socket)
                                          : fault_of(endpoint->url);
    if (fault)
        return fail_url(endpoint, fault, failure);
    return !endpoint->ca_file || access(endpoint->ca_file, R_OK) == 0 ||
           client_error_set(failure, EXIT_BAD_INPUT, "cannot read --ca-file '%s': %s",
                            endpoint->ca_file, strerrordesc_np(errno));
}

/* ---- libcurl --------------------------------------------------------------------------------- */

static bool write_url(const struct endpoint *endpoint, const char *path,
                      char url[static ENDPOINT_URL_MAX])
{
    const char *base = endpoint_socket_path(endpoint) ? "http://localhost" : endpoint->url;
    size_t length = strlen(base);
    while (length > 0 && base[length - 1] == '/')
        length--;
    return snprintf(url, ENDPOINT_URL_MAX, "%.*s%s", (int)length, base, path) < ENDPOINT_URL_MAX;
}

bool endpoint_apply(const struct endpoint *endpoint, void *curl, const char *path)
{
    char url[ENDPOINT_URL_MAX];
    CURL *easy = curl;
    bool good = write_url(endpoint, path, url) &&
                curl_easy_setopt(easy, CURLOPT_URL, url) == CURLE_OK &&
                curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
                curl_easy_setopt(easy, CURLOPT_USERAGENT, "sluicectl") == CURLE_OK &&
                curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, endpoint_socket_path(endpoint)) ==
                    CURLE_OK;
    if (good && endpoint->ca_file)
        good = curl_easy_setopt(easy, CURLOPT_CAINFO, endpoint->ca_file) == CURLE_OK;
    if (good && endpoint->key)
        good = curl_easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER) == CURLE_OK &&
               curl_easy_setopt(easy, CURLOPT_XOAUTH2_BEARER, endpoint->key) == CURLE_OK;
    return good;
}

/* ---- probes ---------------------------------------------------------------------------------- */

/* Connects, with TLS if the URL says so; a whole request if `sends`. */
static bool probe(const struct endpoint *endpoint, bool sends)
{
    CURL *easy = curl_easy_init();
    bool is_good =
        easy && endpoint_apply(endpoint, easy, "/") &&
        curl_easy_setopt(easy, sends ? CURLOPT_NOBODY : CURLOPT_CONNECT_ONLY, 1L) == CURLE_OK &&
        curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)PROBE_MS) == CURLE_OK &&
        /* nothing is sent to a server with a wrong certificate */
        curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L) == CURLE_OK &&
        curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L) == CURLE_OK &&
        curl_easy_perform(easy) == CURLE_OK;
    curl_easy_cleanup(easy);
    return is_good;
}

bool endpoint_is_open(const struct endpoint *endpoint)
{
    return probe(endpoint, false);
}

bool endpoint_other_scheme(const struct endpoint *endpoint, char url[static ENDPOINT_URL_MAX])
{
    const char *secure = after(endpoint->url, https), *plain = after(endpoint->url, http);
    const char *rest = secure ? secure : plain ? plain : endpoint->url;
    const struct endpoint other = {.url = url};
    if (endpoint_socket_path(endpoint) ||
        snprintf(url, ENDPOINT_URL_MAX, "%s%s", secure ? http : https, rest) >= ENDPOINT_URL_MAX)
        return false;
    return probe(&other, secure);
}
