/* request_body.c - the body of a request: counted, bounded, waited for. */
#include "http/request_body.h"
#include "base/clock.h"
#include "core/options.h"
#include "http/body_decoder.h"
#include "http/connection_watcher.h"

#include <sys/socket.h>

void sv_body_release_quota(struct sv_exchange *x)
{
    atomic_fetch_sub(&x->http->server->body_bytes, x->body_bytes);
    x->body_bytes = 0;
}

void sv_body_set_deadline(struct sv_exchange *x)
{
    const struct sv_options *o = x->http->server->options;
    int64_t rest = x->request->received_ns + o->request_timeout * 1000000000 - sl_now_ns();
    int64_t step = (int64_t)SV_BODY_CHUNK_SECONDS * 1000000000;
    sv_watcher_set_deadline(x->http->watcher, x->watched_connection, true,
                            rest < step ? rest : step, 0);
}

void sv_body_discard(struct sv_exchange *x)
{
    sv_body_release_quota(x);
    sl_buffer_release(&x->request->body);
}

/* libmicrohttpd can respond before or after a body but not in the middle, so this response is sent
 * directly and the connection closed. It fits into the socket's buffer: nothing else was sent for
 * this request. */
static void reject_during_body(struct sv_exchange *x)
{
    struct sl_buffer text = {0};
    (void)sv_request_fail(x->request, &x->error);
    sv_request_write_response(x->request, &text);
    if (!text.failed &&
        !x->http->has_tls) /* TLS is libmicrohttpd's: then the connection just ends */
        x->responded = x->responded_early =
            send(x->socket, text.data, text.bytes, MSG_NOSIGNAL | MSG_DONTWAIT) ==
            (ssize_t)text.bytes;
    sl_buffer_release(&text);
}

/* The body's sink, unless the request has failed. */
static const struct sv_body_sink *sink_of(const struct sv_exchange *x)
{
    return x->error.kind == SV_OK ? x->request->sink : NULL;
}

void sv_body_begin(struct sv_exchange *x, const char *content_type, const char *content_encoding)
{
    const struct sv_body_sink *sink = sink_of(x);
    if (sink)
        (void)sink->begin(x->request, content_type, &x->error);
    if (x->error.kind == SV_OK && sv_body_is_gzip(content_encoding))
        x->decoder = sv_body_decoder_create(&x->error);
}

/* Whether the body still fits; else x->error says why not. */
static void check_room(struct sv_exchange *x, size_t count)
{
    struct sv_server *server = x->http->server;
    const struct sl_buffer *body = &x->request->body;
    if (x->error.kind == SV_OK && body->bytes + count > (size_t)server->options->max_body_bytes)
        (void)sv_fail(&x->error, SV_BODY_TOO_LARGE, NULL,
                      "The body is larger than %lld bytes, the maximum.",
                      (long long)server->options->max_body_bytes);
    else if (x->error.kind == SV_OK &&
             atomic_load(&server->body_bytes) + (int64_t)count > x->http->body_memory_limit)
        (void)sv_fail(&x->error, SV_OVERLOADED, NULL,
                      "The memory for request bodies is full; retry later.");
}

/* Takes bytes of the body as the handler will see them. False: x->error says why not. */
static bool take(void *context, const char *bytes, size_t count)
{
    struct sv_exchange *x = context;
    const struct sv_body_sink *sink = sink_of(x);
    if (sink)
        return sink->receive(x->request, bytes, count, &x->error);
    check_room(x, count);
    if (x->error.kind != SV_OK)
        return false;
    sl_buffer_append(&x->request->body, bytes, count);
    if (x->request->body.failed)
        return sv_fail_no_memory(&x->error);
    x->body_bytes += (int64_t)count;
    atomic_fetch_add(&x->http->server->body_bytes, (int64_t)count);
    return true;
}

/* Whether a part of a body was taken. */
static bool take_part(struct sv_exchange *x, const char *bytes, size_t count)
{
    if (x->error.kind != SV_OK)
        return false;
    return x->decoder ? sv_body_decode(x->decoder, bytes, count, take, x, &x->error)
                      : take(x, bytes, count);
}

bool sv_body_receive(struct sv_exchange *x, const char *bytes, size_t count)
{
    size_t step = x->received / SV_BODY_CHUNK_BYTES;
    x->received += count;
    if (x->received / SV_BODY_CHUNK_BYTES > step)
        sv_body_set_deadline(x);
    if (take_part(x, bytes, count))
        return true;
    sv_body_discard(x);
    x->discarded += count;
    if (x->discarded > SV_DISCARD_BYTES_MAX)
        reject_during_body(x);
    return x->discarded <= SV_DISCARD_BYTES_MAX;
}

void sv_body_end(struct sv_exchange *x)
{
    if (x->decoder && x->received > 0 && x->error.kind == SV_OK &&
        !sv_body_decoder_end(x->decoder, &x->error))
        sv_body_discard(x);
    sv_body_decoder_destroy(x->decoder);
    x->decoder = NULL;
}
