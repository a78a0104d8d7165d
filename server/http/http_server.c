/* http_server.c - HTTP/1.1: requests become calls, their replies and streams become bytes.
 *
 * libmicrohttpd runs two threads with an epoll each. With one thread its epoll stalls when 128 to
 * 512 connections are busy (tests/bench_http.sh shows it); with two it does not. */
#include "http/http_server.h"
#include "core/log.h"
#include "core/metrics.h"
#include "core/options.h"
#include "http/connection_watcher.h"
#include "http/request_body.h"
#include "http/request_head.h"
#include "http/request_router.h"

#include <assert.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- connections ----------------------------------------------------------------------------- */

static int socket_of(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

static struct sv_guest *guest_of(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static void suspend(void *connection)
{
    MHD_suspend_connection(connection);
}

static void resume(void *connection)
{
    MHD_resume_connection(connection);
}

static const char *header_of(void *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static const char *query_of(void *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
}

static const struct sv_line line = {.suspend = suspend,
                                    .resume = resume,
                                    .header = header_of,
                                    .query = query_of};

/* ---- replies --------------------------------------------------------------------------------- */

static void add_headers(struct MHD_Response *response, const struct sv_call *call, bool closes)
{
    const struct sv_reply *reply = &call->reply;
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply->content_type);
    (void)MHD_add_response_header(response, "x-request-id", call->request_id);
    for (int i = 0; i < reply->header_count; i++)
        (void)MHD_add_response_header(response, reply->headers[i].name, reply->headers[i].value);
    for (int i = 0; i < reply->long_count; i++)
        if (!reply->long_headers[i].value.failed)
            (void)MHD_add_response_header(response, reply->long_headers[i].name,
                                          reply->long_headers[i].value.data);
    if (closes || atomic_load(&call->server->phase) == SV_PHASE_DRAINING)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
}

static void uncount_answer(struct sv_exchange *x)
{
    atomic_fetch_sub(&x->http->server->answer_bytes, x->answer_bytes);
    x->answer_bytes = 0;
}

static enum MHD_Result queue(struct sv_exchange *x, struct MHD_Response *response)
{
    if (!response)
        return MHD_NO;
    add_headers(response, x->call, x->closes);
    x->replied = true;
    sv_body_uncount(x);
    enum MHD_Result queued =
        MHD_queue_response(x->connection, (unsigned)x->call->reply.status, response);
    MHD_destroy_response(response);
    return queued;
}

/* False: clients that do not take theirs leave no room for it. */
static bool count_answer_bytes(struct sv_exchange *x)
{
    int64_t bytes = (int64_t)x->call->reply.body.bytes;
    x->answer_bytes = bytes;
    bool fits =
        atomic_fetch_add(&x->http->server->answer_bytes, bytes) + bytes <= SV_ANSWERS_BYTES_MAX;
    return fits || bytes <= SV_ANSWER_SMALL_BYTES;
}

/* In place of an answer that is too long by itself, or beside those that wait. */
static void refuse_answer(struct sv_exchange *x)
{
    struct sv_problem problem;
    if (x->call->reply.body.is_full)
        (void)sv_refuse(&problem, SV_BAD_REQUEST, NULL,
                        "The answer would have more than %d bytes: ask for less at a time.",
                        SV_TEXT_GROWN_MAX);
    else {
        (void)sv_refuse(
            &problem, SV_OVERLOADED, NULL,
            "Answers that clients have not taken yet fill the memory set aside for them.");
        problem.retry_ms = 1000;
    }
    uncount_answer(x);
    sv_call_forget(x->call);
    (void)sv_call_refuse(x->call, &problem);
}

static enum MHD_Result reply(struct sv_exchange *x)
{
    struct sv_text *body = &x->call->reply.body;
    if (body->is_full || (!body->failed && !count_answer_bytes(x)))
        refuse_answer(x);
    if (body->failed)
        return MHD_NO; /* out of memory: half an answer would be worse than none */
    int64_t by_length_ns = (int64_t)body->bytes / SV_ANSWER_BYTES_PER_SECOND * 1000000000;
    sv_watcher_expect(x->http->watcher, x->guest,
                      (int64_t)SV_ANSWER_SECONDS * 1000000000 + by_length_ns, by_length_ns);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(body->bytes, body->data, MHD_RESPMEM_MUST_FREE);
    if (response)
        *body = (struct sv_text){0}; /* its memory is the response's now */
    return queue(x, response);
}

static ssize_t pull(void *context, uint64_t position, char *bytes, size_t most)
{
    struct sv_call *call = context;
    (void)position;
    for (;;) {
        if (atomic_load(&call->cancelled))
            return MHD_CONTENT_READER_END_WITH_ERROR;
        ssize_t taken = call->work->pull(call, bytes, most);
        if (taken > 0)
            return taken;
        if (taken == SV_PULL_END)
            return MHD_CONTENT_READER_END_OF_STREAM;
        if (taken == SV_PULL_BROKEN)
            return MHD_CONTENT_READER_END_WITH_ERROR;
        if (sv_call_sleep(call))
            return 0; /* suspended: we are asked again when there is news */
    }
}

static void let_go(void *context)
{
    sv_call_release(context);
}

static enum MHD_Result reply_stream(struct sv_exchange *x)
{
    enum { BLOCK = 1024 }; /* chunks are written into the connection's own memory */
    struct sv_call *call = sv_call_acquire(x->call);
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, pull, call, let_go);
    if (!response)
        sv_call_release(call);
    return queue(x, response);
}

static enum MHD_Result refuse(struct sv_exchange *x)
{
    (void)sv_call_refuse(x->call, &x->problem);
    return reply(x);
}

/* ---- requests -------------------------------------------------------------------------------- */

static const char *header(const struct sv_exchange *x, const char *name)
{
    return header_of(x->connection, name);
}

static enum MHD_Result note_header(void *context, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    struct sv_framing *f = context;
    (void)kind;
    f->lengths += strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0;
    f->hosts += strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0;
    f->is_odd = f->is_odd || sv_header_is_odd(name, value);
    if (strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0) {
        f->codings++;
        f->is_chunked = value && strcasecmp(value, "chunked") == 0;
    }
    return MHD_YES;
}

static void check_framing(struct sv_exchange *x, const char *version)
{
    struct sv_framing framing = {.version = version};
    (void)MHD_get_connection_values(x->connection, MHD_HEADER_KIND, note_header, &framing);
    x->closes = !sv_framing_is_clear(&framing, &x->problem);
}

static void exchange_destroy(struct sv_exchange *x)
{
    sv_call_release(x->call);
    free(x);
}

static struct sv_exchange *exchange_create(struct sv_http *http, struct MHD_Connection *connection,
                                           const char *method, const char *path,
                                           const char *version)
{
    struct sv_exchange *x = guest_of(connection) ? calloc(1, sizeof *x) : NULL;
    struct sv_call *call = x ? sv_call_create(http->server, &line, connection) : NULL;
    if (!call) {
        free(x);
        return NULL;
    }
    x->http = http;
    x->call = call;
    x->connection = connection;
    x->socket = socket_of(connection);
    x->guest = guest_of(connection);
    x->method = method;
    x->watch = SV_UNWATCHED;
    sv_body_expect(x);
    (void)sv_head_read(call, http->router, method, path, &x->problem);
    check_framing(x, version); /* its refusal is worth more */
    return x;
}

/* The first news about a call that has to wait is that its client may leave. */
static void watch(struct sv_exchange *x)
{
    if (x->watch == SV_UNWATCHED)
        x->watch = sv_watcher_add(x->http->watcher, x->socket, x->call);
}

static enum sv_next begin(struct sv_exchange *x)
{
    x->dispatched = true;
    sv_watcher_trust(x->http->watcher, x->guest); /* from here on the call has deadlines itself */
    atomic_fetch_add(&x->http->server->calls, 1);
    atomic_fetch_add(&x->http->server->begun, 1);
    enum sv_next next = x->call->route->handle(x->call);
    sv_text_release(&x->call->body); /* it counts on: what was made of it is as large */
    if (next == SV_WAITING)
        watch(x);
    return next;
}

/* As far as the call gets without waiting; then its reply, or sleep. */
static enum MHD_Result advance(struct sv_exchange *x)
{
    struct sv_call *call = x->call;
    enum sv_next next = x->dispatched ? call->work->proceed(call) : begin(x);
    while (next == SV_WAITING) {
        if (atomic_load(&call->cancelled))
            return MHD_NO; /* nobody is there to be answered */
        if (sv_call_sleep(call))
            return MHD_YES;
        next = call->work->proceed(call);
    }
    return next == SV_STREAMING ? reply_stream(x) : reply(x);
}

/* True for a refusal that must not wait for the body: the client asks first, or it is huge. */
static bool refuses_body(const struct sv_exchange *x)
{
    const char *length = header(x, MHD_HTTP_HEADER_CONTENT_LENGTH);
    return x->problem.kind != SV_FINE &&
           (x->closes || header(x, MHD_HTTP_HEADER_EXPECT) ||
            (length && strtoll(length, NULL, 10) > SV_DISCARD_BYTES_MAX));
}

// NOLINTNEXTLINE(readability-function-size): the parameters are libmicrohttpd's choice
static enum MHD_Result on_request(void *context, struct MHD_Connection *connection,
                                  const char *path, const char *method, const char *version,
                                  const char *upload, size_t *upload_size, void **state)
{
    struct sv_exchange *x = *state;
    if (!x) {
        *state = x = exchange_create(context, connection, method, path, version);
        if (!x)
            return MHD_NO;
        x->lingers = x->closes = refuses_body(x);
        return x->lingers ? refuse(x) : MHD_YES;
    }
    if (*upload_size > 0) {
        bool taken = sv_body_take(x, upload, *upload_size);
        *upload_size = 0;
        return taken ? MHD_YES : MHD_NO;
    }
    return x->problem.kind != SV_FINE ? refuse(x) : advance(x);
}

/* ---- endings --------------------------------------------------------------------------------- */

static const char *known_method(const char *method)
{
    static const char *const known[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i], method) == 0)
            return known[i];
    return "other"; /* clients must not make labels */
}

