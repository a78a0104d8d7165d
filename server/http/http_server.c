/* http_server.c - HTTP/1.1: bytes become requests, responses and streams become bytes.
 *
 * libmicrohttpd runs threads with an epoll each, two for inference. With one thread its epoll
 * stalls when 128 to 512 connections are busy (tests/bench/bench_http.sh shows it). */
#include "http/http_server.h"
#include "core/log.h"
#include "core/metrics.h"
#include "core/options.h"
#include "http/connection_watcher.h"
#include "http/peer_credentials.h"
#include "http/receiver.h"
#include "http/request_body.h"
#include "http/request_headers.h"
#include "http/request_log.h"
#include "http/request_router.h"
#include "http/response_headers.h"
#include "http/tls.h"

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

/* What a connection has from its beginning to its end. */
struct connection {
    struct sv_watched_connection watched;
    struct sv_receiver *receiver;
    int requests; /* that were begun */
};

static struct connection *context_of(struct MHD_Connection *connection)
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

struct query_visit {
    void (*visit)(void *context, const char *name, const char *value);
    void *context;
};

static enum MHD_Result visit_query(void *context, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    const struct query_visit *v = context;
    (void)kind;
    v->visit(v->context, name, value ? value : "");
    return MHD_YES;
}

static void each_query(void *connection,
                       void (*visit)(void *context, const char *name, const char *value),
                       void *context)
{
    struct query_visit v = {visit, context};
    (void)MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, visit_query, &v);
}

static const struct sv_transport transport = {.suspend = suspend,
                                              .resume = resume,
                                              .header = header_of,
                                              .query = query_of,
                                              .each_query = each_query};

/* ---- responses ------------------------------------------------------------------------------- */

static void uncount_response(struct sv_exchange *x)
{
    atomic_fetch_sub(&x->http->server->response_bytes, x->response_bytes);
    x->response_bytes = 0;
}

static enum MHD_Result queue(struct sv_exchange *x, struct MHD_Response *mhd_response)
{
    if (!mhd_response)
        return MHD_NO;
    sv_response_add_headers(mhd_response, x->request, x->close_after_response);
    x->responded = true;
    sv_body_release_quota(x);
    enum MHD_Result queued =
        MHD_queue_response(x->connection, (unsigned)x->request->response.status, mhd_response);
    MHD_destroy_response(mhd_response);
    return queued;
}

/* False: unread responses of other clients use up the memory. */
static bool count_response_bytes(struct sv_exchange *x)
{
    int64_t bytes = (int64_t)x->request->response.body.bytes;
    x->response_bytes = bytes;
    bool fits =
        atomic_fetch_add(&x->http->server->response_bytes, bytes) + bytes <= SV_RESPONSES_BYTES_MAX;
    return fits || bytes <= SV_RESPONSE_SMALL_BYTES;
}

/* Replaces a response that is too large, alone or together with the unread ones. */
static void fail_response(struct sv_exchange *x)
{
    struct sv_error error;
    if (x->request->response.body.is_full)
        (void)sv_fail(
            &error, SV_BAD_REQUEST, NULL,
            "The response would be larger than %d bytes; send fewer or smaller inputs per request.",
            SL_BUFFER_BYTES_MAX);
    else
        (void)sv_fail(
            &error, SV_OVERLOADED, NULL,
            "The memory for responses is full of responses that clients have not read; retry "
            "later.");
    uncount_response(x);
    sv_request_reset_response(x->request);
    (void)sv_request_fail(x->request, &error);
}

static enum MHD_Result response(struct sv_exchange *x)
{
    struct sl_buffer *body = &x->request->response.body;
    if (body->is_full || (!body->failed && !count_response_bytes(x)))
        fail_response(x);
    if (body->failed)
        return MHD_NO; /* out of memory: close rather than send half a response */
    int64_t by_length_ns = (int64_t)body->bytes / SV_RESPONSE_BYTES_PER_SECOND * 1000000000;
    sv_watcher_set_deadline(x->http->watcher, x->watched_connection, false,
                            (int64_t)SV_RESPONSE_SECONDS * 1000000000 + by_length_ns, by_length_ns);
    struct MHD_Response *mhd_response =
        MHD_create_response_from_buffer(body->bytes, body->data, MHD_RESPMEM_MUST_FREE);
    if (mhd_response)
        *body = (struct sl_buffer){0}; /* libmicrohttpd owns the memory now */
    return queue(x, mhd_response);
}

