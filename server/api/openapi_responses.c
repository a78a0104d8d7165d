/* openapi_responses.c - bodies, responses and errors of operations in the OpenAPI document. */
#include "api/openapi_responses.h"
#include "base/comma_list.h"
#include "json/schema_writer.h"

#include <stdio.h>
#include <string.h>

enum { KINDS_MAX = 8, CODES_MAX = 512 };

/* The error bodies of each API: name of the schema and content type. */
static const struct {
    const char *tag, *schema, *media;
} apis[] = {
    [SV_API_OPENAI] = {"OpenAI", "OpenAIError", "application/json"},
    [SV_API_JINA] = {"Jina", "JinaError", "application/json"},
    [SV_API_OIP] = {"Open Inference Protocol", "InferenceProtocolError", "application/json"},
    [SV_API_TEI] = {"Text Embeddings Inference", "TextError", "application/json"},
    [SV_API_HF] = {"Hugging Face Inference", "TextError", "application/json"},
    [SV_API_PLAIN] = {"Daemon", "Problem", "application/problem+json"},
};

const char *sv_openapi_tag(enum sv_api api)
{
    return apis[api].tag;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static void add_media(struct sl_json_writer *json, const char *media, const char *type)
{
    if (!media || !type)
        return;
    sl_json_add(json, "%s:{'schema':", media);
    sv_schema_write_type(json, type);
    sl_json_end_object(json);
}

void sv_openapi_add_body(struct sl_json_writer *json, const struct sv_operation *operation)
{
    bool is_form = !operation->fields;
    if (!operation->body)
        return;
    sl_json_add(json, "'requestBody':{'required':%i,'content':{",
                is_form || sv_schema_is_required(operation->fields));
    add_media(json, is_form ? operation->body_media : "application/json", operation->body);
    if (!is_form)
        add_media(json, operation->body_media, "binary");
    sl_json_add(json, "}}");
}

static void add_success(struct sl_json_writer *json, const char *status, const char *description,
                        const struct sv_operation *operation)
{
    sl_json_add(json, "%s:{'description':%s", status, description);
    if (operation->response || operation->media) {
        sl_json_add(json, "'content':{");
        add_media(json, "application/json", operation->response);
        add_media(json, operation->media,
                  operation->media && operation->media[0] == 'a' ? "binary" : "string");
        sl_json_end_object(json);
    }
    sl_json_end_object(json);
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* The errors of every request, */
static const enum sv_error_kind always[KINDS_MAX] = {SV_BAD_REQUEST,   SV_HOST_NOT_ALLOWED,
                                                     SV_PATH_TOO_LONG, SV_HEAD_TOO_LARGE,
                                                     SV_OVERLOADED,    SV_INTERNAL};

/* of one that needs a key, */
static const enum sv_error_kind of_keys[KINDS_MAX] = {SV_UNAUTHENTICATED, SV_FORBIDDEN};

/* of one with parameters, */
static const enum sv_error_kind of_parameters[KINDS_MAX] = {SV_INVALID_VALUE};

/* and of one with a body. */
static const enum sv_error_kind of_bodies[KINDS_MAX] = {
    SV_INVALID_JSON,      SV_INVALID_VALUE,         SV_EMPTY_INPUT,    SV_MISSING_PARAMETER,
    SV_UNKNOWN_PARAMETER, SV_UNSUPPORTED_PARAMETER, SV_BODY_TOO_LARGE, SV_UNSUPPORTED_MEDIA_TYPE};

static const struct {
    enum sv_fails fails;
    enum sv_error_kind kinds[KINDS_MAX];
} groups[] = {
    {SV_FAILS_MODEL,
     {SV_MODEL_NOT_FOUND, SV_NOT_READY, SV_MISSING_PARAMETER, SV_INVALID_VALUE,
      SV_NOT_A_CLASSIFIER}},
    {SV_FAILS_COMPUTE,
     {SV_CONTEXT_LENGTH, SV_UNKNOWN_CHARACTERS, SV_INVALID_TOKEN, SV_NOT_A_CLASSIFIER, SV_DRAINING,
      SV_DEADLINE_EXCEEDED}},
    {SV_FAILS_STATE, {SV_NOT_IMPLEMENTED, SV_DRAINING}},
    {SV_FAILS_FILE, {SV_FILE_NOT_FOUND}},
    {SV_FAILS_STORAGE, {SV_STORAGE_FULL}},
    {SV_FAILS_JOB, {SV_JOB_NOT_FOUND, SV_CONFLICT, SV_MODEL_NOT_FOUND}},
    {SV_FAILS_CHANGE,
     {SV_MODEL_NOT_FOUND, SV_CONFLICT, SV_LOAD_FAILED, SV_INVALID_VALUE, SV_DRAINING}},
    {SV_FAILS_HEALTH, {SV_NOT_READY, SV_DRAINING}},
    {SV_FAILS_TIME, {SV_DEADLINE_EXCEEDED}},
};

/* Marks the errors that an operation may have. */
struct failures {
    bool may[SV_ERROR_KINDS];
};

static void add_kinds(struct failures *failures, const enum sv_error_kind kinds[KINDS_MAX])
{
    for (int i = 0; i < KINDS_MAX && kinds[i] != SV_OK; i++)
        failures->may[kinds[i]] = true;
}

static struct failures collect(const struct sv_route *route, const struct sv_operation *operation)
{
    struct failures failures = {{false}};
    add_kinds(&failures, always);
    if (route->scope != SV_SCOPE_OPEN)
        add_kinds(&failures, of_keys);
    if (operation->body)
        add_kinds(&failures, of_bodies);
    if (operation->parameters || operation->is_page)
        add_kinds(&failures, of_parameters);
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        if (operation->fails & groups[i].fails)
            add_kinds(&failures, groups[i].kinds);
    return failures;
}

/* The codes with this status; "" if there are none. */
static void list_codes(const struct failures *failures, enum sv_api api, int status,
                       char codes[static CODES_MAX])
{
    codes[0] = '\0';
    for (int i = SV_OK + 1; i < SV_ERROR_KINDS; i++) {
        enum sv_error_kind kind = (enum sv_error_kind)i;
        if (failures->may[i] && sv_error_status(kind, api) == status &&
            !strstr(codes, sv_error_code(kind)))
            sl_list_add(codes, CODES_MAX, sv_error_code(kind));
    }
}

static void add_failures(struct sl_json_writer *json, const struct failures *failures,
                         enum sv_api api)
{
    char path[96], number[16], codes[CODES_MAX];
    (void)snprintf(path, sizeof path, "#/components/responses/%s", apis[api].schema);
    for (int status = 400; status < 600; status++) {
        list_codes(failures, api, status, codes);
        if (!codes[0])
            continue;
        (void)snprintf(number, sizeof number, "%d", status);
        sl_json_add(json, "%s:{'$ref':%s,'description':%s}", number, path, codes);
    }
}

void sv_openapi_add_responses(struct sl_json_writer *json, const struct sv_route *route,
                              const struct sv_operation *operation)
{
    const struct failures failures = collect(route, operation);
    sl_json_add(json, "'responses':{");
    add_success(json, "200", "success", operation);
    if (operation->may_be_accepted)
        add_success(json, "202", "will be done", operation);
    if (operation->may_redirect)
        sl_json_add(json, "'302':{'description':'for browsers: the web console'}");
    add_failures(json, &failures, route->api);
    sl_json_end_object(json);
}

static void add_error_response(struct sl_json_writer *json, enum sv_api api)
{
    sl_json_add(json,
                "%s:{'description':'an error','headers':{"
                "'x-request-id':{'description':'id of the request','schema':{'type':'string'}},"
                "'x-sluice-error':{'description':'code of the error','schema':{'type':'string'}},"
                "'Retry-After':{'description':'seconds to wait before a retry, with 429 and 503',"
                "'schema':{'type':'integer'}}},'content':{",
                apis[api].schema);
    add_media(json, apis[api].media, apis[api].schema);
    sl_json_add(json, "}}");
}

void sv_openapi_add_error_responses(struct sl_json_writer *json)
{
    sl_json_add(json, "'responses':{");
    add_error_response(json, SV_API_OPENAI);
    add_error_response(json, SV_API_JINA);
    add_error_response(json, SV_API_OIP);
    add_error_response(json, SV_API_TEI); /* that of SV_API_HF too */
    add_error_response(json, SV_API_PLAIN);
    sl_json_end_object(json);
}
