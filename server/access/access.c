/* access.c - whether a request may use a route. */
#include "access/access.h"

/* Without keys, whoever reaches the admin listener may do everything, and whoever reaches the
 * inference listener may do what changes nothing. */
static bool check_without_keys(const struct sv_request *request, enum sv_scope scope,
                               struct sv_error *error)
{
    if (request->listener == SV_ON_ADMIN || (scope != SV_SCOPE_TRAIN && scope != SV_SCOPE_ADMIN))
        return true;
    return sv_fail(error, SV_FORBIDDEN, NULL,
                   "Without API keys this endpoint is served on the admin listener only; see the "
                   "option admin_listen.");
}

bool sv_access_check(const struct sv_request *request, enum sv_scope scope,
                     enum sv_listener listeners, struct sv_error *error)
{
    if (!(listeners & request->listener))
        return sv_fail(error, SV_FORBIDDEN, NULL,
                       "This endpoint is served on the %s listener only; see the option %s.",
                       listeners == SV_ON_ADMIN ? "admin" : "inference",
                       listeners == SV_ON_ADMIN ? "admin_listen" : "listen");
    return check_without_keys(request, scope, error);
}
