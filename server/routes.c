/* routes.c - the table of endpoints: method, path, who may, what is done. */
#include "routes.h"
#include "handlers.h"

#include "sluice/engine.h"

#include <stdio.h>
#include <string.h>

static const struct sv_route routes[] = {
    {"GET", "/", SV_SCOPE_OPEN, sv_handle_index},
    {"GET", "/metrics", SV_SCOPE_METRICS, sv_handle_metrics},
    {"GET", "/v2/health/live", SV_SCOPE_OPEN, sv_handle_live},
    {"GET", "/v2/health/ready", SV_SCOPE_OPEN, sv_handle_ready},
    {"POST", "/v1/completions", SV_SCOPE_INFER, sv_handle_completions},
    {"GET", "/v1/models", SV_SCOPE_INFER, sv_handle_models},
    {"GET", "/v1/models/{}", SV_SCOPE_INFER, sv_handle_model},
};

enum { ROUTES = sizeof routes / sizeof routes[0] };

const struct sv_route *sv_route_at(int index)
{
    return index < ROUTES ? &routes[index] : NULL;
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* %41 becomes A. False for what no argument may hold: broken escapes, NUL, too much, not UTF-8. */
static bool decode(const char *from, char to[static SV_PATH_MAX])
{
    size_t used = 0;
    for (const char *c = from; *c; c++) {
        int byte = (unsigned char)*c;
        if (*c == '%') {
            int high = digit(c[1]), low = high < 0 ? -1 : digit(c[2]);
            byte = low < 0 ? 0 : high * 16 + low;
            c += 2;
        }
        if (byte == 0 || used + 1 >= SV_PATH_MAX)
            return false;
        to[used++] = (char)byte;
    }
    to[used] = '\0';
    for (size_t at = 0, length; at < used; at += length)
        if ((length = sv_utf8_length(to + at, used - at)) == 0)
            return false;
    return used > 0;
}

static bool matches(const struct sv_route *route, const char *path,
                    char argument[static SV_PATH_MAX])
{
    size_t fixed = strcspn(route->path, "{");
    argument[0] = '\0';
    if (route->path[fixed] == '\0')
        return strcmp(route->path, path) == 0;
    return strncmp(route->path, path, fixed) == 0 && decode(path + fixed, argument);
}

static void add_allowed(const char *method, char allow[static SV_ALLOW_MAX])
{
    size_t used = strlen(allow);
    (void)snprintf(allow + used, SV_ALLOW_MAX - used, "%s%s", used ? ", " : "",
                   strcmp(method, "GET") == 0 ? "GET, HEAD" : method);
}

const struct sv_route *sv_route_find(const char *method, const char *path,
                                     char argument[static SV_PATH_MAX],
                                     char allow[static SV_ALLOW_MAX])
{
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
    allow[0] = '\0';
    for (int i = 0; i < ROUTES; i++) {
        if (!matches(&routes[i], path, argument))
            continue;
        if (strcmp(routes[i].method, wanted) == 0)
            return &routes[i];
        add_allowed(routes[i].method, allow);
    }
    return NULL;
}

void sv_routes_index(struct sv_text *out)
{
    sv_text_print(out,
                  "{\"name\":\"sluice\",\"version\":\"%s\",\"description\":\"Adaptive-computation "
                  "transformers on CPUs: text completion over an OpenAI-compatible interface.\","
                  "\"endpoints\":[",
                  sl_version());
    for (int i = 0; i < ROUTES; i++)
        sv_text_print(out, "%s{\"method\":\"%s\",\"path\":\"%s\"}", i ? "," : "", routes[i].method,
                      routes[i].path);
    sv_text_adds(out, "]}\n");
}
