/* stream.c - server-sent events: the bounded buffer between the scheduler and a slow client. */
#include "serve/stream.h"
#include "base/utf8.h"
#include "core/limits.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The buffered text of one choice. */
struct executor {
    char *text; /* SV_STREAM_TEXT_BYTES */
    size_t bytes;
    struct sl_token_logprob *records; /* SV_STREAM_TOKENS, or NULL */
    int record_count;
    size_t bytes_put; /* so far, of the whole text */
    int records_put;
    size_t bytes_sent, characters_sent;
    enum sl_finish finish; /* SL_RUNNING until it is complete */
    bool full;             /* something did not fit */
    bool closed;           /* its finish_reason was sent */
};

struct sv_stream {
    struct sv_stream_options options;
    pthread_mutex_t lock;   /* guards everything below */
    struct sl_buffer head;  /* "data: {...,"choices":[", before every piece */
    struct sl_buffer frame; /* events being sent; the first `sent` bytes are gone */
    size_t sent;
    struct executor *executors;
    char *texts;
    struct sl_token_logprob *records;
    struct sv_usage usage;
    struct sv_error error;
    int closed; /* choices whose finish_reason was sent */
    bool started, ping, done;
};

static bool allocate(struct sv_stream *stream)
{
    size_t choices = (size_t)stream->options.choices;
    stream->executors = calloc(choices, sizeof *stream->executors);
    stream->texts = malloc(choices * SV_STREAM_TEXT_BYTES);
    if (stream->options.tokens)
        stream->records = malloc(choices * SV_STREAM_TOKENS * sizeof *stream->records);
    if (!stream->executors || !stream->texts || (stream->options.tokens && !stream->records))
        return false;
    for (size_t i = 0; i < choices; i++) {
        stream->executors[i].text = stream->texts + i * SV_STREAM_TEXT_BYTES;
        if (stream->records)
            stream->executors[i].records = stream->records + i * SV_STREAM_TOKENS;
    }
    return true;
}

struct sv_stream *sv_stream_create(const struct sv_stream_options *options, struct sl_err *err)
{
    assert(options->choices > 0);
    struct sv_stream *stream = calloc(1, sizeof *stream);
    if (!stream) {
        (void)sl_fail(err, SL_NO_MEMORY, "stream");
        return NULL;
    }
    stream->options = *options;
    pthread_mutex_init(&stream->lock, NULL);
    sl_buffer_append_string(&stream->head, "data: ");
    sv_completion_json_begin(&stream->head, &options->head);
    if (!allocate(stream) || stream->head.failed) {
        (void)sl_fail(err, SL_NO_MEMORY, "stream of %d choices", options->choices);
        sv_stream_destroy(stream);
        return NULL;
    }
    stream->options.head = (struct sv_completion_head){0}; /* its strings belong to the caller */
    return stream;
}

void sv_stream_destroy(struct sv_stream *stream)
{
    if (!stream)
        return;
    sl_buffer_release(&stream->head);
    sl_buffer_release(&stream->frame);
    free(stream->executors);
    free(stream->texts);
    free(stream->records);
    pthread_mutex_destroy(&stream->lock);
    free(stream);
}

/* How many records belong to the next *bytes of text. Reduces *bytes if not all records fit. */
static int fitting_records(const struct executor *executor, const struct sl_token_logprob *records,
                           int count, bool all_text, size_t *bytes)
{
    if (!executor->records)
        return 0;
    size_t end = executor->bytes_put + *bytes;
    int room = SV_STREAM_TOKENS - executor->record_count, fit = 0;
    while (fit < count && fit < room && (all_text || records[fit].text_offset < end))
        fit++;
    /* The next record begins inside: its text waits with it. */
    if (fit < count && records[fit].text_offset < end)
        *bytes = records[fit].text_offset > executor->bytes_put
                     ? records[fit].text_offset - executor->bytes_put
                     : 0;
    return fit;
}

static bool lane_put(struct executor *executor, const char *text, size_t bytes,
                     const struct sl_token_logprob *records, int record_count)
{
    size_t remaining = bytes - executor->bytes_put;
    size_t take =
        sl_utf8_fit(text + executor->bytes_put, remaining, SV_STREAM_TEXT_BYTES - executor->bytes);
    int fresh = record_count - executor->records_put;
    const struct sl_token_logprob *first = records + executor->records_put;
    int fit = fresh > 0 ? fitting_records(executor, first, fresh, take == remaining, &take) : 0;
    memcpy(executor->text + executor->bytes, text + executor->bytes_put, take);
    if (fit > 0)
        memcpy(executor->records + executor->record_count, first, (size_t)fit * sizeof *first);
    executor->bytes += take;
    executor->bytes_put += take;
    executor->record_count += fit;
    executor->records_put += fit;
    return executor->bytes_put == bytes &&
           (!executor->records || executor->records_put == record_count);
}

bool sv_stream_put(struct sv_stream *stream, int choice, const char *text, size_t bytes,
                   const struct sl_token_logprob *records, int record_count)
{
    assert(choice >= 0 && choice < stream->options.choices);
    pthread_mutex_lock(&stream->lock);
    struct executor *executor = &stream->executors[choice];
    assert(bytes >= executor->bytes_put);
    assert(executor->finish == SL_RUNNING);
    bool whole = lane_put(executor, text, bytes, records, record_count);
    executor->full = !whole;
    stream->started = stream->started || executor->bytes_put > 0;
    pthread_mutex_unlock(&stream->lock);
    return whole;
}

