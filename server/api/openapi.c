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

#include <assert.h>
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
    {"/", "file", "name of the file, such as style.css"},
    {"/hf", "task", "task of Hugging Face's pipelines"},
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

static void add_path_parameters(struct sl_json_writer *json, const char *path)
{
    for (const char *at = strchr(path, '{'); at; at = strchr(at, '{')) {
        size_t length = strcspn(++at, "}");
        sl_json_add(json,
                    "{'name':%.*s,'in':'path','required':true,'description':%s,"
                    "'schema':{'type':'string'}}",
                    (int)length, at, path_help(path, at, length));
    }
}

static void add_parameter(struct sl_json_writer *json, const struct sv_parameter *parameter)
{
    sl_json_add(json, "{'name':%s,'in':%s,'description':%s,'schema':", parameter->name,
                parameter->in, parameter->help);
    sv_schema_write_type(json, parameter->type);
    sl_json_end_object(json);
}

static void add_limit(struct sl_json_writer *json, const struct sv_page_rules *rules)
{
    sl_json_add(json,
                "{'name':'limit','in':'query','description':'size of a page','schema':{"
                "'type':'integer','minimum':1,'maximum':%d,'default':%d}}",
                rules->limit_max, rules->limit_default);
}

/* ?metadata[name]=value, and ?metadata=null. */
static void add_metadata(struct sl_json_writer *json)
{
    sl_json_add(json, "{'name':'metadata','in':'query','description':'only items with these "
                      "strings in their metadata; null: without any','style':'deepObject',"
                      "'explode':true,'schema':");
    sv_schema_write_type(json, "{string}|null");
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
    sl_json_add(json,
                "{'name':'X-Sluice-Budget','in':'header','description':'budget of the request, if "
                "its body has none; chooses an operating point','schema':{'type':'number',"
                "'minimum':%g,'maximum':1}}",
                SV_BUDGET_MIN);
}

static void add_parameters(struct sl_json_writer *json, const struct sv_route *route,
                           const struct sv_operation *operation)
{
    static const struct sv_parameter timeout = {"header", "X-Request-Timeout-Ms", "integer",
                                                "deadline of the request in milliseconds"};
    sl_json_add(json, "'parameters':[");
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
        if (*c == '/')
            id[used++] = '_';
        else if (*c != '{' && *c != '}')
            id[used++] = *c;
    id[used] = '\0';
}

/* Keys are needed only where the daemon has some. */
static void add_security(struct sl_json_writer *json, enum sv_scope scope)
{
    sl_json_add(json, "'security':[");
    if (scope != SV_SCOPE_OPEN)
        sl_json_add(json, "{'apiKey':[%s]}", sl_scope_name(sv_key_scope(scope)));
    sl_json_add(json, "{}]");
}

static void add_place(struct sl_json_writer *json, const struct sv_route *route)
{
    if (route->scope >= SV_SCOPE_TRAIN)
        sl_json_add(json, "'description':'Without API keys, on the admin listener only.'");
}

static void add_operation(struct sl_json_writer *json, const struct sv_route *route)
{
    const struct sv_operation *operation = route->operation;
    char id[ID_MAX], method[METHOD_MAX] = "";
    for (size_t i = 0; i + 1 < sizeof method && route->method[i]; i++)
        method[i] = (char)tolower((unsigned char)route->method[i]);
    operation_id(route, id);
    sl_json_add(json, "%s:{'operationId':%s,'summary':%s", method, id, operation->summary);
    add_place(json, route);
    sl_json_add(json, "'tags':[%s]", sv_openapi_tag(route->api));
    add_security(json, route->scope);
    add_parameters(json, route, operation);
    sv_openapi_add_body(json, operation);
    sv_openapi_add_responses(json, route, operation);
    sl_json_end_object(json);
}

/* Whether an earlier route has this path. */
static bool is_repeated(int index)
{
    const struct sv_route *routes = sv_routes.routes;
    for (int i = 0; i < index; i++)
        if (strcmp(routes[i].path, routes[index].path) == 0)
            return true;
    return false;
}

