/* request_headers.h - reads a request's target and headers. */
#pragma once

#include "http/request_router.h"

/* Fills in the request's API, id, timeout, route and path parameters. The target is a path or a URL
 * without its query. False: the request is rejected. */
bool sv_request_headers_read(struct sv_request *request, const struct sv_router *router,
                             const char *method, const char *target, struct sv_error *error);

/* The same for a request that is rejected in any case: only its API and its id. */
void sv_request_head_reject(struct sv_request *request, const struct sv_router *router,
                            const char *target);
