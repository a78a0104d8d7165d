/* request_router.c - from a method and a path to the route that answers them. */
#include "http/request_router.h"
#include "base/comma_list.h"
#include "core/percent_encoding.h"

#include <assert.h>
#include <string.h>

/* The length of the first path segment with its slash. */
static size_t first_part(const char *path)
{
    return path[0] == '/' ? 1 + strcspn(path + 1, "/") : 0;
}

enum sv_api sv_router_family(const struct sv_router *router, const char *path)
{
    size_t length = first_part(path);
    for (int i = 0; i < router->count && length > 0; i++)
        if (first_part(router->routes[i].path) == length &&
            strncmp(router->routes[i].path, path, length) == 0)
            return router->routes[i].api;
    return SV_API_PLAIN;
}

/* The length of a path; under /v2 without a trailing slash. */
static size_t length_of(const char *path)
{
    size_t length = strlen(path);
    bool ends = length > 1 && path[length - 1] == '/' && strncmp(path, "/v2/", 4) == 0;
    return length - ends;
}

static bool matches(const struct sv_route *route, const char *path,
                    char path_params[static SV_PATH_PARAMS_MAX][SV_PATH_MAX])
{
    const char *end = path + length_of(path);
    int count = 0;
    for (int i = 0; i < SV_PATH_PARAMS_MAX; i++)
        path_params[i][0] = '\0';
    for (const char *at = route->path; *at;) {
        size_t fixed = strcspn(at, "{"), remaining = (size_t)(end - path);
        if (fixed > remaining || strncmp(at, path, fixed) != 0)
            return false;
        at += fixed;
        path += fixed;
        if (*at == '\0')
            break;
        size_t part = strcspn(path, "/"), max = (size_t)(end - path);
        assert(count < SV_PATH_PARAMS_MAX);
        if (!sv_percent_decode(path, part < max ? part : max, path_params[count++], SV_PATH_MAX))
            return false;
        path += part;
        at += strcspn(at, "}") + 1;
    }
    return path == end;
}

static void add_allowed(const char *method, char allow[static SV_ALLOW_MAX])
{
    sl_list_add(allow, SV_ALLOW_MAX, strcmp(method, "GET") == 0 ? "GET, HEAD" : method);
}

const struct sv_route *sv_router_find(const struct sv_router *router, const char *method,
                                      const char *path,
                                      char path_params[static SV_PATH_PARAMS_MAX][SV_PATH_MAX],
                                      char allow[static SV_ALLOW_MAX])
{
    const char *lookup_method = strcmp(method, "HEAD") == 0 ? "GET" : method;
    allow[0] = '\0';
    for (int i = 0; i < router->count; i++) {
        if (!matches(&router->routes[i], path, path_params))
            continue;
        if (strcmp(router->routes[i].method, lookup_method) == 0)
            return &router->routes[i];
        add_allowed(router->routes[i].method, allow);
    }
    return NULL;
}

const struct sv_body_sink *sv_router_sink(const struct sv_router *router,
                                          const struct sv_route *route)
{
    for (const struct sv_route_sink *s = router->sinks; s && s->path; s++)
        if (strcmp(route->method, "POST") == 0 && strcmp(route->path, s->path) == 0)
            return s->sink;
    return NULL;
}

const char *sv_router_hint(const struct sv_router *router, const char *path)
{
    for (const struct sv_route_hint *hint = router->hints; hint->path; hint++)
        if (strcmp(hint->path, path) == 0)
            return hint->hint;
    return "GET / lists the endpoints.";
}
