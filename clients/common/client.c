/* client.c - one question to the daemon at a time: libcurl, with a deadline and patience. */
#include "common/client.h"
#include "base/clock.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TRIES_MAX = 5,
    WAIT_MS_FIRST = 100, /* when the daemon does not say for how long; then twice as long */
    WAIT_MS_MOST = 60000,
    GRACE_MS = 1000, /* the daemon knows the deadline too, and its own word is better than ours */
    URL_MAX = 4096,
    ANSWER_BYTES_MAX = 256 << 20
};

struct client {
    CURL *easy;
    struct curl_slist *headers;
    char url[URL_MAX];
    int64_t timeout_ms;
    char why[CURL_ERROR_SIZE];
};

/* What curl's callback needs to know. */
struct reading {
    const struct client *client;
    const struct client_request *request;
    struct client_answer *answer;
    bool stopped; /* `take` has had enough */
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
    struct reading *r = context;
    struct bytes *body = &r->answer->body;
    count *= size;
    if (r->request->take && status_of(r->client) == 200) {
        r->stopped = !r->request->take(r->request->context, data, count);
        return r->stopped ? 0 : count;
    }
    bool fits = body->count + count <= ANSWER_BYTES_MAX;
    return fits && bytes_add(body, data, count) ? count : 0;
}

static bool add_header(struct client *client, const char *header)
{
    struct curl_slist *headers = curl_slist_append(client->headers, header);
    if (headers)
        client->headers = headers;
    return headers != NULL;
}

/* The daemon is told how long somebody waits, so that it does not work for nobody. */
static bool set_time(struct client *client, int64_t left_ms)
{
    char timeout[64];
    (void)snprintf(timeout, sizeof timeout, "X-Request-Timeout-Ms: %lld", (long long)left_ms);
    curl_slist_free_all(client->headers);
    client->headers = NULL;
    return add_header(client, "Content-Type: application/json") && add_header(client, timeout) &&
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
    return curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, client->why) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_USERAGENT, "sluicectl") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, read_body) == CURLE_OK;
}

struct client *client_create(const struct client_options *options, struct fault *fault)
{
    size_t length = strlen(options->url);
    while (length > 0 && options->url[length - 1] == '/')
        length--;
    if (length == 0 || length >= URL_MAX / 2) {
        (void)fault_set(fault, EXIT_MISUSED, "the URL has %zu bytes, accepted are 1 to %d", length,
                        URL_MAX / 2);
        return NULL;
    }
    struct client *client = calloc(1, sizeof *client);
    if (client) {
        (void)snprintf(client->url, sizeof client->url, "%.*s", (int)length, options->url);
        client->timeout_ms = options->timeout_ms;
    }
    if (client && curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK && prepare(client))
        return client;
    client_destroy(client);
    (void)fault_no_memory(fault);
    return NULL;
}

void client_destroy(struct client *client)
{
    if (!client)
        return;
    curl_easy_cleanup(client->easy);
    curl_slist_free_all(client->headers);
    free(client);
    curl_global_cleanup();
}

static bool point_at(struct client *client, const struct client_request *request,
                     struct fault *fault)
{
    char url[URL_MAX];
    const char *argument = request->argument ? request->argument : "";
    char *escaped = curl_easy_escape(client->easy, argument, 0);
    if (!escaped)
        return fault_no_memory(fault);
    int length = snprintf(url, sizeof url, "%s%s%s", client->url, request->path, escaped);
    curl_free(escaped);
    if (length >= (int)sizeof url)
        return fault_set(fault, EXIT_MISUSED, "'%.64s...' is too long for a name", argument);
    CURL *easy = client->easy;
    CURLcode code = curl_easy_setopt(easy, CURLOPT_URL, url);
    if (code == CURLE_OK && request->body)
        code =
            curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(request->body));
    if (code == CURLE_OK)
        code = request->body ? curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body)
                             : curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    return code == CURLE_OK || fault_no_memory(fault);
}

/* A header's value, or "". */
static const char *header(const struct client *client, const char *name)
{
    struct curl_header *found;
    if (curl_easy_header(client->easy, name, 0, CURLH_HEADER, -1, &found) != CURLHE_OK)
        return "";
    return found->value;
}

static bool explain(const struct client *client, CURLcode code, struct fault *fault)
{
    const char *why = client->why[0] ? client->why : curl_easy_strerror(code);
    if (code == CURLE_OPERATION_TIMEDOUT)
        return fault_set(fault, EXIT_FAILED, "no answer from %s within %.3g s", client->url,
                         (double)client->timeout_ms / 1000);
    if (code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST)
        return fault_set(fault, EXIT_FAILED,
                         "cannot reach %s: %s; --url or SLUICE_URL says where the daemon is",
                         client->url, why);
    if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL)
        return fault_set(fault, EXIT_MISUSED, "'%s' is no URL of a daemon: %s", client->url, why);
    return fault_set(fault, EXIT_FAILED, "the answer of %s broke off: %s", client->url, why);
}

static bool ask_once(struct client *client, const struct client_request *request, int64_t left_ms,
                     struct client_answer *answer, struct fault *fault)
{
    struct reading reading = {.client = client, .request = request, .answer = answer};
    answer->body.count = 0;
    client->why[0] = '\0';
    (void)curl_easy_setopt(client->easy, CURLOPT_WRITEDATA, &reading);
    if (!set_time(client, left_ms))
        return fault_no_memory(fault);
    CURLcode code = curl_easy_perform(client->easy);
    answer->status = status_of(client);
    (void)snprintf(answer->request_id, sizeof answer->request_id, "%s",
                   header(client, "x-request-id"));
    (void)snprintf(answer->code, sizeof answer->code, "%s", header(client, "x-sluice-error"));
    if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && reading.stopped))
        return true;
    return explain(client, code, fault);
}

/* How long the daemon wants to be left alone, or as long as we think when it does not say. */
static int64_t wait_ms(const struct client *client, int tries)
{
    static const struct {
        const char *name;
        int64_t unit_ms;
    } delays[] = {{"retry-after-ms", 1}, {"retry-after", 1000}};

    for (size_t i = 0; i < sizeof delays / sizeof delays[0]; i++) {
        char *end;
        const char *value = header(client, delays[i].name);
        long long count = strtoll(value, &end, 10);
        if (end > value && count >= 0 && count <= WAIT_MS_MOST)
            return count * delays[i].unit_ms;
    }
    return (int64_t)WAIT_MS_FIRST << tries;
}

static void sleep_ms(int64_t ms)
{
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)nanosleep(&t, NULL);
}

bool client_ask(struct client *client, const struct client_request *request,
                struct client_answer *answer, struct fault *fault)
{
    int64_t until = now_ms() + client->timeout_ms;
    int64_t left_ms = client->timeout_ms;
    if (!point_at(client, request, fault))
        return false;
    for (int tries = 0;; tries++) {
        if (!ask_once(client, request, left_ms, answer, fault))
            return false;
        bool later = answer->status == 429 || answer->status == 503;
        if (!later || request->impatient || tries + 1 == TRIES_MAX)
            return true;
        int64_t pause = wait_ms(client, tries);
        if (pause > WAIT_MS_MOST || now_ms() + pause >= until)
            return true;
        sleep_ms(pause);
        left_ms = until - now_ms();
        if (left_ms <= 0)
            return true; /* it was a longer sleep than we asked for */
    }
}

void client_answer_release(struct client_answer *answer)
{
    bytes_release(&answer->body);
}
