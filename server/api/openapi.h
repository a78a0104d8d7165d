/* openapi.h - the OpenAPI 3.1 document of the HTTP API, made from the tables of routes, operations,
 * fields of request bodies, members of responses and errors. */
#pragma once

#include "base/buffer.h"

void sv_openapi_write(struct sl_buffer *out);
/* The same, in lines for people. */
void sv_openapi_print(struct sl_buffer *out);
