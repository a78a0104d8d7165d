/* authorize.h - whether a request may use a route.
 *
 * With API keys, a caller needs a key with the route's scope. The admin listener's UNIX sockets
 * need no key: their file permissions say who may connect. Without keys, anyone who can reach
 * the admin listener may use all its routes, and anyone who can reach the inference listener may
 * use routes that change nothing. */
#pragma once

#include "core/request.h"

/* The scope of keys that a route's scope asks for; not for SV_SCOPE_OPEN. */
enum sl_scope sv_key_scope(enum sv_scope scope);

/* Whether the request may use a route of this scope. Fills in the caller. False: see error; 401 has
 * a header that says how. */
bool sv_authorize(struct sv_request *request, enum sv_scope scope, struct sv_error *error);
