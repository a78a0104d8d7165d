/* bench_connection.c - one connection of the load generator. */
#include "bench/bench_connection.h"
#include "base/clock.h"
#include "common/transport_error.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

_Static_assert(BENCH_CURL_ERROR_MAX >= CURL_ERROR_SIZE, "curl's messages fit");

/* ---- the few fields that are read ------------------------------------------------------------ */

/* What follows a member's name, or NULL. A quote inside a JSON string has a backslash before
 * it, so `"name":` is a member and never part of a text. */
static const char *value_after(const char *json, size_t count, const char *name)
{
    const char *at = memmem(json, count, name, strlen(name));
    return at ? at + strlen(name) : NULL;
}

/* strtod needs a NUL, and the bytes are part of a larger buffer: hence the copy. */
static double number_after(const char *json, size_t count, const char *name)
{
    char text[32];
    const char *at = value_after(json, count, name);
    size_t left = at ? (size_t)(json + count - at) : 0;
    (void)snprintf(text, sizeof text, "%.*s", (int)(left < 31 ? left : 31), at ? at : "");
    return strtod(text, NULL);
}

static struct bench_usage read_usage(const char *json, size_t count)
{
    struct bench_usage usage = {0};
    const char *object = value_after(json, count, "\"usage\":{");
    if (!object)
        return usage;
    size_t left = (size_t)(json + count - object);
    usage.known = true;
    usage.tokens = (int64_t)number_after(object, left, "\"completion_tokens\":");
    usage.prompt_tokens = (int64_t)number_after(object, left, "\"prompt_tokens\":");
    usage.layer_ops_skipped = number_after(object, left, "\"layer_ops_skipped\":");
    return usage;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool on_event(void *context, const char *data, size_t count)
{
    static const char error[] = "{\"error\"";
    struct bench_connection *s = context;
    if (count >= sizeof error - 1 && memcmp(data, error, sizeof error - 1) == 0) {
        (void)snprintf(s->failure, sizeof s->failure, "%.*s", (int)count, data);
        return true;
    }
    struct bench_usage usage = read_usage(data, count);
    if (usage.known) {
        s->usage = usage;
        return true;
    }
    int64_t now = sl_now_ns();
    if (s->chunks++ == 0)
        s->first_ns = now;
    else if (s->counts)
        histogram_add(s->inter_chunk, now - s->last_ns);
    s->last_ns = now;
    return true;
}

static size_t read_body(char *data, size_t size, size_t count, void *context)
{
    struct bench_connection *s = context;
    count *= size;
    if (s->status == 0) {
        long status = 0;
        (void)curl_easy_getinfo(s->easy, CURLINFO_RESPONSE_CODE, &status);
        s->status = (int)status;
    }
    if (s->status == 200 && s->plan->stream)
        return sse_parser_feed(&s->events, data, count) ? count : 0;
    sl_buffer_append(&s->response, data, count);
    return s->response.failed ? 0 : count;
}

/* The headers of a classification: tokens read, and the fraction of layer operations skipped. */
static size_t read_header(char *data, size_t size, size_t count, void *context)
{
    static const char tokens[] = "x-compute-tokens:", saved[] = "x-sluice-layer-ops-skipped:";
    struct bench_connection *s = context;
    char line[128];
    count *= size;
    (void)snprintf(line, sizeof line, "%.*s", (int)(count < 127 ? count : 127), data);
    if (strncasecmp(line, tokens, sizeof tokens - 1) == 0) {
        s->usage.known = true;
        s->usage.prompt_tokens = strtoll(line + sizeof tokens - 1, NULL, 10);
    } else if (strncasecmp(line, saved, sizeof saved - 1) == 0)
        s->usage.layer_ops_skipped = strtod(line + sizeof saved - 1, NULL);
    return count;
}

/* ---- one request ----------------------------------------------------------------------------- */

static bool prepare(struct bench_connection *s)
{
    CURL *easy = s->easy;
    return endpoint_apply(&s->plan->endpoint, easy, s->plan->path) &&
           curl_easy_setopt(easy, CURLOPT_HTTPHEADER, s->headers) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)s->plan->timeout_ms) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, s->curl_error) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PRIVATE, s) == CURLE_OK &&
           (s->plan->texts == 0 ||
            (curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, read_header) == CURLE_OK &&
             curl_easy_setopt(easy, CURLOPT_HEADERDATA, s) == CURLE_OK)) &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, read_body) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEDATA, s) == CURLE_OK;
}

static bool add_budget(struct bench_connection *s)
{
    char line[64];
    (void)snprintf(line, sizeof line, "X-Sluice-Budget: %.6f", s->plan->budget);
    return s->plan->budget <= 0 || curl_slist_append(s->headers, line);
}

