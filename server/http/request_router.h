/* request_router.h - finds the route for a method and a path.
 *
 * The table of routes is given to it: it knows no handler. */
#pragma once

#include "core/request.h"

struct sv_operation;

struct sv_route {
    const char *method;
    const char *path; /* each {name} stands for one path segment, not empty */
    enum sv_scope scope;
    enum sv_api api; /* format of its errors */
    enum sv_progress (*handle)(struct sv_request *request);
    const char *action;                   /* what it changes, for the audit log; NULL: nothing */
    const struct sv_operation *operation; /* of the OpenAPI document; api/ alone reads it */
};

/* Advice for a path without a route, as the end of a sentence. */
struct sv_route_hint {
    const char *path, *hint;
};

/* A POST route whose bodies go to a sink. Those of other routes are JSON, held in memory. */
struct sv_route_sink {
    const char *path;
    const struct sv_body_sink *sink;
};

struct sv_router {
    const struct sv_route *routes;
    int count;
    const struct sv_route_sink *sinks; /* NULL path at the end; NULL: none */
    const struct sv_route_hint *hints; /* NULL path at the end */
    /* Called when a request with an action has ended with an error. NULL: it is not. */
    void (*on_failure)(struct sv_request *request);
};

enum { SV_ALLOW_MAX = 64 };

/* The route for a method and a raw path, and the decoded values of its {name} segments. Without
 * one: NULL, and `allow` lists the methods that the path has, or is empty. HEAD counts as GET;
 * under /v2 a trailing slash is ignored. */
const struct sv_route *sv_router_find(const struct sv_router *router, const char *method,
                                      const char *path,
                                      char path_params[static SV_PATH_PARAMS_MAX][SV_PATH_MAX],
                                      char allow[static SV_ALLOW_MAX]);

/* The sink of a route; NULL: it has none. */
const struct sv_body_sink *sv_router_sink(const struct sv_router *router,
                                          const struct sv_route *route);

const char *sv_router_hint(const struct sv_router *router, const char *path);

/* The API of a raw path whose route is not known: that of the first with the same first segment. */
enum sv_api sv_router_family(const struct sv_router *router, const char *path);
