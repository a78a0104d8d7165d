/* trace_context.c - W3C trace context, version 00 and what later versions must keep of it. */
#include "core/trace_context.h"

#include <string.h>

/* version-trace-parent-flags: 2, 32, 16 and 2 digits */
enum { TRACE = 3, PARENT = 36, FLAGS = 53, LENGTH = 55 };

/* Lower case only, as the standard says. */
static bool is_hex(const char *text, size_t count)
{
    return strspn(text, "0123456789abcdef") >= count;
}

static bool is_zero(const char *text, size_t count)
{
    return strspn(text, "0") >= count;
}

/* Version 00 ends here; later ones may go on after a dash. */
static bool ends_well(const char *header)
{
    bool is_first = strncmp(header, "00", 2) == 0;
    return header[LENGTH] == '\0' || (!is_first && header[LENGTH] == '-');
}

bool sv_trace_id_read(const char *traceparent, char id[static SV_TRACE_ID_BYTES])
{
    const char *h = traceparent;
    id[0] = '\0';
    if (!h || strlen(h) < LENGTH || h[TRACE - 1] != '-' || h[PARENT - 1] != '-' ||
        h[FLAGS - 1] != '-')
        return false;
    if (!is_hex(h, 2) || strncmp(h, "ff", 2) == 0 || !is_hex(h + TRACE, 32) ||
        !is_hex(h + PARENT, 16) || !is_hex(h + FLAGS, 2) || !ends_well(h))
        return false;
    if (is_zero(h + TRACE, 32) || is_zero(h + PARENT, 16))
        return false;
    memcpy(id, h + TRACE, SV_TRACE_ID_BYTES - 1);
    id[SV_TRACE_ID_BYTES - 1] = '\0';
    return true;
}
