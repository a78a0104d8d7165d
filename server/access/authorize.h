/* authorize.h - whether a request may use a route.
 *
 * With keys, a caller needs one that has the route's scope, except at the admin listener's UNIX
 * sockets: who may open those is a matter of file permissions. Without keys, whoever reaches the
 * admin listener may do everything, and whoever reaches the inference listener may do what changes
 * nothing. */
#pragma once

#include "core/request.h"

/* The scope of keys that a route's scope asks for; not for SV_SCOPE_OPEN. */
enum sl_scope sv_key_scope(enum sv_scope scope);

/* Whether the request may use a route of this scope on these listeners. Fills in the caller. False:
 * see error; 401 has a header that says how. */
bool sv_authorize(struct sv_request *request, enum sv_scope scope, enum sv_listener listeners,
                  struct sv_error *error);
