/* client.c - one request to the daemon at a time: libcurl with a deadline and retries. */
#include "common/client.h"
#include "base/clock.h"
#include "common/transport_error.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ATTEMPTS_MAX = 5,
    RETRY_DELAY_MS = 100, /* when the daemon does not say; doubled for each attempt */
    RETRY_DELAY_MS_MAX = 60000,
    CONNECT_MS = 10000,
    GRACE_MS = 1000 /* for the daemon, which knows the deadline too, to report it itself */
};

struct client {
    CURL *easy;
    struct curl_slist *headers;
    curl_mime *form; /* of the request, if it has a file */
    struct endpoint endpoint;
    int64_t timeout_ms;
    char curl_error[CURL_ERROR_SIZE];
};

/* The context of curl's callback. */
struct transfer {
    const struct client *client;
    const struct client_request *request;
    struct client_response *response;
    bool stopped; /* on_body returned false */
};

static int64_t now_ms(void)
{
    return sl_now_ns() / 1000000;
}

static int status_of(const struct client *client)
{
    long status = 0;
    (void)curl_easy_getinfo(client->easy, CURLINFO_RESPONSE_CODE, &status);
    return (int)status;
}

static size_t read_body(char *data, size_t size, size_t count, void *context)
{
    struct transfer *t = context;
    struct sl_buffer *body = &t->response->body;
    count *= size;
    if (t->request->on_body && status_of(t->client) == 200) {
        t->stopped = !t->request->on_body(t->request->context, data, count);
        return t->stopped ? 0 : count;
    }
    sl_buffer_append(body, data, count);
    return body->failed ? 0 : count;
}

static bool add_header(struct client *client, const char *header)
{
    struct curl_slist *headers = curl_slist_append(client->headers, header);
    if (headers)
        client->headers = headers;
    return headers != NULL;
}

/* The daemon gets the deadline as well, and stops working on the request when it has passed. */
static bool set_time(struct client *client, const struct client_request *request, int64_t left_ms)
{
    char timeout[64];
    (void)snprintf(timeout, sizeof timeout, "X-Request-Timeout-Ms: %lld", (long long)left_ms);
    curl_slist_free_all(client->headers);
    client->headers = NULL;
    return (request->file || add_header(client, "Content-Type: application/json")) &&
           add_header(client, timeout) &&
           curl_easy_setopt(client->easy, CURLOPT_HTTPHEADER, client->headers) == CURLE_OK &&
           curl_easy_setopt(client->easy, CURLOPT_TIMEOUT_MS, (long)(left_ms + GRACE_MS)) ==
               CURLE_OK;
}

static bool prepare(struct client *client)
{
    client->easy = curl_easy_init();
    if (!client->easy)
        return false;
    CURL *easy = client->easy;
    return curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, client->curl_error) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, read_body) == CURLE_OK;
}

struct client *client_create(const struct client_options *options, struct client_error *failure)
{
    if (!endpoint_check(&options->endpoint, failure))
        return NULL;
    struct client *client = calloc(1, sizeof *client);
    if (client) {
        client->endpoint = options->endpoint;
        client->timeout_ms = options->timeout_ms;
    }
    if (client && curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK && prepare(client))
        return client;
    client_destroy(client);
    (void)client_error_no_memory(failure);
    return NULL;
}

void client_destroy(struct client *client)
{
    if (!client)
        return;
    curl_easy_cleanup(client->easy);
    curl_slist_free_all(client->headers);
    curl_mime_free(client->form);
    free(client);
    curl_global_cleanup();
}

/* Appends an argument, percent-encoded. */
static void append_escaped(const struct client *client, const char *argument,
                           struct sl_buffer *path)
{
    char *escaped = curl_easy_escape(client->easy, argument ? argument : "", 0);
    if (escaped)
        sl_buffer_append_string(path, escaped);
    path->failed = path->failed || !escaped;
    curl_free(escaped);
}

static void write_path(const struct client *client, const struct client_request *request,
                       struct sl_buffer *path)
{
    const char *arguments[] = {request->argument, request->second};
    const char *rest = request->path;
    for (int i = 0; i < 2; i++) {
        const char *place = strstr(rest, "{}");
        sl_buffer_append(path, rest, place ? (size_t)(place - rest) : strlen(rest));
        if (place || i == 0)
            append_escaped(client, arguments[i], path);
        rest = place ? place + 2 : "";
    }
    sl_buffer_append_string(path, rest);
}

