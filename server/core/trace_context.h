/* trace_context.h - W3C trace context: the header by which a request belongs to a trace that
 * spans several services. The daemon only logs the trace's id. */
#pragma once

#include <stdbool.h>

enum { SV_TRACE_ID_BYTES = 33 }; /* 32 hexadecimal digits and a NUL */

/* Reads the trace id of a `traceparent` header. False, with an empty id, if the header is NULL or
 * not well-formed: the standard says to ignore it then. */
bool sv_trace_id_read(const char *traceparent, char id[static SV_TRACE_ID_BYTES]);
