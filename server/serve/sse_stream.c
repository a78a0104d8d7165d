/* sse_stream.c - server-sent events: the bounded buffer between the scheduler and a slow client. */
#include "serve/sse_stream.h"
#include "base/allocate.h"
#include "base/utf8.h"
#include "core/limits.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The buffered text of one choice. */
struct choice {
    char *text; /* SV_STREAM_TEXT_BYTES */
    size_t bytes;
    struct sl_token_logprob *records; /* SV_STREAM_TOKENS, or NULL */
    int record_count;
    size_t bytes_put; /* so far, of the whole text */
    int records_put;
    size_t bytes_sent, characters_sent;
    enum sl_finish finish; /* SL_RUNNING until it is complete */
    bool full;             /* something did not fit */
    bool opened, closed;   /* its first event was sent, and its finish_reason */
};

struct sv_sse_stream {
    struct sv_sse_stream_options options;
    pthread_mutex_t lock;             /* guards everything below */
    struct sl_buffer head;            /* "data: {...,"choices":[", before every piece */
    struct sl_json_writer after_head; /* where a writer is after that */
    struct sl_buffer frame;           /* events being sent; the first `sent` bytes are gone */
    size_t sent;
    struct choice *choices;
    char *texts;
    struct sl_token_logprob *records;
    struct sv_usage usage;
    struct sv_error error;
    int closed; /* choices whose finish_reason was sent */
    bool started, ping, done;
};

static bool allocate(struct sv_sse_stream *stream)
{
    size_t choices = (size_t)stream->options.choices;
    stream->choices = calloc(choices, sizeof *stream->choices);
    stream->texts = malloc(choices * SV_STREAM_TEXT_BYTES);
    if (sv_token_facts_any(stream->options.facts))
        stream->records = malloc(choices * SV_STREAM_TOKENS * sizeof *stream->records);
    if (!stream->choices || !stream->texts ||
        (sv_token_facts_any(stream->options.facts) && !stream->records))
        return false;
    for (size_t i = 0; i < choices; i++) {
        stream->choices[i].text = stream->texts + i * SV_STREAM_TEXT_BYTES;
        if (stream->records)
            stream->choices[i].records = stream->records + i * SV_STREAM_TOKENS;
    }
    return true;
}

struct sv_sse_stream *sv_sse_stream_create(const struct sv_sse_stream_options *options,
                                           struct sl_err *err)
{
    assert(options->choices > 0);
    struct sv_sse_stream *stream = sl_new(sizeof *stream, "a stream", err);
    if (!stream)
        return NULL;
    stream->options = *options;
    pthread_mutex_init(&stream->lock, NULL);
    sl_buffer_append_string(&stream->head, "data: ");
    stream->after_head.out = &stream->head;
    sv_completion_response_begin(&stream->after_head, &options->head, /* is_event= */ true);
    stream->after_head.out = &stream->frame;
    if (!allocate(stream) || stream->head.failed) {
        (void)sl_fail(err, SL_NO_MEMORY, "stream of %d choices", options->choices);
        sv_sse_stream_destroy(stream);
        return NULL;
    }
    /* Its strings belong to the caller. */
    stream->options.head = (struct sv_completion_head){.format = options->head.format};
    return stream;
}

void sv_sse_stream_destroy(struct sv_sse_stream *stream)
{
    if (!stream)
        return;
    sl_buffer_release(&stream->head);
    sl_buffer_release(&stream->frame);
    free(stream->choices);
    free(stream->texts);
    free(stream->records);
    pthread_mutex_destroy(&stream->lock);
    free(stream);
}

