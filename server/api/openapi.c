/* openapi.c - the OpenAPI document, from the tables. */
#include "api/openapi.h"
#include "access/authorize.h"
#include "api/endpoints.h"
#include "api/openapi_responses.h"
#include "api/pagination.h"
#include "api/response_schemas.h"
#include "base/json_writer.h"
#include "core/limits.h"
#include "json/schema_writer.h"

#include "sluice/engine.h"
#include "sluice/model.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { ID_MAX = 128, METHOD_MAX = 8 };

/* ---- parameters ------------------------------------------------------------------------------ */

/* What the parts of paths are; the first row whose path is the beginning of the route's. */
static const struct {
    const char *path, *name, *help;
} path_parts[] = {
    {"/v1/models", "id", "model: name, name@version or name:label"},
    {"/v1/files", "id", "id of the file"},
    {"/v1/fine_tuning", "id", "id of the job"},
    {"/", "name", "model: name, name@version or name:label"},
    {"/", "version", "number of a version, or a label"},
    {"/", "label", "label: a letter, then at most 30 letters, digits, '-', '_' and '.'"},
};

static const char *path_help(const char *path, const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof path_parts / sizeof path_parts[0]; i++)
        if (strncmp(path, path_parts[i].path, strlen(path_parts[i].path)) == 0 &&
            strlen(path_parts[i].name) == length && strncmp(path_parts[i].name, name, length) == 0)
            return path_parts[i].help;
    return NULL;
}

static void begin_parameter(struct sl_json_writer *json, const char *in, const char *name,
                            size_t length)
{
    sl_json_begin_object(json);
    sl_json_add_bytes(sl_json_key(json, "name"), name, length);
    sv_openapi_add_text(json, "in", in);
}

static void add_path_parameters(struct sl_json_writer *json, const char *path)
{
    for (const char *at = strchr(path, '{'); at; at = strchr(at, '{')) {
        size_t length = strcspn(++at, "}");
        begin_parameter(json, "path", at, length);
        sl_json_add_bool(sl_json_key(json, "required"), true);
        sv_openapi_add_text(json, "description", path_help(path, at, length));
        sv_schema_write_type(sl_json_key(json, "schema"), "string");
        sl_json_end_object(json);
    }
}

static void add_parameter(struct sl_json_writer *json, const struct sv_parameter *parameter)
{
    begin_parameter(json, parameter->in, parameter->name, strlen(parameter->name));
    sv_openapi_add_text(json, "description", parameter->help);
    sv_schema_write_type(sl_json_key(json, "schema"), parameter->type);
    sl_json_end_object(json);
}

/* With an open schema, for its bounds. */
static void begin_bounded_parameter(struct sl_json_writer *json,
                                    const struct sv_parameter *parameter)
{
    begin_parameter(json, parameter->in, parameter->name, strlen(parameter->name));
    sv_openapi_add_text(json, "description", parameter->help);
    sv_openapi_begin_object(json, "schema");
    sv_openapi_add_text(json, "type", parameter->type);
}

static void add_limit(struct sl_json_writer *json, const struct sv_page_rules *rules)
{
    static const struct sv_parameter limit = {"query", "limit", "integer", "size of a page"};
    begin_bounded_parameter(json, &limit);
    sl_json_add_int(sl_json_key(json, "minimum"), 1);
    sl_json_add_int(sl_json_key(json, "maximum"), rules->limit_max);
    sl_json_add_int(sl_json_key(json, "default"), rules->limit_default);
    sl_json_end_object(json);
    sl_json_end_object(json);
}

/* ?metadata[name]=value, and ?metadata=null. */
static void add_metadata(struct sl_json_writer *json)
{
    begin_parameter(json, "query", "metadata", strlen("metadata"));
    sv_openapi_add_text(json, "description",
                        "only items with these strings in their metadata; null: without any");
    sv_openapi_add_text(json, "style", "deepObject");
    sl_json_add_bool(sl_json_key(json, "explode"), true);
    sv_schema_write_type(sl_json_key(json, "schema"), "{string}|null");
    sl_json_end_object(json);
}

static void add_page_parameters(struct sl_json_writer *json, enum sv_collection collection)
{
    static const struct sv_parameter after = {"query", "after", "string",
                                              "id of the last item of the page before"};
    static const struct sv_parameter order = {"query", "order", "'desc'|'asc'",
                                              "newest first, or oldest first"};
    const struct sv_page_rules *rules = sv_page_rules(collection);
    const struct sv_parameter filter = {"query", rules->filter, "string",
                                        "only items with this value"};
    add_limit(json, rules);
    add_parameter(json, &after);
    add_parameter(json, &order);
    if (rules->filter)
        add_parameter(json, &filter);
    if (rules->has_metadata)
        add_metadata(json);
}