static void count_answer(const struct sv_exchange *x)
{
    const struct sv_call *call = x->call;
    struct sv_metrics *metrics = call->server->metrics;
    const char *handler = call->route ? call->route->path : "none";
    char status[16];
    if (!x->replied || strcmp(handler, "/metrics") == 0)
        return;
    (void)snprintf(status, sizeof status, "%d", call->reply.status);
    sv_metric_add(
        sv_metrics_series(metrics, SV_METRIC_HTTP_REQUESTS,
                          (const char *const[]){handler, known_method(x->method), status}),
        1);
    sv_metric_see(
        sv_metrics_series(metrics, SV_METRIC_HTTP_SECONDS, (const char *const[]){handler}),
        1e-9 * (double)(sv_now_ns() - call->received_ns));
}

/* Every call that was received whole is counted here, once, by how it ended. */
static void count_call(const struct sv_exchange *x, bool complete)
{
    struct sv_call *call = x->call;
    enum sv_problem_kind kind = call->outcome;
    char code[16];
    if (kind == SV_FINE && call->work)
        kind = call->work->outcome(call, complete);
    else if (kind == SV_FINE && !complete)
        kind = SV_CLIENT_LEFT;
    int status = sv_problem_status(kind, call->family);
    (void)snprintf(code, sizeof code, "%d", status);
    sv_metric_add(
        sv_metrics_series(call->server->metrics, SV_METRIC_REQUESTS,
                          (const char *const[]){call->route->path, call->model, call->version, code,
                                                sv_problem_reason(kind)}),
        1);
    bool asked_for = sv_problem_is_asked_for(kind) || (kind == SV_EXPIRED && call->timeout_ms > 0);
    bool ours = (status >= 500 || kind == SV_INTERNAL) && !asked_for;
    SV_LOG(ours ? SV_LOG_WARN : SV_LOG_DEBUG, "call", sv_str("endpoint", call->route->path),
           sv_str("request_id", call->request_id), sv_str("model", call->model),
           sv_str("reason", sv_problem_reason(kind)),
           sv_int("ms", (sv_now_ns() - call->received_ns) / 1000000));
}

