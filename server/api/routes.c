/* routes.c - the table of endpoints: method, path, who may, what is done. */
#include "http/routes.h"
#include "api/handlers.h"

#include "sluice/engine.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const struct sv_route routes[] = {
    {"GET", "/", SV_SCOPE_OPEN, SV_FAMILY_TEI, sv_handle_index},
    {"GET", "/metrics", SV_SCOPE_METRICS, SV_FAMILY_PLAIN, sv_handle_metrics},

    {"POST", "/v1/completions", SV_SCOPE_INFER, SV_FAMILY_OPENAI, sv_handle_completions},
    {"POST", "/v1/decisions", SV_SCOPE_INFER, SV_FAMILY_OPENAI, sv_handle_decisions},
    {"GET", "/v1/models", SV_SCOPE_INFER, SV_FAMILY_OPENAI, sv_handle_models},
    {"GET", "/v1/models/{id}", SV_SCOPE_INFER, SV_FAMILY_OPENAI, sv_handle_model},

    {"POST", "/predict", SV_SCOPE_INFER, SV_FAMILY_TEI, sv_handle_predict},
    {"POST", "/", SV_SCOPE_INFER, SV_FAMILY_TEI, sv_handle_predict},
    {"POST", "/invocations", SV_SCOPE_INFER, SV_FAMILY_TEI, sv_handle_predict},
    {"POST", "/tokenize", SV_SCOPE_INFER, SV_FAMILY_TEI, sv_handle_tokenize},
    {"POST", "/decode", SV_SCOPE_INFER, SV_FAMILY_TEI, sv_handle_decode},
    {"GET", "/info", SV_SCOPE_INFER, SV_FAMILY_TEI, sv_handle_info},
    {"POST", "/models/{name}/predict", SV_SCOPE_INFER, SV_FAMILY_TEI, sv_handle_predict},
    {"POST", "/models/{name}/tokenize", SV_SCOPE_INFER, SV_FAMILY_TEI, sv_handle_tokenize},
    {"POST", "/models/{name}/decode", SV_SCOPE_INFER, SV_FAMILY_TEI, sv_handle_decode},
    {"GET", "/models/{name}/info", SV_SCOPE_INFER, SV_FAMILY_TEI, sv_handle_info},
    {"POST", "/hf/{name}", SV_SCOPE_INFER, SV_FAMILY_HF, sv_handle_hf},
    {"GET", "/health", SV_SCOPE_OPEN, SV_FAMILY_TEI, sv_handle_health},
    {"GET", "/ping", SV_SCOPE_OPEN, SV_FAMILY_TEI, sv_handle_health},

    {"GET", "/v2", SV_SCOPE_OPEN, SV_FAMILY_OIP, sv_handle_server},
    {"GET", "/v2/health/live", SV_SCOPE_OPEN, SV_FAMILY_OIP, sv_handle_live},
    {"GET", "/v2/health/ready", SV_SCOPE_OPEN, SV_FAMILY_OIP, sv_handle_ready},
    {"GET", "/v2/models/stats", SV_SCOPE_INFER, SV_FAMILY_OIP, sv_handle_all_stats},
    {"GET", "/v2/models/{name}", SV_SCOPE_INFER, SV_FAMILY_OIP, sv_handle_metadata},
    {"GET", "/v2/models/{name}/ready", SV_SCOPE_OPEN, SV_FAMILY_OIP, sv_handle_model_ready},
    {"POST", "/v2/models/{name}/infer", SV_SCOPE_INFER, SV_FAMILY_OIP, sv_handle_infer},
    {"GET", "/v2/models/{name}/stats", SV_SCOPE_INFER, SV_FAMILY_OIP, sv_handle_stats},
    {"GET", "/v2/models/{name}/versions/{version}", SV_SCOPE_INFER, SV_FAMILY_OIP,
     sv_handle_metadata},
    {"GET", "/v2/models/{name}/versions/{version}/ready", SV_SCOPE_OPEN, SV_FAMILY_OIP,
     sv_handle_model_ready},
    {"POST", "/v2/models/{name}/versions/{version}/infer", SV_SCOPE_INFER, SV_FAMILY_OIP,
     sv_handle_infer},
    {"GET", "/v2/models/{name}/versions/{version}/stats", SV_SCOPE_INFER, SV_FAMILY_OIP,
     sv_handle_stats},
    {"POST", "/v2/repository/index", SV_SCOPE_INFER, SV_FAMILY_OIP, sv_handle_repository},
    {"POST", "/v2/repository/models/{name}/load", SV_SCOPE_INFER, SV_FAMILY_OIP, sv_handle_load},
    {"POST", "/v2/repository/models/{name}/unload", SV_SCOPE_INFER, SV_FAMILY_OIP, sv_handle_load},
};

