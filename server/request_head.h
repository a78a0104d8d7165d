/* request_head.h - what a request says before its body. */
#pragma once

#include "call.h"

/* Fills in the call's family, id, time, route and arguments. False: its body is not wanted. */
bool sv_head_read(struct sv_call *call, const char *method, const char *path,
                  struct sv_problem *problem);

/* How often the headers that say where a request ends, and whose it is, are there. */
struct sv_framing {
    const char *version;
    int lengths, codings, hosts;
    bool is_chunked;
};

/* False: a proxy before us may see the request's end, or its host, elsewhere than we do. Guessing
 * would let one client slip a request into another's connection. */
bool sv_framing_is_clear(const struct sv_framing *f, struct sv_problem *problem);