static void end_call(struct sv_exchange *x, bool complete)
{
    struct sv_call *call = x->call;
    if (call->route->scope == SV_SCOPE_INFER)
        count_call(x, complete);
    if (!complete && call->work)
        sv_call_cancel(call);
    atomic_fetch_sub(&x->http->server->calls, 1);
}

static void on_completed(void *context, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode code)
{
    struct sv_exchange *x = *state;
    (void)context;
    if (!x)
        return;
    *state = NULL;
    /* Before libmicrohttpd closes the socket and its number goes to somebody else. */
    sv_watcher_remove(x->http->watcher, x->watch);
    if (x->lingers)
        sv_watcher_linger(x->http->watcher, socket_of(connection));
    sv_watcher_expect(x->http->watcher, x->guest, (int64_t)SV_CONNECTION_IDLE_SECONDS * 1000000000,
                      0);
    if (x->dispatched)
        end_call(x, code == MHD_REQUEST_TERMINATED_COMPLETED_OK);
    count_answer(x);
    sv_body_drop(x);
    uncount_answer(x);
    exchange_destroy(x);
}

/* NULL when there is no memory: then it gets no answer either. */
static struct sv_guest *meet(struct sv_http *http, struct MHD_Connection *connection)
{
    struct sv_guest *guest = calloc(1, sizeof *guest);
    if (guest)
        sv_watcher_meet(http->watcher, guest, socket_of(connection));
    return guest;
}

