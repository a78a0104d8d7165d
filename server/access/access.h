/* access.h - whether a request may use a route. */
#pragma once

#include "core/request.h"

/* Whether the request may use a route of this scope on these listeners. False: see error. */
bool sv_access_check(const struct sv_request *request, enum sv_scope scope,
                     enum sv_listener listeners, struct sv_error *error);
