/* request_router.h - finds the route for a method and a path.
 *
 * The table of routes is
 * somebody else's: this knows no handler. */
#pragma once

#include "core/request.h"

/* Who may request. Nobody is asked for a key yet, so the server listens on loopback; every row has
 * its scope all the same, and an empty one would be refused by the tests. */
enum sv_scope {
    SV_SCOPE_NONE,
    SV_SCOPE_OPEN,    /* anybody */
    SV_SCOPE_METRICS, /* whoever watches */
    SV_SCOPE_INFER    /* whoever uses the models */
};

struct sv_route {
    const char *method;
    const char *path; /* each {name} stands for a part between slashes, not empty */
    enum sv_scope scope;
    enum sv_api api; /* how its mistakes look; the same for all that begin alike */
    enum sv_progress (*handle)(struct sv_request *request);
};

/* What to do about a path without a route, as the end of a sentence. */
struct sv_route_hint {
    const char *path, *hint;
};

struct sv_router {
    const struct sv_route *routes;
    int count;
    const struct sv_route_hint *hints; /* a NULL path ends them */
};

enum { SV_ALLOW_MAX = 64 };

/* The route for a method and a raw path. Without one: NULL, and `allow` holds the methods that the
 * path has, or is empty. `arguments` take what each {name} stands for, decoded. A HEAD is a GET;
 * under /v2 a slash at the end is as good as none. */
const struct sv_route *sv_router_find(const struct sv_router *router, const char *method,
                                      const char *path,
                                      char path_params[static SV_PATH_PARAMS_MAX][SV_PATH_MAX],
                                      char allow[static SV_ALLOW_MAX]);

const char *sv_router_hint(const struct sv_router *router, const char *path);

/* How mistakes look at a raw path: as those of the routes that begin with the same part. */
enum sv_api sv_router_family(const struct sv_router *router, const char *path);
