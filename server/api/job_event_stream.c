/* job_event_stream.c - the events of a job as server-sent events. */
#include "api/job_event_stream.h"
#include "base/clock.h"
#include "core/options.h"
#include "jobs/jobs.h"
#include "state/state_directory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ID_MAX = 64, EVENTS_PER_PULL = 32 };

struct event_stream {
    char job[ID_MAX], last[ID_MAX]; /* the event that was written last; "": none */
    struct sl_buffer text;          /* events not sent yet, */
    size_t sent;                    /* up to here */
    bool done;                      /* all was written */
    atomic_uint_fast64_t revision;  /* when the index was read last */
    atomic_int_least64_t sent_ns;
    atomic_bool ping;
};

bool sv_job_events_are_streamed(const struct sv_request *request)
{
    const char *stream = request->transport->query(request->connection, "stream");
    const char *accept = request->transport->header(request->connection, "Accept");
    return (stream && strcmp(stream, "true") == 0) ||
           (accept && strstr(accept, "text/event-stream"));
}

static void add_event(void *context, const char *id, const char *document)
{
    struct event_stream *stream = context;
    sl_buffer_printf(&stream->text, "id: %s\ndata: %s\n\n", id, document);
    (void)snprintf(stream->last, sizeof stream->last, "%s", id);
}

/* Reads further events from the index. */
static bool refill(struct sv_request *request, struct event_stream *stream)
{
    struct sl_err err;
    struct sv_page page = {.parent = stream->job,
                           .after = stream->last,
                           .limit = EVENTS_PER_PULL,
                           .oldest_first = true,
                           .each = add_event,
                           .context = stream};
    /* Read before the list, so that a change after it is not missed. */
    uint64_t revision = sv_jobs_revision(request->server->jobs);
    bool ended = sv_job_has_ended(request->server->jobs, stream->job);
    sl_buffer_clear(&stream->text);
    stream->sent = 0;
    if (!sv_state_list(request->server->state, SV_EVENTS, &page, &err))
        return false;
    atomic_store(&stream->revision, page.has_more ? 0 : revision);
    if (ended && !page.has_more) {
        sl_buffer_append_string(&stream->text, "data: [DONE]\n\n");
        stream->done = true;
    } else if (atomic_load(&request->server->phase) == SV_PHASE_DRAINING)
        stream->done = true; /* without [DONE]: there is more to come after a restart */
    if (stream->text.bytes == 0 && atomic_exchange(&stream->ping, false))
        sl_buffer_append_string(&stream->text, ": ping\n\n");
    return !stream->text.failed;
}

static ssize_t event_pull(struct sv_request *request, char *bytes, size_t max)
{
    struct event_stream *stream = request->state;
    if (stream->sent == stream->text.bytes) {
        if (stream->done)
            return SV_PULL_END;
        if (!refill(request, stream))
            return SV_PULL_ERROR;
    }
    size_t count = stream->text.bytes - stream->sent;
    count = count < max ? count : max;
    if (count == 0)
        return stream->done ? SV_PULL_END : SV_PULL_NOTHING;
    memcpy(bytes, stream->text.data + stream->sent, count);
    stream->sent += count;
    atomic_store(&stream->sent_ns, sl_now_ns());
    return (ssize_t)count;
}

static bool event_tick(struct sv_request *request, int64_t now_ns)
{
    struct event_stream *stream = request->state;
    int64_t silence = request->server->options->sse_ping_seconds * 1000000000;
    if (now_ns - atomic_load(&stream->sent_ns) >= silence)
        atomic_store(&stream->ping, true);
    return atomic_load(&stream->ping) ||
           sv_jobs_revision(request->server->jobs) != atomic_load(&stream->revision) ||
           atomic_load(&request->server->phase) == SV_PHASE_DRAINING;
}

static void event_destroy(void *state)
{
    struct event_stream *stream = state;
    sl_buffer_release(&stream->text);
    free(stream);
}

static const struct sv_async event_async = {.pull = event_pull,
                                            .tick = event_tick,
                                            .destroy = event_destroy};

static void skip(void *context, const char *id, const char *document)
{
    (void)context;
    (void)id;
    (void)document;
}

/* An id that is not one of the job's events would end the stream at once. */
static bool read_after(const struct sv_request *request, struct event_stream *stream,
                       struct sv_error *error)
{
    struct sl_err err;
    const char *after = request->transport->query(request->connection, "after");
    if (!after)
        after = request->transport->header(request->connection, "Last-Event-ID");
    if (!after || !after[0])
        return true;
    (void)snprintf(stream->last, sizeof stream->last, "%s", after);
    struct sv_page page = {.parent = stream->job, .after = stream->last, .limit = 1, .each = skip};
    return sv_state_list(request->server->state, SV_EVENTS, &page, &err) ||
           sv_fail(error, SV_INVALID_VALUE, "after",
                   "'after' is not the id of an event of this job: \"%.64s\".", after);
}

enum sv_progress sv_job_event_stream(struct sv_request *request)
{
    struct sv_error error = {0};
    struct event_stream *stream = sv_new(sizeof *stream, &error);
    if (!stream)
        return sv_request_fail(request, &error);
    (void)snprintf(stream->job, sizeof stream->job, "%.63s", request->path_params[0]);
    atomic_init(&stream->sent_ns, sl_now_ns());
    request->async = &event_async;
    request->state = stream;
    if (!read_after(request, stream, &error))
        return sv_request_fail(request, &error);
    sv_request_add_header(request, "Cache-Control", "no-cache");
    sv_request_add_header(request, "X-Accel-Buffering", "no");
    (void)sv_request_respond(request, 200, "text/event-stream");
    return SV_YIELDING; /* not SV_STREAMING: the watcher looks after requests that have waited */
}
