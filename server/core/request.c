/* request.c - one request's life, from its first byte to the last byte of its answer. */
#include "core/request.h"
#include "base/clock.h"
#include "core/options.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* The finaliser of splitmix64 (Steele, Lea, Flood 2014): one to one, so no number comes twice. */
uint64_t sv_next_id(struct sv_server *server)
{
    uint64_t z =
        server->salt + (atomic_fetch_add(&server->ids_issued, 1) + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

struct sv_request *sv_request_create(struct sv_server *server, const struct sv_transport *transport,
                                     void *connection)
{
    struct sv_request *request = calloc(1, sizeof *request);
    if (!request)
        return NULL;
    request->server = server;
    request->transport = transport;
    request->connection = connection;
    request->received_ns = sl_now_ns();
    atomic_init(&request->references, 1);
    pthread_mutex_init(&request->lock, NULL);
    return request;
}

struct sv_request *sv_request_acquire(struct sv_request *request)
{
    int before = atomic_fetch_add_explicit(&request->references, 1, memory_order_relaxed);
    assert(before > 0);
    (void)before;
    return request;
}

void sv_request_release(struct sv_request *request)
{
    int before = atomic_fetch_sub_explicit(&request->references, 1, memory_order_acq_rel);
    assert(before > 0);
    if (before > 1)
        return;
    if (request->async)
        request->async->destroy(request->state);
    sl_buffer_release(&request->body);
    sl_buffer_release(&request->response.body);
    for (int i = 0; i < request->response.long_count; i++)
        sl_buffer_release(&request->response.long_headers[i].value);
    pthread_mutex_destroy(&request->lock);
    free(request);
}

bool sv_request_suspend(struct sv_request *request)
{
    pthread_mutex_lock(&request->lock);
    assert(!request->suspended);
    bool sleeps = !request->wake_pending;
    request->wake_pending = false;
    if (sleeps) {
        request->suspended = true;
        request->transport->suspend(request->connection);
    }
    pthread_mutex_unlock(&request->lock);
    return sleeps;
}

void sv_request_wake(struct sv_request *request)
{
    pthread_mutex_lock(&request->lock);
    /* While it is suspended the connection exists: only this function resumes it. */
    if (request->suspended)
        request->transport->resume(request->connection);
    else
        request->wake_pending = true;
    request->suspended = false;
    pthread_mutex_unlock(&request->lock);
}

void sv_request_cancel(struct sv_request *request)
{
    atomic_store(&request->cancelled, true);
    if (request->async && request->async->cancel)
        request->async->cancel(request);
    sv_request_wake(request);
}

void sv_request_add_header(struct sv_request *request, const char *name, const char *format, ...)
{
    assert(request->response.header_count < SV_HEADERS_MAX);
    struct sv_header *header = &request->response.headers[request->response.header_count++];
    header->name = name;
    va_list list;
    va_start(list, format);
    (void)vsnprintf(header->value, sizeof header->value, format, list);
    va_end(list);
}

struct sl_buffer *sv_request_add_long_header(struct sv_request *request, const char *name)
{
    assert(request->response.long_count < SV_LONG_HEADERS_MAX);
    struct sv_long_header *header = &request->response.long_headers[request->response.long_count++];
    header->name = name;
    return &header->value;
}

enum sv_progress sv_request_respond(struct sv_request *request, int status,
                                    const char *content_type)
{
    assert(status >= 200);
    request->response.status = status;
    request->response.content_type = content_type;
    return SV_DONE;
}

void sv_request_reset_response(struct sv_request *request)
{
    struct sv_response *response = &request->response;
    sl_buffer_release(&response->body);
    for (int i = 0; i < response->long_count; i++)
        sl_buffer_release(&response->long_headers[i].value);
    response->header_count = response->long_count = 0;
}

enum sv_progress sv_request_fail(struct sv_request *request, const struct sv_error *error)
{
    request->outcome = error->kind;
    sl_buffer_clear(&request->response.body);
    const char *type = sv_error_write(error, request->api, &request->response.body);
    sv_request_add_header(request, "x-sluice-error", "%s", sv_error_code(error->kind));
    if (error->retry_ms > 0) {
        sv_request_add_header(request, "Retry-After", "%d", (error->retry_ms + 999) / 1000);
        sv_request_add_header(request, "retry-after-ms", "%d", error->retry_ms);
    }
    if (error->permanent)
        sv_request_add_header(request, "x-should-retry", "false");
    return sv_request_respond(request, sv_error_status(error->kind, request->api), type);
}

void sv_request_write_response(const struct sv_request *request, struct sl_buffer *out)
{
    const struct sv_response *response = &request->response;
    sl_buffer_printf(out,
                     "HTTP/1.1 %d Refused\r\nContent-Type: %s\r\nx-request-id: %s\r\n"
                     "Connection: close\r\nContent-Length: %zu\r\n",
                     response->status, response->content_type, request->request_id,
                     response->body.bytes);
    for (int i = 0; i < response->header_count; i++)
        sl_buffer_printf(out, "%s: %s\r\n", response->headers[i].name, response->headers[i].value);
    sl_buffer_append_string(out, "\r\n");
    sl_buffer_append(out, response->body.data, response->body.bytes);
    out->failed = out->failed || response->body.failed;
}

bool sv_request_is_accepted(const struct sv_request *request, struct sv_error *error)
{
    return atomic_load(&request->server->phase) != SV_PHASE_DRAINING || sv_fail_draining(error);
}

bool sv_request_check_batch_size(const struct sv_request *request, const char *param, int texts,
                                 struct sv_error *error)
{
    int64_t max = request->server->options->max_client_batch_size;
    return texts <= max || sv_fail(error, SV_INVALID_VALUE, param,
                                   "'%s' holds %d texts; at most %lld are accepted in one request.",
                                   param, texts, (long long)max);
}

int64_t sv_request_deadline_ns(const struct sv_request *request)
{
    int64_t max = request->server->options->request_timeout * 1000;
    int64_t requested =
        request->timeout_ms > 0 && request->timeout_ms < max ? request->timeout_ms : max;
    return request->received_ns + requested * 1000000;
}

bool sv_request_must_stop(const struct sv_request *request, int64_t deadline_ns,
                          const struct sv_error *ending, int64_t now, struct sv_error *error)
{
    if (error->kind != SV_OK)
        return true;
    if (atomic_load(&request->cancelled))
        return !sv_fail(error, SV_CLIENT_DISCONNECTED, NULL, "The client left.");
    if (ending) {
        *error = *ending;
        return true;
    }
    if (now <= deadline_ns)
        return false;
    (void)sv_fail(error, SV_DEADLINE_EXCEEDED, NULL,
                  "The request did not finish before its deadline.");
    error->permanent = request->timeout_ms > 0; /* it was the client's own deadline */
    return true;
}
