/* sse_parser.h - a parser of server-sent events that arrive in pieces of any size.
 *
 * Servers of completions put each event on one `data:` line, so every such line is an event here.
 * Comments and other fields are ignored. */
#pragma once

#include "base/buffer.h"

/* Set on_event and context, leave the rest zero. */
struct sse_parser {
    /* Gets what follows `data: `, without a NUL at the end. Returns false to stop. */
    bool (*on_event)(void *context, const char *data, size_t count);
    void *context;
    bool ended;            /* `data: [DONE]` has arrived, which ends a stream and is no event */
    struct sl_buffer line; /* the beginning of a line whose end has not arrived */
};

enum { EVENT_BYTES_MAX = 16 << 20 };

/* parser: a struct sse_parser; as a function for client_request.on_body. False: on_event returned
 * false, an event is longer than EVENT_BYTES_MAX, or out of memory. */
bool sse_parser_feed(void *parser, const char *data, size_t count) SL_MUST_CHECK;
void sse_parser_release(struct sse_parser *e);
