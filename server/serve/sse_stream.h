/* sse_stream.h - server-sent events: the bounded buffer between the scheduler and a slow client.
 *
 * The scheduler's thread puts text in as it is generated; the connection pulls events out when it
 * can send. Events are written at that moment, so a slow client gets fewer and longer ones. A
 * choice whose buffer is full takes no more until `on_space` is called.
 *
 * A stream ends in exactly one way: a finish_reason for every choice, or one error event; then
 * [DONE]. One thread puts, one pulls, any thread may fail the stream. */
#pragma once

#include "core/request.h"
#include "core/request_error.h"
#include "json/completion_response.h"

#include <stdint.h>
#include <sys/types.h>

struct sv_sse_stream;

struct sv_sse_stream_options {
    struct sv_completion_head head; /* copied */
    int choices;
    struct sv_token_facts facts;
    const struct sl_tokenizer *tokens; /* of these; must outlive the stream */
    bool include_usage;                /* usage in an event of its own */
    void (*on_space)(void *context);   /* called after a pull that emptied a full buffer */
    void *context;
};

struct sv_sse_stream *sv_sse_stream_create(const struct sv_sse_stream_options *options,
                                           struct sl_err *err) SL_MUST_CHECK;
void sv_sse_stream_destroy(struct sv_sse_stream *stream); /* NULL is fine */

/* Appends what is new of the text and the records of one choice, given by its index. Both are
 * passed from the beginning. False: the buffer is full and some is left over. */
bool sv_sse_stream_put(struct sv_sse_stream *stream, int index, const char *text, size_t bytes,
                       const struct sl_token_logprob *records, int record_count);
/* The choice is complete and all its text was put. */
void sv_sse_stream_finish(struct sv_sse_stream *stream, int index, enum sl_finish finish);
/* The usage of all choices, set before the last one finishes. `truncations` must outlive the
 * stream. */
void sv_sse_stream_usage(struct sv_sse_stream *stream, const struct sv_usage *usage);
/* Ends the stream with an error after what was put. The first error wins. */
void sv_sse_stream_fail(struct sv_sse_stream *stream, const struct sv_error *error);
/* Sends a comment, so that proxies keep the connection open. */
void sv_sse_stream_ping(struct sv_sse_stream *stream);

/* There is something to pull. False if the stream failed before any text: then send an error
 * response. */
bool sv_sse_stream_has_begun(struct sv_sse_stream *stream);

/* Everything was pulled, [DONE] included. */
bool sv_sse_stream_is_delivered(struct sv_sse_stream *stream);
/* Writes at most `max` bytes of events and returns how many, or an SV_PULL_... value. */
ssize_t sv_sse_stream_pull(struct sv_sse_stream *stream, char *bytes, size_t max);
