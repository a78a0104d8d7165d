/* request_head.h - what a request says before its body. */
#pragma once

#include "http/request_router.h"

/* Fills in the request's family, id, time, route and arguments. The target is a path, or a whole
 * URL, without what follows a question mark. False: the request's body is not wanted. */
bool sv_request_head_read(struct sv_request *request, const struct sv_router *router,
                          const char *method, const char *target, struct sv_error *error);

/* How often the headers that say where a request ends, and whose it is, are there. */
struct sv_framing {
    const char *version;
    int lengths, codings, hosts;
    bool is_chunked;
    bool is_suspicious; /* a header that others may read in another way */
};

/* Whether a header is one of those: its name has what no name has, a blank before the colon above
 * all; it is a name of the body's length with more behind it, which is what libmicrohttpd makes of
 * a value that goes on in the next line; or there is a return within its value. */
bool sv_header_is_suspicious(const char *name, const char *value);

/* False: a proxy before us may see the request's end, or its host, elsewhere than we do. Guessing
 * would let one client slip a request into another's connection. */
bool sv_framing_is_valid(const struct sv_framing *f, struct sv_error *error);