static void add_paths(struct sl_json_writer *json)
{
    const struct sv_route *routes = sv_routes.routes;
    sl_json_add(json, "'paths':{");
    for (int i = 0; i < sv_routes.count; i++) {
        if (is_repeated(i))
            continue;
        sl_json_add(json, "%s:{", routes[i].path);
        for (int j = i; j < sv_routes.count; j++)
            if (strcmp(routes[j].path, routes[i].path) == 0)
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

/* One member of a response. */
struct member {
    char name[64], type[128], help[256];
    bool is_optional;
};

/* Reads `name: type (help)`, or a type alone. Returns what follows. */
static const char *read_member(const char *text, struct member *m)
{
    size_t length = strcspn(text, ": ");
    bool has_name = text[length] == ':';
    m->is_optional = has_name && text[length - 1] == '?';
    (void)snprintf(m->name, sizeof m->name, "%.*s", has_name ? (int)length - m->is_optional : 0,
                   text);
    text += has_name ? length + 2 : 0;
    length = strcspn(text, "; ");
    (void)snprintf(m->type, sizeof m->type, "%.*s", (int)length, text);
    text += length;
    length = strncmp(text, " (", 2) == 0 ? strcspn(text, ")") - 2 : 0;
    assert(length < sizeof m->help);
    (void)snprintf(m->help, sizeof m->help, "%.*s", (int)length, text + (length > 0 ? 2 : 0));
    text += length > 0 ? length + 3 : 0;
    return text + strspn(text, "; ");
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

static void add_member(struct sl_json_writer *json, const struct member *m)
{
    if (strcmp(m->name, "<threshold>") == 0)
        add_thresholds(json, m->type);
    else
        sv_schema_write_described(m->name[0] ? sl_json_key(json, m->name) : json, m->type,
                                  m->help[0] ? m->help : NULL);
}

static void add_schema(struct sl_json_writer *json, const struct sv_response_schema *schema)
{
    struct member m;
    (void)sl_json_key(json, schema->name);
    (void)read_member(schema->members, &m);
    if (!m.name[0]) {
        add_member(json, &m);
        return;
    }
    sl_json_add(json, "{'type':'object','required':[");
    for (const char *at = schema->members; *at;) {
        at = read_member(at, &m);
        if (!m.is_optional)
            sl_json_add_string(json, m.name);
    }
    sl_json_add(json, "],'properties':{");
    for (const char *at = schema->members; *at;) {
        at = read_member(at, &m);
        add_member(json, &m);
    }
    sl_json_add(json, "}}");
}

static void add_components(struct sl_json_writer *json)
{
    sl_json_add(json, "'components':{'securitySchemes':{'apiKey':{'type':'http','scheme':'bearer',"
                      "'description':'API key with the scope of the endpoint'}},'schemas':{");
    add_request_schemas(json);
    for (const struct sv_response_schema *schema = sv_response_schemas; schema->name; schema++)
        add_schema(json, schema);
    sl_json_end_object(json);
    sv_openapi_add_error_responses(json);
    sl_json_end_object(json);
}

/* ---- the document ---------------------------------------------------------------------------- */

static void write_document(struct sl_json_writer *json)
{
    sl_json_add(json,
                "{'openapi':'3.1.0','info':{'title':'Sluice','version':%s,'summary':"
                "'Text classification and text completion on CPUs','description':'HEAD works "
                "wherever GET does. Every response has the header x-request-id. Optional fields of "
                "a request may be null, which is the same as leaving them out.','license':{"
                "'name':'Apache-2.0','identifier':'Apache-2.0'}},'servers':[{'url':'/'}]",
                sl_version());
    add_paths(json);
    add_components(json);
    sl_json_end_object(json);
    sl_buffer_append_string(json->out, "\n");
}

void sv_openapi_write(struct sl_buffer *out)
{
    write_document(&(struct sl_json_writer){.out = out});
}

void sv_openapi_print(struct sl_buffer *out)
{
    enum { LINE_DEPTH = 5 }; /* a response or a property is a line */

    write_document(&(struct sl_json_writer){.out = out, .line_depth = LINE_DEPTH});
}
