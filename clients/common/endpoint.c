/* endpoint.c - how to reach the daemon: an address, a key, certificates. */
#include "common/endpoint.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

enum { CONNECT_MS = 1000 };

static const char unix_prefix[] = "unix:";

/* NULL: not a UNIX socket */
static const char *socket_path(const struct endpoint *endpoint)
{
    size_t length = sizeof unix_prefix - 1;
    return strncmp(endpoint->url, unix_prefix, length) == 0 ? endpoint->url + length : NULL;
}

static bool write_url(const struct endpoint *endpoint, const char *path,
                      char url[static ENDPOINT_URL_MAX])
{
    const char *base = socket_path(endpoint) ? "http://localhost" : endpoint->url;
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
                curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, socket_path(endpoint)) == CURLE_OK;
    if (good && endpoint->ca_file)
        good = curl_easy_setopt(easy, CURLOPT_CAINFO, endpoint->ca_file) == CURLE_OK;
    if (good && endpoint->key)
        good = curl_easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER) == CURLE_OK &&
               curl_easy_setopt(easy, CURLOPT_XOAUTH2_BEARER, endpoint->key) == CURLE_OK;
    return good;
}

bool endpoint_is_open(const struct endpoint *endpoint)
{
    CURL *easy = curl_easy_init();
    bool is_open =
        easy && endpoint_apply(endpoint, easy, "/") &&
        curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L) == CURLE_OK &&
        curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS) == CURLE_OK &&
        curl_easy_perform(easy) == CURLE_OK;
    curl_easy_cleanup(easy);
    return is_open;
}