static void add_budget(struct sl_json_writer *json)
{
    static const struct sv_parameter budget = {
        "header", "X-Sluice-Budget", "number",
        "budget of the request, if its body has none; chooses an operating point"};
    begin_bounded_parameter(json, &budget);
    sl_json_add_real(sl_json_key(json, "minimum"), SV_BUDGET_MIN);
    sl_json_add_int(sl_json_key(json, "maximum"), 1);
    sl_json_end_object(json);
    sl_json_end_object(json);
}

static void add_parameters(struct sl_json_writer *json, const struct sv_route *route,
                           const struct sv_operation *operation)
{
    static const struct sv_parameter timeout = {"header", "X-Request-Timeout-Ms", "integer",
                                                "deadline of the request in milliseconds"};
    sl_json_begin_array(sl_json_key(json, "parameters"));
    add_path_parameters(json, route->path);
    if (operation->is_page)
        add_page_parameters(json, operation->collection);
    for (const struct sv_parameter *p = operation->parameters; p && p->name; p++)
        add_parameter(json, p);
    if (operation->fails & SV_FAILS_COMPUTE)
        add_parameter(json, &timeout);
    if (operation->takes_budget)
        add_budget(json);
    sl_json_end_array(json);
}

/* ---- operations ------------------------------------------------------------------------------ */

/* Whether no earlier route has its operation. */
static bool is_first(const struct sv_route *route)
{
    const struct sv_route *first = sv_routes.routes;
    while (first->operation != route->operation)
        first++;
    return first == route;
}

/* The first route of an operation has its id; others add their path. */
static void operation_id(const struct sv_route *route, char id[static ID_MAX])
{
    size_t used = 0;
    if (is_first(route))
        (void)snprintf(id, ID_MAX, "%s", route->operation->id);
    else
        (void)snprintf(id, ID_MAX, "%s_at%s", route->operation->id,
                       strcmp(route->path, "/") == 0 ? "/root" : route->path);
    for (const char *c = id; *c; c++)
        if (*c != '{' && *c != '}')
            id[used++] = *c == '/' ? '_' : *c;
    id[used] = '\0';
}

/* Keys are needed only where the daemon has some. */
static void add_security(struct sl_json_writer *json, enum sv_scope scope)
{
    sl_json_begin_array(sl_json_key(json, "security"));
    if (scope != SV_SCOPE_OPEN) {
        sl_json_begin_object(json);
        sl_json_begin_array(sl_json_key(json, "apiKey"));
        sl_json_add_string(json, sl_scope_name(sv_key_scope(scope)));
        sl_json_end_array(json);
        sl_json_end_object(json);
    }
    sl_json_begin_object(json);
    sl_json_end_object(json);
    sl_json_end_array(json);
}

static void add_place(struct sl_json_writer *json, const struct sv_route *route)
{
    if (route->listeners == SV_ON_INFERENCE)
        sv_openapi_add_text(json, "description", "On the inference listener only.");
    else if (route->scope >= SV_SCOPE_TRAIN)
        sv_openapi_add_text(json, "description", "Without API keys, on the admin listener only.");
}

static void add_operation(struct sl_json_writer *json, const struct sv_route *route)
{
    const struct sv_operation *operation = route->operation;
    char id[ID_MAX], method[METHOD_MAX] = "";
    for (size_t i = 0; i + 1 < sizeof method && route->method[i]; i++)
        method[i] = (char)tolower((unsigned char)route->method[i]);
    operation_id(route, id);
    sv_openapi_begin_object(json, method);
    sv_openapi_add_text(json, "operationId", id);
    sv_openapi_add_text(json, "summary", operation->summary);
    add_place(json, route);
    sl_json_begin_array(sl_json_key(json, "tags"));
    sl_json_add_string(json, sv_openapi_tag(route->api));
    sl_json_end_array(json);
    add_security(json, route->scope);
    add_parameters(json, route, operation);
    sv_openapi_add_body(json, operation);
    sv_openapi_add_responses(json, route, operation);
    sl_json_end_object(json);
}

/* Whether an earlier route has this path. */
static bool is_repeated(int index, enum sv_listener listeners)
{
    const struct sv_route *routes = sv_routes.routes;
    for (int i = 0; i < index; i++)
        if ((routes[i].listeners & listeners) && strcmp(routes[i].path, routes[index].path) == 0)
            return true;
    return false;
}

static void add_paths(struct sl_json_writer *json, enum sv_listener listeners)
{
    const struct sv_route *routes = sv_routes.routes;
    sv_openapi_begin_object(json, "paths");
    for (int i = 0; i < sv_routes.count; i++) {
        if (!(routes[i].listeners & listeners) || is_repeated(i, listeners))
            continue;
        sv_openapi_begin_object(json, routes[i].path);
        for (int j = i; j < sv_routes.count; j++)
            if ((routes[j].listeners & listeners) && strcmp(routes[j].path, routes[i].path) == 0)
                add_operation(json, &routes[j]);
        sl_json_end_object(json);
    }
    sl_json_end_object(json);
}

/* ---- components ------------------------------------------------------------------------------ */