/* The form of an upload; libcurl reads the file while it sends. */
static bool set_form(struct client *client, const char *path)
{
    curl_mime_free(client->form);
    client->form = curl_mime_init(client->easy);
    curl_mimepart *file = client->form ? curl_mime_addpart(client->form) : NULL;
    curl_mimepart *purpose = file ? curl_mime_addpart(client->form) : NULL;
    return purpose && curl_mime_name(file, "file") == CURLE_OK &&
           curl_mime_filedata(file, path) == CURLE_OK &&
           curl_mime_name(purpose, "purpose") == CURLE_OK &&
           curl_mime_data(purpose, "fine-tune", CURL_ZERO_TERMINATED) == CURLE_OK &&
           curl_easy_setopt(client->easy, CURLOPT_MIMEPOST, client->form) == CURLE_OK;
}

static bool set_method(CURL *easy, const struct client_request *request)
{
    CURLcode code = CURLE_OK;
    if (request->body)
        code =
            curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(request->body));
    if (code == CURLE_OK)
        code = request->body ? curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body)
                             : curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    return code == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method) == CURLE_OK;
}

static bool set_url(struct client *client, const struct client_request *request,
                    struct client_error *failure)
{
    struct sl_buffer path = {0};
    write_path(client, request, &path);
    bool fits = path.bytes < ENDPOINT_URL_MAX / 2;
    bool good =
        !path.failed && fits && endpoint_apply(&client->endpoint, client->easy, path.data) &&
        (request->file ? set_form(client, request->file) : set_method(client->easy, request));
    sl_buffer_release(&path);
    if (!fits)
        return client_error_set(failure, EXIT_BAD_INPUT, "'%.64s...' is too long for a URL",
                                request->argument);
    return good || client_error_no_memory(failure);
}

/* A header's value, or "". */
static const char *header(const struct client *client, const char *name)
{
    struct curl_header *found;
    if (curl_easy_header(client->easy, name, 0, CURLH_HEADER, -1, &found) != CURLHE_OK)
        return "";
    return found->value;
}

static bool send_once(struct client *client, const struct client_request *request, int64_t left_ms,
                      struct client_response *response, struct client_error *failure)
{
    struct transfer transfer = {.client = client, .request = request, .response = response};
    sl_buffer_clear(&response->body);
    client->curl_error[0] = '\0';
    (void)curl_easy_setopt(client->easy, CURLOPT_WRITEDATA, &transfer);
    if (!set_time(client, request, left_ms))
        return client_error_no_memory(failure);
    CURLcode code = curl_easy_perform(client->easy);
    response->status = status_of(client);
    (void)snprintf(response->request_id, sizeof response->request_id, "%s",
                   header(client, "x-request-id"));
    (void)snprintf(response->code, sizeof response->code, "%s", header(client, "x-sluice-error"));
    if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && transfer.stopped))
        return true;
    return transport_error_set(&client->endpoint,
                               &(struct transport_end){.curl = client->easy,
                                                       .code = (int)code,
                                                       .detail = client->curl_error,
                                                       .timeout_ms = client->timeout_ms},
                               failure);
}

/* The delay that the response asks for; without one, exponential backoff. */
static int64_t retry_delay_ms(const struct client *client, int attempt)
{
    static const struct {
        const char *name;
        int64_t unit_ms;
    } delays[] = {{"retry-after-ms", 1}, {"retry-after", 1000}};

    for (size_t i = 0; i < sizeof delays / sizeof delays[0]; i++) {
        char *end;
        const char *value = header(client, delays[i].name);
        long long count = strtoll(value, &end, 10);
        if (end > value && count >= 0 && count <= RETRY_DELAY_MS_MAX)
            return count * delays[i].unit_ms;
    }
    return (int64_t)RETRY_DELAY_MS << attempt;
}

static void sleep_ms(int64_t ms)
{
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)nanosleep(&t, NULL);
}

bool client_send(struct client *client, const struct client_request *request,
                 struct client_response *response, struct client_error *failure)
{
    int64_t deadline = now_ms() + client->timeout_ms;
    int64_t left_ms = client->timeout_ms;
    if (!set_url(client, request, failure))
        return false;
    for (int attempt = 0;; attempt++) {
        if (!send_once(client, request, left_ms, response, failure))
            return false;
        bool unavailable = response->status == 429 || response->status == 503;
        if (!unavailable || request->no_retry || attempt + 1 == ATTEMPTS_MAX)
            return true;
        int64_t pause = retry_delay_ms(client, attempt);
        if (pause > RETRY_DELAY_MS_MAX || now_ms() + pause >= deadline)
            return true;
        sleep_ms(pause);
        left_ms = deadline - now_ms();
        if (left_ms <= 0)
            return true; /* the sleep took longer than asked for */
    }
}

void client_response_release(struct client_response *response)
{
    sl_buffer_release(&response->body);
}
