/* events.h - server-sent events, out of bytes that arrive in any pieces.
 *
 * Servers of completions put each event on one `data:` line, and so every such line is an event
 * here. Comments and other fields are passed over. */
#pragma once

#include "common/bytes.h"

/* Set take and context, leave the rest zero. */
struct events {
    /* Gets what stands behind `data: `, which does not end with a NUL. False: stop. */
    bool (*take)(void *context, const char *data, size_t count);
    void *context;
    struct bytes line; /* the beginning of one whose end has not come */
};

enum { EVENT_BYTES_MAX = 16 << 20 };

/* False: take said stop, or an event is longer than EVENT_BYTES_MAX, or there is no memory. */
bool events_feed(struct events *e, const char *data, size_t count) MUST_CHECK;
void events_release(struct events *e);