bool bench_connection_init(struct bench_connection *s, const struct bench_plan *plan,
                           struct bench_result *result)
{
    s->plan = plan;
    s->inter_chunk = &result->inter_chunk;
    s->events = (struct sse_parser){.on_event = on_event, .context = s};
    s->headers = curl_slist_append(NULL, "Content-Type: application/json");
    s->easy = curl_easy_init();
    return s->headers && s->easy && add_budget(s) && prepare(s);
}

void bench_connection_release(struct bench_connection *s)
{
    curl_easy_cleanup(s->easy);
    curl_slist_free_all(s->headers);
    sse_parser_release(&s->events);
    sl_buffer_release(&s->response);
    free(s->body);
}

bool bench_connection_begin(struct bench_connection *s, int64_t number, int64_t begun_ns)
{
    free(s->body);
    s->body = s->plan->body(s->plan->context, number);
    s->counts = number >= 0;
    s->status = 0;
    s->events.ended = false;
    s->chunks = 0;
    s->usage = (struct bench_usage){0};
    sl_buffer_clear(&s->events.line);
    sl_buffer_clear(&s->response);
    s->failure[0] = s->curl_error[0] = '\0';
    if (!s->body || curl_easy_setopt(s->easy, CURLOPT_POSTFIELDS, s->body) != CURLE_OK)
        return false;
    s->begun_ns = begun_ns;
    return true;
}

static bool is_rejection(int status)
{
    return status == 429 || status == 503;
}

/* An open loop may ask for more than the daemon serves, so any other failure says more. */
static bool is_worth_reporting(const struct bench_connection *s, const struct bench_result *result)
{
    bool is_first = result->failure[0] == '\0';
    return is_first ||
           (s->plan->rate > 0 && is_rejection(result->failure_status) && !is_rejection(s->status));
}

/* Only one failure is reported; and to explain one may take a second. */
static void explain_transport(struct bench_connection *s, int code,
                              const struct bench_result *result)
{
    struct client_error failure = {0};
    const struct transport_end end = {
        .curl = s->easy, .code = code, .detail = s->curl_error, .timeout_ms = s->plan->timeout_ms};
    if (!is_worth_reporting(s, result))
        return;
    (void)transport_error_set(&s->plan->endpoint, &end, &failure);
    (void)snprintf(s->failure, sizeof s->failure, "%s", failure.err.text);
}

/* Writes to `failure` why the request failed; false when it did not. */
static bool has_failed(struct bench_connection *s, int code, const struct bench_result *result)
{
    char *to = s->failure;

    enum { ROOM = sizeof s->failure };

    if (to[0])
        return true;
    if (code != CURLE_OK)
        explain_transport(s, code, result);
    else if (s->status != 200)
        (void)snprintf(to, ROOM, "%s", s->response.bytes ? s->response.data : "empty response");
    else if (s->plan->stream && !s->events.ended)
        (void)snprintf(to, ROOM, "the stream ended early");
    else if (!s->usage.known)
        (void)snprintf(to, ROOM, "the response reports no token counts");
    return code != CURLE_OK || to[0] != '\0';
}

static void add_times(const struct bench_connection *s, int64_t now, struct bench_result *result)
{
    int64_t took = now - s->begun_ns, tokens = s->usage.tokens;
    histogram_add(&result->latency, took);
    if (took > 0 && tokens > 0)
        histogram_add(&result->rate, (int64_t)(1e12 * (double)tokens / (double)took));
    if (s->chunks > 0)
        histogram_add(&result->first_chunk, s->first_ns - s->begun_ns);
    if (s->chunks > 1 && tokens > 1)
        histogram_add(&result->inter_token, (s->last_ns - s->first_ns) / (tokens - 1));
}

void bench_connection_finish(struct bench_connection *s, int code, struct bench_result *result)
{
    int64_t now = sl_now_ns();
    if (s->status == 200 && !s->plan->stream && s->plan->texts == 0 && s->response.data)
        s->usage = read_usage(s->response.data, s->response.bytes);
    bool failed = has_failed(s, code, result);
    if (failed && is_worth_reporting(s, result)) {
        memcpy(result->failure, s->failure, sizeof result->failure);
        result->failure_status = s->status;
    }
    if (!s->counts) {
        result->warm_up_failed += failed;
        return;
    }
    result->failed += failed;
    result->rejected += is_rejection(s->status);
    if (failed)
        return;
    result->done++;
    result->tokens += s->usage.tokens;
    result->prompt_tokens += s->usage.prompt_tokens;
    result->chunks += s->chunks;
    result->layer_ops_skipped +=
        (s->usage.layer_ops_skipped - result->layer_ops_skipped) / (double)result->done;
    add_times(s, now, result);
}
