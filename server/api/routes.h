/* routes.h - the table of endpoints: method, path, scope, listeners, API, handler. */
#pragma once

#include "base/buffer.h"
#include "http/request_router.h"

extern const struct sv_router sv_routes;

/* Writes the body of GET /: name, version and all endpoints, as JSON. */
void sv_routes_index(struct sl_buffer *out);
