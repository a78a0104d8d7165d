/* http_client.h - requests to a test's daemon by libcurl, each on a connection of its own, and the
 * numbers of its /metrics. */
#pragma once

#include "base/buffer.h"
#include "support/daemon.h"
#include "support/tiny_store.h"

#include <curl/curl.h>

struct http_response {
    long status; /* 0: none came */
    CURLcode curl_code;
    struct sl_buffer head, body; /* strings, even when empty */
    char header[4096];           /* what http_response_header found last */
};

/* Appends what curl received to a struct sl_buffer: its write function. */
size_t http_append(char *bytes, size_t size, size_t count, void *text);
/* Performs a request that is set up but for where its response goes. */
struct http_response http_perform(CURL *curl);

void http_response_release(struct http_response *response);

/* body NULL: none. headers NULL, or lines to send besides. The caller releases the response. */
struct http_response http_request_with(const struct daemon *daemon, const char *method,
                                       const char *path, const char *body,
                                       const struct curl_slist *headers);

/* The same, without headers. */
struct http_response http_request(const struct daemon *daemon, const char *method, const char *path,
                                  const char *body);

/* The same two, through the admin listener's UNIX socket. */
struct http_response http_admin_with(const struct daemon *daemon, const char *method,
                                     const char *path, const char *body,
                                     const struct curl_slist *headers);
struct http_response http_admin(const struct daemon *daemon, const char *method, const char *path,
                                const char *body);

/* POST /v1/completions. */
struct http_response http_complete(const struct daemon *daemon, const char *body);

/* The value of a header, or NULL; valid until the next call for this response. */
const char *http_response_header(struct http_response *response, const char *name);

/* ---- metrics -------------------------------------------------------------------------------- */

/* The value of a series, given as it is written before its number; 0 when it is not there. */
double metric_value(const struct daemon *daemon, const char *series);

/* The sum over a metric's series that have these labels, or this part of them. */
double metric_sum(const struct daemon *daemon, const char *name, const char *labels);

/* How many completions of the tiny model ended with a code and a reason. */
double metric_completions(const struct daemon *daemon, const char *code, const char *reason);

/* Waits until a series has a value, or fails. */
void metric_wait(const struct daemon *daemon, const char *series, double want);