/* How many records belong to the next *bytes of text. Reduces *bytes if not all records fit. */
static int fitting_records(const struct choice *choice, const struct sl_token_logprob *records,
                           int count, bool all_text, size_t *bytes)
{
    if (!choice->records)
        return 0;
    size_t end = choice->bytes_put + *bytes;
    int room = SV_STREAM_TOKENS - choice->record_count, fit = 0;
    while (fit < count && fit < room && (all_text || records[fit].text_offset < end))
        fit++;
    /* The next record begins inside: its text waits with it. */
    if (fit < count && records[fit].text_offset < end)
        *bytes = records[fit].text_offset > choice->bytes_put
                     ? records[fit].text_offset - choice->bytes_put
                     : 0;
    return fit;
}

static bool buffer_text(struct choice *choice, const char *text, size_t bytes,
                        const struct sl_token_logprob *records, int record_count)
{
    size_t remaining = bytes - choice->bytes_put;
    size_t take =
        sl_utf8_fit(text + choice->bytes_put, remaining, SV_STREAM_TEXT_BYTES - choice->bytes);
    int fresh = record_count - choice->records_put;
    const struct sl_token_logprob *first = records + choice->records_put;
    int fit = fresh > 0 ? fitting_records(choice, first, fresh, take == remaining, &take) : 0;
    memcpy(choice->text + choice->bytes, text + choice->bytes_put, take);
    if (fit > 0)
        memcpy(choice->records + choice->record_count, first, (size_t)fit * sizeof *first);
    choice->bytes += take;
    choice->bytes_put += take;
    choice->record_count += fit;
    choice->records_put += fit;
    return choice->bytes_put == bytes && (!choice->records || choice->records_put == record_count);
}

bool sv_sse_stream_put(struct sv_sse_stream *stream, int index, const char *text, size_t bytes,
                       const struct sl_token_logprob *records, int record_count)
{
    assert(index >= 0 && index < stream->options.choices);
    pthread_mutex_lock(&stream->lock);
    struct choice *choice = &stream->choices[index];
    assert(bytes >= choice->bytes_put);
    assert(choice->finish == SL_RUNNING);
    bool whole = buffer_text(choice, text, bytes, records, record_count);
    choice->full = !whole;
    stream->started = stream->started || choice->bytes_put > 0;
    pthread_mutex_unlock(&stream->lock);
    return whole;
}

void sv_sse_stream_finish(struct sv_sse_stream *stream, int index, enum sl_finish finish)
{
    assert(finish == SL_FINISH_STOP || finish == SL_FINISH_LENGTH);
    pthread_mutex_lock(&stream->lock);
    assert(stream->choices[index].finish == SL_RUNNING);
    stream->choices[index].finish = finish;
    stream->started = true;
    pthread_mutex_unlock(&stream->lock);
}

void sv_sse_stream_usage(struct sv_sse_stream *stream, const struct sv_usage *usage)
{
    pthread_mutex_lock(&stream->lock);
    stream->usage = *usage;
    pthread_mutex_unlock(&stream->lock);
}

void sv_sse_stream_fail(struct sv_sse_stream *stream, const struct sv_error *error)
{
    pthread_mutex_lock(&stream->lock);
    if (stream->error.kind == SV_OK)
        stream->error = *error;
    pthread_mutex_unlock(&stream->lock);
}

void sv_sse_stream_ping(struct sv_sse_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    stream->ping = true;
    stream->started = true;
    pthread_mutex_unlock(&stream->lock);
}

bool sv_sse_stream_has_begun(struct sv_sse_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    bool started = stream->started;
    pthread_mutex_unlock(&stream->lock);
    return started;
}

bool sv_sse_stream_is_delivered(struct sv_sse_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    bool delivered = stream->done && stream->sent == stream->frame.bytes;
    pthread_mutex_unlock(&stream->lock);
    return delivered;
}

/* ---- writing events, with the lock held ------------------------------------------------------ */

/* The beginning of an event, up to and into its array of choices. */
static struct sl_json_writer begin_event(struct sv_sse_stream *stream)
{
    sl_buffer_append(&stream->frame, stream->head.data, stream->head.bytes);
    return stream->after_head;
}