static void on_connection(void *context, struct MHD_Connection *connection, void **state,
                          enum MHD_ConnectionNotificationCode code)
{
    struct sv_http *http = context;
    atomic_fetch_add(&http->server->connections, code == MHD_CONNECTION_NOTIFY_STARTED ? 1 : -1);
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        *state = meet(http, connection);
    else if (*state) {
        sv_watcher_part(http->watcher, *state);
        free(*state);
    }
}

static void SL_PRINTF(2, 0) on_message(void *context, const char *format, va_list list)
{
    char text[256];
    (void)context;
    (void)vsnprintf(text, sizeof text, format, list);
    text[strcspn(text, "\n")] = '\0';
    SV_LOG(SV_LOG_DEBUG, "libmicrohttpd", sv_str("message", text));
}

/* Paths arrive as they were sent: only the router knows which escapes may be undone. */
static size_t keep_escapes(void *context, struct MHD_Connection *connection, char *text)
{
    (void)context;
    (void)connection;
    return strlen(text);
}

/* ---- start and stop -------------------------------------------------------------------------- */

struct sv_http *sv_http_start(struct sv_server *server, const struct sv_router *router,
                              struct sv_watcher *watcher, int socket, struct sl_err *err)
{
    struct sv_http *http = calloc(1, sizeof *http);
    if (http) {
        http->server = server;
        http->router = router;
        http->watcher = watcher;
        http->daemon = MHD_start_daemon(
            MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL,
            NULL, on_request, http,                                 //
            MHD_OPTION_EXTERNAL_LOGGER, on_message, NULL,           //
            MHD_OPTION_LISTEN_SOCKET, socket,                       //
            MHD_OPTION_THREAD_POOL_SIZE, (unsigned)SV_HTTP_THREADS, //
            MHD_OPTION_CONNECTION_LIMIT, (unsigned)server->options->connections_max,
            MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SV_CONNECTION_IDLE_SECONDS,
            MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)SV_CONNECTION_BYTES,
            MHD_OPTION_NOTIFY_COMPLETED, on_completed, http,   //
            MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, //
            MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL, MHD_OPTION_END);
    }
    if (!http || !http->daemon) {
        (void)sl_fail(err, SL_IO, "start HTTP: libmicrohttpd refuses; see the log at level debug");
        (void)close(socket);
        free(http);
        return NULL;
    }
    return http;
}

void sv_http_stop(struct sv_http *http)
{
    if (!http)
        return;
    MHD_stop_daemon(http->daemon);
    free(http);
}