void sv_stream_finish(struct sv_stream *stream, int choice, enum sl_finish finish)
{
    assert(finish == SL_FINISH_STOP || finish == SL_FINISH_LENGTH);
    pthread_mutex_lock(&stream->lock);
    assert(stream->executors[choice].finish == SL_RUNNING);
    stream->executors[choice].finish = finish;
    stream->started = true;
    pthread_mutex_unlock(&stream->lock);
}

void sv_stream_usage(struct sv_stream *stream, const struct sv_usage *usage)
{
    pthread_mutex_lock(&stream->lock);
    stream->usage = *usage;
    pthread_mutex_unlock(&stream->lock);
}

void sv_stream_fail(struct sv_stream *stream, const struct sv_error *error)
{
    pthread_mutex_lock(&stream->lock);
    if (stream->error.kind == SV_OK)
        stream->error = *error;
    pthread_mutex_unlock(&stream->lock);
}

void sv_stream_ping(struct sv_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    stream->ping = true;
    stream->started = true;
    pthread_mutex_unlock(&stream->lock);
}

bool sv_stream_has_begun(struct sv_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    bool started = stream->started;
    pthread_mutex_unlock(&stream->lock);
    return started;
}

bool sv_stream_is_delivered(struct sv_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    bool delivered = stream->done && stream->sent == stream->frame.bytes;
    pthread_mutex_unlock(&stream->lock);
    return delivered;
}

/* ---- writing events, with the lock held ------------------------------------------------------ */

/* The end of an event. If usage has an event of its own, the others have "usage":null. */
static void end_event(struct sv_stream *stream, bool last)
{
    struct sl_buffer *frame = &stream->frame;
    sl_buffer_append_string(frame, "]");
    if (last) {
        sl_buffer_append_string(frame, ",\"usage\":");
        sv_completion_json_usage(frame, &stream->usage);
    } else if (stream->options.include_usage)
        sl_buffer_append_string(frame, ",\"usage\":null");
    sl_buffer_append_string(frame, "}\n\n");
}

static void write_piece(struct sv_stream *stream, int choice, struct executor *executor)
{
    const struct sv_completion_choice piece = {
        .choice = choice,
        .text = executor->text,
        .bytes = executor->bytes,
        .bytes_before = executor->bytes_sent,
        .characters_before = executor->characters_sent,
        .tokens = stream->options.tokens,
        .records = executor->records,
        .record_count = executor->record_count,
        .finish = executor->finish,
    };
    sl_buffer_append(&stream->frame, stream->head.data, stream->head.bytes);
    sv_completion_json_choice(&stream->frame, &piece);
    stream->closed += executor->finish != SL_RUNNING;
    executor->closed = executor->finish != SL_RUNNING;
    end_event(stream, !stream->options.include_usage && stream->closed == stream->options.choices);
    executor->bytes_sent += executor->bytes;
    executor->characters_sent += sl_utf8_count(executor->text, executor->bytes);
    executor->bytes = 0;
    executor->record_count = 0;
}

static void write_end(struct sv_stream *stream)
{
    struct sl_buffer *frame = &stream->frame;
    bool complete = stream->closed == stream->options.choices;
    if (!complete) {
        sl_buffer_append_string(frame, "data: ");
        (void)sv_error_write(&stream->error, SV_API_OPENAI, frame);
        sl_buffer_append_string(frame, "\n\n");
    } else if (stream->options.include_usage) {
        sl_buffer_append(frame, stream->head.data, stream->head.bytes);
        end_event(stream, true);
    }
    sl_buffer_append_string(frame, "data: [DONE]\n\n");
    stream->done = true;
}

/* Turns everything buffered into events. True: a full buffer has space again. */
static bool write_events(struct sv_stream *stream)
{
    bool made_room = false;
    for (int i = 0; i < stream->options.choices; i++) {
        struct executor *executor = &stream->executors[i];
        bool is_idle =
            executor->bytes > 0 || executor->record_count > 0 || executor->finish != SL_RUNNING;
        if (executor->closed || !is_idle)
            continue;
        write_piece(stream, i, executor);
        made_room = made_room || executor->full;
        executor->full = false;
    }
    if (stream->closed == stream->options.choices || stream->error.kind != SV_OK)
        write_end(stream);
    else if (stream->ping && stream->frame.bytes == 0)
        sl_buffer_append_string(&stream->frame, ": ping\n\n");
    stream->ping = false;
    return made_room;
}

static ssize_t take_frame(struct sv_stream *stream, char *bytes, size_t max)
{
    size_t remaining = stream->frame.bytes - stream->sent;
    size_t take = remaining < max ? remaining : max;
    if (take > 0)
        memcpy(bytes, stream->frame.data + stream->sent, take);
    stream->sent += take;
    return take == 0 && stream->done ? SV_PULL_END : (ssize_t)take;
}

ssize_t sv_stream_pull(struct sv_stream *stream, char *bytes, size_t max)
{
    assert(max > 0);
    bool made_room = false;
    pthread_mutex_lock(&stream->lock);
    if (stream->sent == stream->frame.bytes && !stream->done) {
        sl_buffer_clear(&stream->frame);
        stream->sent = 0;
        made_room = write_events(stream);
    }
    /* An event truncated by lack of memory must not look complete. */
    ssize_t taken = stream->frame.failed ? SV_PULL_ERROR : take_frame(stream, bytes, max);
    pthread_mutex_unlock(&stream->lock);
    if (made_room)
        stream->options.on_space(stream->options.context);
    return taken;
}