static ssize_t pull(void *context, uint64_t position, char *bytes, size_t max)
{
    struct sv_request *request = context;
    (void)position;
    for (;;) {
        if (atomic_load(&request->cancelled))
            return MHD_CONTENT_READER_END_WITH_ERROR;
        ssize_t taken = request->async->pull(request, bytes, max);
        if (taken > 0)
            return taken;
        if (taken == SV_PULL_END)
            return MHD_CONTENT_READER_END_OF_STREAM;
        if (taken == SV_PULL_ERROR)
            return MHD_CONTENT_READER_END_WITH_ERROR;
        if (sv_request_suspend(request))
            return 0; /* suspended: called again after the request is woken */
    }
}

static void release_request(void *context)
{
    sv_request_release(context);
}

static enum MHD_Result respond_stream(struct sv_exchange *x)
{
    enum { BLOCK = 1024 }; /* chunks go through the connection's own buffer */
    struct sv_request *request = sv_request_acquire(x->request);
    struct MHD_Response *mhd_response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, pull, request, release_request);
    if (!mhd_response)
        sv_request_release(request);
    return queue(x, mhd_response);
}

static enum MHD_Result fail_request(struct sv_exchange *x)
{
    (void)sv_request_fail(x->request, &x->error);
    return response(x);
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Whether the request is one that the receiver did not accept. Its error takes precedence, and
 * the connection is closed after it, because it is unknown where the next request begins. */
static bool is_unacceptable(struct sv_exchange *x)
{
    if (!sv_receiver_has_failed(context_of(x->connection)->receiver, x->index, &x->error))
        return false;
    x->responded_early = x->close_after_response = true;
    return true;
}

static const char *header(const struct sv_exchange *x, const char *name)
{
    return header_of(x->connection, name);
}

static void exchange_destroy(struct sv_exchange *x)
{
    atomic_fetch_sub(&x->http->server->requests_open, 1);
    sv_request_release(x->request);
    free(x);
}

static void read_head(struct sv_exchange *x, const char *method, const char *path)
{
    const struct sv_router *router = x->http->router;
    if (is_unacceptable(x)) {
        sv_request_head_reject(x->request, router, path);
        return;
    }
    (void)sv_request_headers_read(x->request, router, method, path, &x->error);
    sv_body_begin(x, header(x, MHD_HTTP_HEADER_CONTENT_TYPE),
                  header(x, MHD_HTTP_HEADER_CONTENT_ENCODING));
}

static struct sv_exchange *exchange_create(struct sv_http_listener *http,
                                           struct MHD_Connection *connection, const char *method,
                                           const char *path)
{
    struct connection *context = context_of(connection);
    struct sv_exchange *x = context ? calloc(1, sizeof *x) : NULL;
    struct sv_request *request = x ? sv_request_create(http->server, &transport, connection) : NULL;
    if (!request) {
        free(x);
        return NULL;
    }
    atomic_fetch_add(&http->server->requests_open, 1);
    request->listener = http->listener;
    sv_peer_read(socket_of(connection), &request->caller);
    x->http = http;
    x->request = request;
    x->connection = connection;
    x->socket = socket_of(connection);
    x->watched_connection = &context->watched;
    x->index = ++context->requests;
    x->method = method;
    x->watch_index = SV_NOT_WATCHED;
    sv_body_set_deadline(x);
    read_head(x, method, path);
    return x;
}

/* A request that waits is watched for its client's disconnection. */
static void watch(struct sv_exchange *x)
{
    if (x->watch_index == SV_NOT_WATCHED)
        x->watch_index = sv_watcher_add(x->http->watcher, x->socket, x->request);
}

static enum sv_progress begin(struct sv_exchange *x)
{
    x->dispatched = true;
    /* From here on the request has its own deadline. */
    sv_watcher_clear_deadline(x->http->watcher, x->watched_connection);
    atomic_fetch_add(&x->http->server->requests_in_flight, 1);
    atomic_fetch_add(&x->http->server->requests_started, 1);
    enum sv_progress next = x->request->route->handle(x->request);
    sl_buffer_release(&x->request->body); /* still counted: what was parsed from it is as large */
    if (next == SV_PENDING || next == SV_YIELDING)
        watch(x);
    return next;
}

static enum sv_progress proceed(struct sv_request *request)
{
    const struct sv_async *async = request->async;
    return async->proceed ? async->proceed(request) : SV_STREAMING;
}

/* Advances the request until it responds or has to wait. */
static enum MHD_Result advance(struct sv_exchange *x)
{
    struct sv_request *request = x->request;
    enum sv_progress next = x->dispatched ? proceed(request) : begin(x);
    while (next == SV_PENDING || next == SV_YIELDING) {
        if (atomic_load(&request->cancelled))
            return MHD_NO; /* the client is gone */
        if (sv_request_suspend(request)) {
            if (next == SV_YIELDING)
                sv_request_wake(request); /* behind those that are ready now */
            return MHD_YES;
        }
        next = proceed(request);
    }
    return next == SV_STREAMING ? respond_stream(x) : response(x);
}

/* Whether an error is sent without reading the body: the client expects 100-continue, or the body
 * is huge. */
static bool rejects_body(const struct sv_exchange *x)
{
    const char *length = header(x, MHD_HTTP_HEADER_CONTENT_LENGTH);
    return x->error.kind != SV_OK &&
           (x->close_after_response || header(x, MHD_HTTP_HEADER_EXPECT) ||
            (length && strtoll(length, NULL, 10) > SV_DISCARD_BYTES_MAX));
}

// NOLINTNEXTLINE(readability-function-size): the parameters are libmicrohttpd's choice
static enum MHD_Result on_request(void *context, struct MHD_Connection *connection,
                                  const char *path, const char *method, const char *version,
                                  const char *upload, size_t *upload_size, void **state)
{
    struct sv_exchange *x = *state;
    (void)version; /* the receiver has checked it */
    if (!x) {
        *state = x = exchange_create(context, connection, method, path);
        if (!x)
            return MHD_NO;
        x->responded_early = x->close_after_response = rejects_body(x);
        return x->responded_early ? fail_request(x) : MHD_YES;
    }
    if (*upload_size > 0) {
        bool taken = sv_body_receive(x, upload, *upload_size);
        *upload_size = 0;
        return taken ? MHD_YES : MHD_NO;
    }
    if (!x->dispatched && is_unacceptable(x)) /* its body is wrong */
        sv_body_discard(x);
    sv_body_end(x);
    return x->error.kind != SV_OK ? fail_request(x) : advance(x);
}

/* ---- endings --------------------------------------------------------------------------------- */

static void end_request(struct sv_exchange *x, bool complete)
{
    struct sv_request *request = x->request;
    if (request->route->scope == SV_SCOPE_INFER)
        sv_log_request(x, complete);
    if (!complete && request->async)
        sv_request_cancel(request);
    atomic_fetch_sub(&x->http->server->requests_in_flight, 1);
}

static void report_failure(const struct sv_exchange *x)
{
    const struct sv_router *router = x->http->router;
    if (x->request->action && x->responded && x->request->response.status >= 400 &&
        router->on_failure)
        router->on_failure(x->request);
}

static void on_completed(void *context, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode code)
{
    struct sv_exchange *x = *state;
    (void)context;
    if (!x)
        return;
    *state = NULL;
    /* Before libmicrohttpd closes the socket and the descriptor is reused. */
    sv_watcher_remove(x->http->watcher, x->watch_index);
    if (x->responded_early)
        sv_watcher_linger(x->http->watcher, socket_of(connection));
    sv_watcher_set_deadline(x->http->watcher, x->watched_connection, true,
                            (int64_t)SV_CONNECTION_IDLE_SECONDS * 1000000000, 0);
    /* Every other metric of a request is recorded before it leaves `requests_in_flight`. */
    sv_log_response(x);
    report_failure(x);
    if (x->dispatched)
        end_request(x, code == MHD_REQUEST_TERMINATED_COMPLETED_OK);
    sv_body_end(x);
    sv_body_discard(x);
    uncount_response(x);
    exchange_destroy(x);
}

/* NULL without memory: then its requests get no response. */
static struct connection *open_connection(struct sv_http_listener *http,
                                          struct MHD_Connection *connection)
{
    int fd = socket_of(connection);
    struct connection *context = calloc(1, sizeof *context);
    if (context)
        context->receiver = sv_receiver_open(fd, http->has_tls);
    if (!context || !context->receiver) {
        free(context);
        return NULL;
    }
    sv_watcher_open_connection(http->watcher, &context->watched, fd,
                               sv_receiver_is_mid_request(context->receiver));
    return context;
}

static void close_connection(struct sv_http_listener *http, struct connection *context)
{
    sv_watcher_close_connection(http->watcher, &context->watched);
    sv_receiver_close(context->receiver);
    free(context);
}

static void on_connection(void *context, struct MHD_Connection *connection, void **state,
                          enum MHD_ConnectionNotificationCode code)
{
    struct sv_http_listener *http = context;
    atomic_fetch_add(&http->server->connections, code == MHD_CONNECTION_NOTIFY_STARTED ? 1 : -1);
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        *state = open_connection(http, connection);
    else if (*state)
        close_connection(http, *state);
}

static void SL_PRINTF(2, 0) on_message(void *context, const char *format, va_list list)
{
    char text[256];
    (void)context;
    (void)vsnprintf(text, sizeof text, format, list);
    text[strcspn(text, "\n")] = '\0';
    SV_LOG(SV_LOG_DEBUG, "libmicrohttpd", sv_str("message", text));
}

/* Paths stay escaped: only the router knows where decoding is safe. */
static size_t keep_escapes(void *context, struct MHD_Connection *connection, char *text)
{
    (void)context;
    (void)connection;
    return strlen(text);
}

/* ---- start and stop -------------------------------------------------------------------------- */

struct sv_http_listener *sv_http_start(struct sv_server *server, const struct sv_router *router,
                                       struct sv_watcher *watcher,
                                       const struct sv_http_options *options, struct sl_err *err)
{
    struct sv_http_listener *http = calloc(1, sizeof *http);
    if (http) {
        http->listener = options->listener;
        http->has_tls = options->has_tls;
        http->body_memory_limit = options->body_memory_limit;
        http->server = server;
        http->router = router;
        http->watcher = watcher;
        http->daemon = MHD_start_daemon(
            MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
                (options->has_tls ? MHD_USE_TLS : 0u),
            0, NULL, NULL, on_request, http,              //
            MHD_OPTION_EXTERNAL_LOGGER, on_message, NULL, //
            /* From 1.0 on, folded lines would be joined; a proxy may read them in another way. */
            MHD_OPTION_STRICT_FOR_CLIENT, 1,                         //
            MHD_OPTION_LISTEN_SOCKET, options->socket,               //
            MHD_OPTION_THREAD_POOL_SIZE, (unsigned)options->threads, //
            MHD_OPTION_CONNECTION_LIMIT, (unsigned)options->connections_max,
            MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SV_CONNECTION_IDLE_SECONDS,
            MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)SV_CONNECTION_BYTES,
            MHD_OPTION_NOTIFY_COMPLETED, on_completed, http,   //
            MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, //
            MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,  //
            options->has_tls ? MHD_OPTION_HTTPS_CERT_CALLBACK2 : MHD_OPTION_END, sv_tls_retrieve,
            MHD_OPTION_END);
    }
    if (!http || !http->daemon) {
        (void)sl_fail(err, SL_IO,
                      "cannot start HTTP: libmicrohttpd failed; see the log at level debug");
        (void)close(options->socket);
        free(http);
        return NULL;
    }
    return http;
}

void sv_http_stop_accepting(struct sv_http_listener *http)
{
    if (!http->has_left) /* its thread takes the socket out of its epoll later: it stays open */
        http->left_socket = MHD_quiesce_daemon(http->daemon);
    http->has_left = true;
}

void sv_http_stop(struct sv_http_listener *http)
{
    if (!http)
        return;
    MHD_stop_daemon(http->daemon);
    if (http->has_left && http->left_socket >= 0)
        (void)close(http->left_socket);
    free(http);
}
