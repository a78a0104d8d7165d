/* routes.h - the table of endpoints: method, path, who may, what is done. */
#pragma once

#include "base/buffer.h"
#include "http/request_router.h"

extern const struct sv_router sv_routes;

/* The front page: what this is and where to go, as JSON. */
void sv_routes_index(struct sl_buffer *out);