enum { ROUTES = sizeof routes / sizeof routes[0] };

const struct sv_route *sv_route_at(int index)
{
    return index < ROUTES ? &routes[index] : NULL;
}

/* The first part of a path: what is between its first two slashes. */
static size_t first_part(const char *path)
{
    return path[0] == '/' ? 1 + strcspn(path + 1, "/") : 0;
}

enum sv_family sv_route_family(const char *path)
{
    size_t length = first_part(path);
    for (int i = 0; i < ROUTES && length > 0; i++)
        if (first_part(routes[i].path) == length && strncmp(routes[i].path, path, length) == 0)
            return routes[i].family;
    return SV_FAMILY_PLAIN;
}

/* How much of a raw path counts: under /v2 not a slash at its end. */
static size_t length_of(const char *path)
{
    size_t length = strlen(path);
    bool ends = length > 1 && path[length - 1] == '/' && strncmp(path, "/v2/", 4) == 0;
    return length - ends;
}

static bool matches(const struct sv_route *route, const char *path,
                    char arguments[static SV_ARGUMENTS_MAX][SV_PATH_MAX])
{
    const char *end = path + length_of(path);
    int count = 0;
    for (int i = 0; i < SV_ARGUMENTS_MAX; i++)
        arguments[i][0] = '\0';
    for (const char *at = route->path; *at;) {
        size_t fixed = strcspn(at, "{"), left = (size_t)(end - path);
        if (fixed > left || strncmp(at, path, fixed) != 0)
            return false;
        at += fixed;
        path += fixed;
        if (*at == '\0')
            break;
        size_t part = strcspn(path, "/"), most = (size_t)(end - path);
        assert(count < SV_ARGUMENTS_MAX);
        if (!sv_percent_decode(path, part < most ? part : most, arguments[count++], SV_PATH_MAX))
            return false;
        path += part;
        at += strcspn(at, "}") + 1;
    }
    return path == end;
}

static void add_allowed(const char *method, char allow[static SV_ALLOW_MAX])
{
    sv_list_add(allow, SV_ALLOW_MAX, strcmp(method, "GET") == 0 ? "GET, HEAD" : method);
}

const struct sv_route *sv_route_find(const char *method, const char *path,
                                     char arguments[static SV_ARGUMENTS_MAX][SV_PATH_MAX],
                                     char allow[static SV_ALLOW_MAX])
{
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
    allow[0] = '\0';
    for (int i = 0; i < ROUTES; i++) {
        if (!matches(&routes[i], path, arguments))
            continue;
        if (strcmp(routes[i].method, wanted) == 0)
            return &routes[i];
        add_allowed(routes[i].method, allow);
    }
    return NULL;
}

const char *sv_route_instead(const char *path)
{
    static const char no_chats[] =
        "models here complete texts and hold no chats: POST /v1/completions.";

    static const struct {
        const char *path, *instead;
    } rows[] = {
        {"/v1/chat/completions", no_chats},
        {"/v1/responses", no_chats},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].path, path) == 0)
            return rows[i].instead;
    return "GET / lists what there is.";
}

void sv_routes_index(struct sv_text *out)
{
    sv_text_print(out,
                  "{\"name\":\"sluice\",\"version\":\"%s\",\"description\":\"Adaptive-computation "
                  "transformers on CPUs: text completion and classification.\","
                  "\"endpoints\":[",
                  sl_version());
    for (int i = 0; i < ROUTES; i++)
        sv_text_print(out, "%s{\"method\":\"%s\",\"path\":\"%s\"}", i ? "," : "", routes[i].method,
                      routes[i].path);
    sv_text_adds(out, "]}\n");
}