static void add_request_schemas(struct sl_json_writer *json)
{
    for (int i = 0; i < sv_routes.count; i++) {
        const struct sv_operation *operation = sv_routes.routes[i].operation;
        if (operation->fields && is_first(&sv_routes.routes[i]))
            sv_schema_write_fields(sl_json_key(json, operation->body), operation->fields);
    }
}

static bool is_optional(const struct sv_response_member *member)
{
    return member->name[strlen(member->name) - 1] == '?';
}

/* Two architectures may call their thresholds alike. */
static void add_thresholds(struct sl_json_writer *json, const char *type)
{
    enum { HELP_MAX = 96 };

    struct sl_threshold threshold, earlier;
    char help[HELP_MAX];
    for (int i = 0; sl_threshold_at(i, &threshold); i++) {
        int first = 0;
        while (sl_threshold_at(first, &earlier) && strcmp(earlier.name, threshold.name) != 0)
            first++;
        if (first < i)
            continue;
        (void)snprintf(help, sizeof help, "threshold of %s models", threshold.architecture);
        sv_schema_write_described(sl_json_key(json, threshold.name), type, help);
    }
}

static void add_member(struct sl_json_writer *json, const struct sv_response_member *member)
{
    if (strcmp(member->name, SV_THRESHOLDS) == 0) {
        add_thresholds(json, member->type);
        return;
    }
    sv_schema_write_described(
        sl_json_key_bytes(json, member->name, strlen(member->name) - is_optional(member)),
        member->type, member->help);
}

/* One schema, and the first row after it. */
static const struct sv_response_member *add_schema(struct sl_json_writer *json,
                                                   const struct sv_response_member *first)
{
    const struct sv_response_member *end = first, *m;
    while (end->schema && strcmp(end->schema, first->schema) == 0)
        end++;
    (void)sl_json_key(json, first->schema);
    if (!first->name) {
        sv_schema_write_described(json, first->type, first->help);
        return end;
    }
    sl_json_begin_object(json);
    sv_openapi_add_text(json, "type", "object");
    sl_json_begin_array(sl_json_key(json, "required"));
    for (m = first; m < end; m++)
        if (!is_optional(m))
            sl_json_add_string(json, m->name);
    sl_json_end_array(json);
    sv_openapi_begin_object(json, "properties");
    for (m = first; m < end; m++)
        add_member(json, m);
    sl_json_end_object(json);
    sl_json_end_object(json);
    return end;
}

static void add_components(struct sl_json_writer *json)
{
    sv_openapi_begin_object(json, "components");
    sv_openapi_begin_object(json, "securitySchemes");
    sv_openapi_begin_object(json, "apiKey");
    sv_openapi_add_text(json, "type", "http");
    sv_openapi_add_text(json, "scheme", "bearer");
    sv_openapi_add_text(json, "description", "API key with the scope of the endpoint");
    sl_json_end_object(json);
    sl_json_end_object(json);
    sv_openapi_begin_object(json, "schemas");
    add_request_schemas(json);
    for (const struct sv_response_member *m = sv_response_members; m->schema;)
        m = add_schema(json, m);
    sl_json_end_object(json);
    sv_openapi_add_error_responses(json);
    sl_json_end_object(json);
}

/* ---- the document ---------------------------------------------------------------------------- */

static void add_info(struct sl_json_writer *json)
{
    sv_openapi_begin_object(json, "info");
    sv_openapi_add_text(json, "title", "Sluice");
    sv_openapi_add_text(json, "version", sl_version());
    sv_openapi_add_text(json, "summary", "Text classification and text completion on CPUs");
    sv_openapi_add_text(
        json, "description",
        "HEAD works wherever GET does. Every response has the header x-request-id. Optional "
        "fields of a request may be null, which is the same as leaving them out.");
    sv_openapi_begin_object(json, "license");
    sv_openapi_add_text(json, "name", "Apache-2.0");
    sv_openapi_add_text(json, "identifier", "Apache-2.0");
    sl_json_end_object(json);
    sl_json_end_object(json);
}

static void write_document(struct sl_json_writer *json, enum sv_listener listeners)
{
    sl_json_begin_object(json);
    sv_openapi_add_text(json, "openapi", "3.1.0");
    add_info(json);
    sl_json_begin_array(sl_json_key(json, "servers"));
    sl_json_begin_object(json);
    sv_openapi_add_text(json, "url", "/");
    sl_json_end_object(json);
    sl_json_end_array(json);
    add_paths(json, listeners);
    add_components(json);
    sl_json_end_object(json);
    sl_buffer_append_string(json->out, "\n");
}

void sv_openapi_write(struct sl_buffer *out, enum sv_listener listeners)
{
    write_document(&(struct sl_json_writer){.out = out}, listeners);
}

void sv_openapi_print(struct sl_buffer *out)
{
    enum { LINE_DEPTH = 5 }; /* a response or a property is a line */

    write_document(&(struct sl_json_writer){.out = out, .line_depth = LINE_DEPTH}, SV_ON_BOTH);
}
