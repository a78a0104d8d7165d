/* request_head.h - what a request says before its body. */
#pragma once

#include "http/request_router.h"

/* Fills in the request's API, id, timeout, route and path parameters. The target is a path or a URL
 * without its query. False: the request is rejected. */
bool sv_request_head_read(struct sv_request *request, const struct sv_router *router,
                          const char *method, const char *target, struct sv_error *error);

/* The headers that say where a request ends and which host it is for: how often each occurs. */
struct sv_framing {
    const char *version;
    int lengths, codings, hosts, authorizations;
    bool is_chunked;
    bool is_suspicious; /* has a header that a proxy may read differently */
};

/* Whether a proxy may read a header differently: its name has an invalid character, such as a space
 * before the colon; or the name continues after Content-Length or Transfer-Encoding, which is what
 * libmicrohttpd makes of a folded line; or its value has a carriage return. */
bool sv_header_is_suspicious(const char *name, const char *value);

/* False if a proxy in front may disagree about the request's end or host. Guessing would allow
 * request smuggling. */
bool sv_framing_is_valid(const struct sv_framing *f, struct sv_error *error);
