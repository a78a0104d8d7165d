/* stream.h - server-sent events: the bounded buffer between the dispatcher and a slow client.
 *
 * The dispatcher puts text in as it is generated; the connection pulls events out when it can send.
 * Events are written at that moment, so a slow client gets fewer and longer ones. A choice whose
 * buffer is full takes no more: whoever puts must wait until `room` is called.
 *
 * A stream ends in exactly one way: a finish_reason for every choice, or one error event; then
 * [DONE]. One putting thread, one pulling thread, any thread to fail it. */
#pragma once

#include "core/request.h"
#include "core/request_error.h"
#include "json/completion_json.h"

#include <stdint.h>
#include <sys/types.h>

struct sv_stream;

struct sv_stream_options {
    struct sv_completion_head head; /* copied */
    int choices;
    const struct sl_tokenizer *tokens; /* for log probabilities; NULL: none. It outlives us */
    bool include_usage;                /* usage in an event of its own, and null in those before */
    void (*room)(void *context);       /* called after a pull that made room where there was none */
    void *context;
};

struct sv_stream *sv_stream_create(const struct sv_stream_options *options, struct sl_err *err)
    SL_MUST_CHECK;
void sv_stream_destroy(struct sv_stream *stream); /* NULL is fine */

/* Puts what of a choice's text and records is not in yet. Both are whole, from the text's
 * beginning. False: the buffer is full and some is left. */
bool sv_stream_put(struct sv_stream *stream, int choice, const char *text, size_t bytes,
                   const struct sl_token_logprob *records, int record_count);
/* That choice is complete, and all its text was put. */
void sv_stream_finish(struct sv_stream *stream, int choice, enum sl_finish finish);
/* What all choices used; before the last of them is finished. `truncations` must live on. */
void sv_stream_usage(struct sv_stream *stream, const struct sv_usage *usage);
/* Nothing more will come. What was put is still sent. The first of several is told. */
void sv_stream_fail(struct sv_stream *stream, const struct sv_error *error);
/* Asks for a comment, so that nobody on the way takes the connection for dead. */
void sv_stream_ping(struct sv_stream *stream);

/* There is something to pull. A stream that failed before any text is not begun: say so
 * otherwise. */
bool sv_stream_has_begun(struct sv_stream *stream);

/* Everything was pulled, [DONE] included: what a client does next is its own business. */
bool sv_stream_is_delivered(struct sv_stream *stream);
/* Bytes of events, at most `most`, or an SV_PULL_...: none now, [DONE] was sent, no memory. */
ssize_t sv_stream_pull(struct sv_stream *stream, char *bytes, size_t max);
