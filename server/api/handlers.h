/* handlers.h - the function of each endpoint: it responds, or starts asynchronous work. */
#pragma once

#include "core/request.h"

#define SV_ENDPOINT(handler, ...) enum sv_progress sv_handle_##handler(struct sv_request *request);
#define SV_ALSO_AT(handler, ...)
#include "api/endpoint_table.def"
#undef SV_ENDPOINT
#undef SV_ALSO_AT

/* Takes the bodies of POST /v1/files. */
extern const struct sv_body_sink sv_file_sink;
