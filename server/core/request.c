/* request.c - one request's life, from its first byte to the last byte of its answer. */
#include "core/request.h"
#include "core/options.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int64_t sv_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The finaliser of splitmix64 (Steele, Lea, Flood 2014): one to one, so no number comes twice. */
uint64_t sv_draw(struct sv_server *server)
{
    uint64_t z = server->salt + (atomic_fetch_add(&server->drawn, 1) + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

struct sv_call *sv_call_create(struct sv_server *server, const struct sv_line *line,
                               void *connection)
{
    struct sv_call *call = calloc(1, sizeof *call);
    if (!call)
        return NULL;
    call->server = server;
    call->line = line;
    call->connection = connection;
    call->received_ns = sv_now_ns();
    atomic_init(&call->references, 1);
    pthread_mutex_init(&call->lock, NULL);
    return call;
}

struct sv_call *sv_call_acquire(struct sv_call *call)
{
    int before = atomic_fetch_add_explicit(&call->references, 1, memory_order_relaxed);
    assert(before > 0);
    (void)before;
    return call;
}

void sv_call_release(struct sv_call *call)
{
    int before = atomic_fetch_sub_explicit(&call->references, 1, memory_order_acq_rel);
    assert(before > 0);
    if (before > 1)
        return;
    if (call->work)
        call->work->destroy(call->state);
    sv_text_release(&call->body);
    sv_text_release(&call->reply.body);
    for (int i = 0; i < call->reply.long_count; i++)
        sv_text_release(&call->reply.long_headers[i].value);
    pthread_mutex_destroy(&call->lock);
    free(call);
}

bool sv_call_sleep(struct sv_call *call)
{
    pthread_mutex_lock(&call->lock);
    assert(!call->asleep);
    bool sleeps = !call->news;
    call->news = false;
    if (sleeps) {
        call->asleep = true;
        call->line->suspend(call->connection);
    }
    pthread_mutex_unlock(&call->lock);
    return sleeps;
}

void sv_call_wake(struct sv_call *call)
{
    pthread_mutex_lock(&call->lock);
    /* A connection is alive for as long as it is asleep: nobody but us can end that. */
    if (call->asleep)
        call->line->resume(call->connection);
    else
        call->news = true;
    call->asleep = false;
    pthread_mutex_unlock(&call->lock);
}

void sv_call_cancel(struct sv_call *call)
{
    atomic_store(&call->cancelled, true);
    if (call->work)
        call->work->cancel(call);
    sv_call_wake(call);
}

void sv_call_header(struct sv_call *call, const char *name, const char *format, ...)
{
    assert(call->reply.header_count < SV_HEADERS_MAX);
    struct sv_header *header = &call->reply.headers[call->reply.header_count++];
    header->name = name;
    va_list list;
    va_start(list, format);
    (void)vsnprintf(header->value, sizeof header->value, format, list);
    va_end(list);
}

struct sv_text *sv_call_long_header(struct sv_call *call, const char *name)
{
    assert(call->reply.long_count < SV_LONG_HEADERS_MAX);
    struct sv_long_header *header = &call->reply.long_headers[call->reply.long_count++];
    header->name = name;
    return &header->value;
}

enum sv_next sv_call_answer(struct sv_call *call, int status, const char *content_type)
{
    assert(status >= 200);
    call->reply.status = status;
    call->reply.content_type = content_type;
    return SV_ANSWERED;
}

void sv_call_forget(struct sv_call *call)
{
    struct sv_reply *reply = &call->reply;
    sv_text_release(&reply->body);
    for (int i = 0; i < reply->long_count; i++)
        sv_text_release(&reply->long_headers[i].value);
    reply->header_count = reply->long_count = 0;
}

enum sv_next sv_call_refuse(struct sv_call *call, const struct sv_problem *problem)
{
    call->outcome = problem->kind;
    sv_text_clear(&call->reply.body);
    const char *type = sv_problem_write(problem, call->family, &call->reply.body);
    sv_call_header(call, "x-sluice-error", "%s", sv_problem_code(problem->kind));
    if (problem->retry_ms > 0) {
        sv_call_header(call, "Retry-After", "%d", (problem->retry_ms + 999) / 1000);
        sv_call_header(call, "retry-after-ms", "%d", problem->retry_ms);
    }
    if (problem->recurs) /* clients of OpenAI try after any 5xx */
        sv_call_header(call, "x-should-retry", "false");
    return sv_call_answer(call, sv_problem_status(problem->kind, call->family), type);
}

void sv_call_write(const struct sv_call *call, struct sv_text *out)
{
    const struct sv_reply *reply = &call->reply;
    sv_text_print(out,
                  "HTTP/1.1 %d Refused\r\nContent-Type: %s\r\nx-request-id: %s\r\n"
                  "Connection: close\r\nContent-Length: %zu\r\n",
                  reply->status, reply->content_type, call->request_id, reply->body.bytes);
    for (int i = 0; i < reply->header_count; i++)
        sv_text_print(out, "%s: %s\r\n", reply->headers[i].name, reply->headers[i].value);
    sv_text_adds(out, "\r\n");
    sv_text_add(out, reply->body.data, reply->body.bytes);
    out->failed = out->failed || reply->body.failed;
}

bool sv_call_is_welcome(const struct sv_call *call, struct sv_problem *problem)
{
    if (atomic_load(&call->server->phase) != SV_PHASE_DRAINING)
        return true;
    (void)sv_refuse(problem, SV_DRAINING, NULL, "The server is shutting down.");
    problem->retry_ms = 1000;
    return false;
}

bool sv_call_takes(const struct sv_call *call, const char *param, int texts,
                   struct sv_problem *problem)
{
    int64_t most = call->server->options->classify_texts;
    return texts <= most ||
           sv_refuse(problem, SV_BAD_VALUE, param,
                     "'%s' holds %d texts, this server takes at most %lld in one request.", param,
                     texts, (long long)most);
}

int64_t sv_call_deadline_ns(const struct sv_call *call)
{
    int64_t most = call->server->options->request_seconds_max * 1000;
    int64_t wanted = call->timeout_ms > 0 && call->timeout_ms < most ? call->timeout_ms : most;
    return call->received_ns + wanted * 1000000;
}

bool sv_call_must_end(const struct sv_call *call, int64_t deadline_ns,
                      const struct sv_problem *ending, int64_t now, struct sv_problem *problem)
{
    if (problem->kind != SV_FINE)
        return true;
    if (atomic_load(&call->cancelled))
        return !sv_refuse(problem, SV_CLIENT_LEFT, NULL, "The client left.");
    if (ending) {
        *problem = *ending;
        return true;
    }
    if (now <= deadline_ns)
        return false;
    (void)sv_refuse(problem, SV_EXPIRED, NULL,
                    "The answer was not finished in the time allowed for it.");
    problem->recurs = call->timeout_ms > 0; /* the client's own deadline: it waits no longer */
    return true;
}
