/* endpoints.c - the routes and the operations of endpoint_table.def. */
#include "api/endpoints.h"
#include "api/handlers.h"
#include "params/completion_params.h"
#include "params/decision_params.h"
#include "params/embed_params.h"
#include "params/hf_params.h"
#include "params/infer_params.h"
#include "params/job_params.h"
#include "params/predict_params.h"
#include "params/registry_params.h"
#include "params/rerank_params.h"
#include "params/tokenize_params.h"
#include "state/audit_log.h"

/* ---- what rows name -------------------------------------------------------------------------- */

static const struct sv_parameter names_model[] = {
    {"query", "model", "string", "model, if the path names none: name, name@version or name:label"},
    {"header", "X-Model", "string", "the same"},
    {NULL, NULL, NULL, NULL},
};

static const struct sv_parameter may_be_async[] = {
    {"query", "async", "boolean", "respond 202 at once; the index says what became of it"},
    {NULL, NULL, NULL, NULL},
};

static const struct sv_parameter may_stream[] = {
    {"query", "stream", "boolean", "send server-sent events: those so far, then new ones"},
    {"header", "Last-Event-ID", "string", "id of the event to continue a stream after"},
    {NULL, NULL, NULL, NULL},
};

static const struct sv_parameter chooses_columns[] = {
    {"query", "label", "string",
     "column of the label, as the hyper-parameter of jobs; default: "
     "label, or what can only be it"},
    {"query", "text", "string", "columns of the text; default: text, or what can only be it"},
    {"query", "label_separator", "string", "separator between the labels of a text"},
    {"query", "records", "size", "number of records in the response, at most 100000; default: 5"},
    {NULL, NULL, NULL, NULL},
};

static const struct sv_parameter is_idempotent[] = {
    {"header", "Idempotency-Key", "string", "the same request with the same key makes one job"},
    {NULL, NULL, NULL, NULL},
};

static const struct sv_parameter may_be_binary[] = {
    {"header", "Inference-Header-Content-Length", "size",
     "length of the JSON, if binary tensors follow it"},
    {NULL, NULL, NULL, NULL},
};

static const char octets[] = "application/octet-stream";
static const char events[] = "text/event-stream";

/* ---- the tables ------------------------------------------------------------------------------ */

#define SV_ENDPOINT(handler, method, path, scope, api, action, ...)                                \
    static const struct sv_operation of_##handler = {__VA_ARGS__};
#define SV_ALSO_AT(handler, method, path, scope, api, action)
#include "api/endpoint_table.def"
#undef SV_ENDPOINT
#undef SV_ALSO_AT

#define SV_ALSO_AT(handler, method, path, scope, api, action)                                      \
    {method, path, SV_SCOPE_##scope, SV_API_##api, sv_handle_##handler, action, &of_##handler},
#define SV_ENDPOINT(handler, method, path, scope, api, action, ...)                                \
    SV_ALSO_AT(handler, method, path, scope, api, action)
static const struct sv_route routes[] = {
#include "api/endpoint_table.def"
};

static const struct sv_route_hint hints[] = {
    {"/v1/responses", "use POST /v1/chat/completions."},
    {NULL, NULL},
};

static const struct sv_route_sink sinks[] = {{"/v1/files", &sv_file_sink}, {NULL, NULL}};

const struct sv_router sv_routes = {.routes = routes,
                                    .count = sizeof routes / sizeof routes[0],
                                    .sinks = sinks,
                                    .hints = hints,
                                    .on_failure = sv_audit_failure};
