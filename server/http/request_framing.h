/* request_framing.h - where each request on a connection begins and ends.
 *
 * Parses bytes before libmicrohttpd, and more strictly: a request that two programs could read
 * differently is an error. So a proxy and libmicrohttpd agree on where requests end, and no
 * request can be smuggled in the body of another.
 *
 * A unit is a head, or the line of a chunk's size with the end of the chunk before it, or the end
 * of a chunked body with its trailers. It is passed on whole or not at all. */
#pragma once

#include "core/request_error.h"

#include <stddef.h>

enum sv_framing_state {
    SV_FRAMING_START,   /* the first line of a request */
    SV_FRAMING_HEADERS, /* the others */
    SV_FRAMING_BODY,
    SV_FRAMING_CHUNK_SIZE,
    SV_FRAMING_CHUNK_DATA,
    SV_FRAMING_CHUNK_END, /* the empty line after a chunk */
    SV_FRAMING_TRAILERS,
    SV_FRAMING_FAILED
};

enum { SV_FRAMING_SEGMENT_MAX = 24, SV_FRAMING_SUBSTITUTE_MAX = 64 };

/* All zero at the beginning of a connection. */
struct sv_framing {
    enum sv_framing_state state, unit_state; /* now, and at the beginning of the unit */
    size_t unit;                             /* bytes of the unit in lines that were read */
    bool is_unit_complete;
    uint64_t left; /* of the body or the chunk */
    int heads;     /* complete, including the one that failed */

    /* Of the head that is being read. */
    bool is_http_1_1, has_chunks;
    uint64_t length;
    int lengths, codings, hosts, authorizations;
    char segment[SV_FRAMING_SEGMENT_MAX]; /* the first segment of the path, if it is plain */

    enum sv_error_kind error; /* once it has failed */
    const char *message;
};

/* Reads on. `bytes` begin with the first byte that was not passed on yet. Returns how many may be
 * passed on now; the rest is to be given again, with what follows it. Once an error was found the
 * rest is to be discarded. Extensions of chunks are removed from `bytes`. */
size_t sv_framing_read(struct sv_framing *f, char *bytes, size_t count);

/* The connection ended in the middle of a unit. */
void sv_framing_end(struct sv_framing *f);

/* After an error: what to pass on in the place of the rest, so that libmicrohttpd asks for the
 * response. In place of a head it is another head in the same API, and in place of the rest of a
 * chunked body the end of the body. Returns its length. */
size_t sv_framing_substitute(const struct sv_framing *f,
                             char out[static SV_FRAMING_SUBSTITUTE_MAX]);