/* The end of an event. If usage has an event of its own, the others have "usage":null. */
static void end_event(struct sv_sse_stream *stream, struct sl_json_writer *json, bool last)
{
    sl_json_end_array(json);
    if (last)
        sv_completion_response_usage(sl_json_key(json, "usage"), &stream->usage);
    else if (stream->options.include_usage)
        sl_json_add(json, "'usage':null");
    sl_json_end_object(json);
    sl_buffer_append_string(&stream->frame, "\n\n");
}

static void write_event(struct sv_sse_stream *stream,
                        void (*write)(struct sl_json_writer *, const struct sv_completion_choice *),
                        const struct sv_completion_choice *piece, bool last)
{
    struct sl_json_writer json = begin_event(stream);
    write(&json, piece);
    end_event(stream, &json, last);
}

static void write_piece(struct sv_sse_stream *stream, int index, struct choice *choice)
{
    const struct sv_completion_choice piece = {
        .choice = index,
        .text = choice->text,
        .bytes = choice->bytes,
        .bytes_before = choice->bytes_sent,
        .characters_before = choice->characters_sent,
        .facts = stream->options.facts,
        .tokens = stream->options.tokens,
        .records = choice->records,
        .record_count = choice->record_count,
        .finish = choice->finish,
    };
    const struct sv_completion_format *format = stream->options.head.format;
    const bool has_text = choice->bytes > 0 || choice->record_count > 0;
    stream->closed += choice->finish != SL_RUNNING;
    choice->closed = choice->finish != SL_RUNNING;
    const bool last = !stream->options.include_usage && stream->closed == stream->options.choices;
    if (format->opening && !choice->opened)
        write_event(stream, format->opening, &piece, false);
    if (has_text || !format->closing)
        write_event(stream, format->piece, &piece, last && !format->closing);
    if (format->closing && choice->closed)
        write_event(stream, format->closing, &piece, last);
    choice->opened = true;
    choice->bytes_sent += choice->bytes;
    choice->characters_sent += sl_utf8_count(choice->text, choice->bytes);
    choice->bytes = 0;
    choice->record_count = 0;
}

static void write_end(struct sv_sse_stream *stream)
{
    struct sl_buffer *frame = &stream->frame;
    bool complete = stream->closed == stream->options.choices;
    if (!complete) {
        sl_buffer_append_string(frame, "data: ");
        (void)sv_error_write(&stream->error, SV_API_OPENAI, frame);
        sl_buffer_append_string(frame, "\n\n");
    } else if (stream->options.include_usage) {
        struct sl_json_writer json = begin_event(stream);
        end_event(stream, &json, true);
    }
    sl_buffer_append_string(frame, "data: [DONE]\n\n");
    stream->done = true;
}

/* Turns everything buffered into events. True: a full buffer has space again. */
static bool write_events(struct sv_sse_stream *stream)
{
    bool made_room = false;
    for (int i = 0; i < stream->options.choices; i++) {
        struct choice *choice = &stream->choices[i];
        bool is_idle =
            choice->bytes > 0 || choice->record_count > 0 || choice->finish != SL_RUNNING;
        if (choice->closed || !is_idle)
            continue;
        write_piece(stream, i, choice);
        made_room = made_room || choice->full;
        choice->full = false;
    }
    if (stream->closed == stream->options.choices || stream->error.kind != SV_OK)
        write_end(stream);
    else if (stream->ping && stream->frame.bytes == 0)
        sl_buffer_append_string(&stream->frame, ": ping\n\n");
    stream->ping = false;
    return made_room;
}

static ssize_t take_frame(struct sv_sse_stream *stream, char *bytes, size_t max)
{
    size_t remaining = stream->frame.bytes - stream->sent;
    size_t take = remaining < max ? remaining : max;
    if (take > 0)
        memcpy(bytes, stream->frame.data + stream->sent, take);
    stream->sent += take;
    return take == 0 && stream->done ? SV_PULL_END : (ssize_t)take;
}

ssize_t sv_sse_stream_pull(struct sv_sse_stream *stream, char *bytes, size_t max)
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
