/* bench_stream.c - one of the benchmark's clients. */
#include "bench/bench_stream.h"
#include "base/clock.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

_Static_assert(BENCH_WHY_MAX >= CURL_ERROR_SIZE, "room for curl's explanations");

/* ---- the few fields of an answer that are looked at ------------------------------------------ */

/* What stands behind a member's name, or NULL. A quote inside a JSON string has a backslash before
 * it, so `"name":` is a member and never part of a text. */
static const char *behind(const char *json, size_t count, const char *name)
{
    const char *at = memmem(json, count, name, strlen(name));
    return at ? at + strlen(name) : NULL;
}

/* Copied first: the bytes are part of a larger buffer, and reading has to stop where they do. */
static double number_behind(const char *json, size_t count, const char *name)
{
    char text[32];
    const char *at = behind(json, count, name);
    size_t left = at ? (size_t)(json + count - at) : 0;
    (void)snprintf(text, sizeof text, "%.*s", (int)(left < 31 ? left : 31), at ? at : "");
    return strtod(text, NULL);
}

static struct bench_usage read_usage(const char *json, size_t count)
{
    struct bench_usage usage = {0};
    const char *object = behind(json, count, "\"usage\":{");
    if (!object)
        return usage;
    size_t left = (size_t)(json + count - object);
    usage.known = true;
    usage.tokens = (int64_t)number_behind(object, left, "\"completion_tokens\":");
    usage.prompt_tokens = (int64_t)number_behind(object, left, "\"prompt_tokens\":");
    usage.saved = number_behind(object, left, "\"layer_ops_skipped\":");
    return usage;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool begins_with(const char *data, size_t count, const char *what)
{
    size_t length = strlen(what);
    return count >= length && memcmp(data, what, length) == 0;
}

static bool take_event(void *context, const char *data, size_t count)
{
    struct bench_stream *s = context;
    if (begins_with(data, count, "[DONE]")) {
        s->ended = true;
        return true;
    }
    if (begins_with(data, count, "{\"error\"")) {
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
        histogram_add(s->between, now - s->last_ns);
    s->last_ns = now;
    return true;
}

static size_t read_body(char *data, size_t size, size_t count, void *context)
{
    struct bench_stream *s = context;
    count *= size;
    if (s->status == 0) {
        long status = 0;
        (void)curl_easy_getinfo(s->easy, CURLINFO_RESPONSE_CODE, &status);
        s->status = (int)status;
    }
    bool good = s->status == 200 && s->plan->stream ? events_feed(&s->events, data, count)
                                                    : bytes_add(&s->answer, data, count);
    return good ? count : 0;
}

/* What a classification says of itself: tokens read, and operations saved. */
static size_t read_header(char *data, size_t size, size_t count, void *context)
{
    static const char tokens[] = "x-compute-tokens:", saved[] = "x-sluice-layer-ops-skipped:";
    struct bench_stream *s = context;
    char line[128];
    count *= size;
    (void)snprintf(line, sizeof line, "%.*s", (int)(count < 127 ? count : 127), data);
    if (strncasecmp(line, tokens, sizeof tokens - 1) == 0) {
        s->usage.known = true;
        s->usage.prompt_tokens = strtoll(line + sizeof tokens - 1, NULL, 10);
    } else if (strncasecmp(line, saved, sizeof saved - 1) == 0)
        s->usage.saved = strtod(line + sizeof saved - 1, NULL);
    return count;
}

/* ---- a request's life ------------------------------------------------------------------------ */

static bool prepare(struct bench_stream *s)
{
    CURL *easy = s->easy;
    return curl_easy_setopt(easy, CURLOPT_URL, s->plan->url) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HTTPHEADER, s->headers) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_USERAGENT, "sluicectl") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)s->plan->timeout_ms) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, s->why) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PRIVATE, s) == CURLE_OK &&
           (s->plan->texts == 0 ||
            (curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, read_header) == CURLE_OK &&
             curl_easy_setopt(easy, CURLOPT_HEADERDATA, s) == CURLE_OK)) &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, read_body) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEDATA, s) == CURLE_OK;
}

bool bench_stream_init(struct bench_stream *s, const struct bench_plan *plan,
                       struct bench_result *result)
{
    s->plan = plan;
    s->between = &result->between;
    s->events = (struct events){.take = take_event, .context = s};
    s->headers = curl_slist_append(NULL, "Content-Type: application/json");
    s->easy = curl_easy_init();
    return s->headers && s->easy && prepare(s);
}

void bench_stream_release(struct bench_stream *s)
{
    curl_easy_cleanup(s->easy);
    curl_slist_free_all(s->headers);
    events_release(&s->events);
    bytes_release(&s->answer);
    free(s->body);
}

bool bench_stream_begin(struct bench_stream *s, int64_t number)
{
    free(s->body);
    s->body = s->plan->body(s->plan->context, number);
    s->counts = number >= 0;
    s->status = 0;
    s->ended = false;
    s->chunks = 0;
    s->usage = (struct bench_usage){0};
    s->events.line.count = 0;
    s->answer.count = 0;
    s->failure[0] = s->why[0] = '\0';
    if (!s->body || curl_easy_setopt(s->easy, CURLOPT_POSTFIELDS, s->body) != CURLE_OK)
        return false;
    s->begun_ns = sl_now_ns();
    return true;
}

/* Why the answer is none, in `failure`; false when it is one. */
static bool has_failed(struct bench_stream *s, int code)
{
    char *to = s->failure;

    enum { ROOM = sizeof s->failure };

    if (to[0])
        return true;
    if (code != CURLE_OK)
        (void)snprintf(to, ROOM, "%s", s->why[0] ? s->why : curl_easy_strerror((CURLcode)code));
    else if (s->status != 200)
        (void)snprintf(to, ROOM, "%s", s->answer.count ? s->answer.data : "an empty answer");
    else if (s->plan->stream && !s->ended)
        (void)snprintf(to, ROOM, "the stream broke off");
    else if (!s->usage.known)
        (void)snprintf(to, ROOM, "the answer does not say how many tokens it has");
    return to[0] != '\0';
}

static void add_times(const struct bench_stream *s, int64_t now, struct bench_result *result)
{
    int64_t took = now - s->begun_ns, tokens = s->usage.tokens;
    histogram_add(&result->latency, took);
    if (took > 0 && tokens > 0)
        histogram_add(&result->rate, (int64_t)(1e12 * (double)tokens / (double)took));
    if (s->chunks > 0)
        histogram_add(&result->first, s->first_ns - s->begun_ns);
    if (s->chunks > 1 && tokens > 1)
        histogram_add(&result->per_token, (s->last_ns - s->first_ns) / (tokens - 1));
}

void bench_stream_finish(struct bench_stream *s, int code, struct bench_result *result)
{
    int64_t now = sl_now_ns();
    if (s->status == 200 && !s->plan->stream && s->plan->texts == 0 && s->answer.data)
        s->usage = read_usage(s->answer.data, s->answer.count);
    bool failed = has_failed(s, code);
    if (failed && result->failure[0] == '\0') {
        memcpy(result->failure, s->failure, sizeof result->failure);
        result->failure_status = s->status;
    }
    if (!s->counts) {
        result->warm_up_failed += failed;
        return;
    }
    result->failed += failed;
    result->refused += s->status == 429 || s->status == 503;
    if (failed)
        return;
    result->done++;
    result->tokens += s->usage.tokens;
    result->prompt_tokens += s->usage.prompt_tokens;
    result->chunks += s->chunks;
    result->saved += (s->usage.saved - result->saved) / (double)result->done;
    add_times(s, now, result);
}
