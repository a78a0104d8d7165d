/* openapi.h - the OpenAPI 3.1 document of the HTTP API, made from the tables of routes, operations,
 * fields of request bodies, members of responses and errors. */
#pragma once

#include "base/buffer.h"
#include "core/caller.h"

/* The endpoints of one listener or both. */
void sv_openapi_write(struct sl_buffer *out, enum sv_listener listeners);
/* The endpoints of both, in lines for people. */
void sv_openapi_print(struct sl_buffer *out);
