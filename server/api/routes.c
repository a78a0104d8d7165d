/* routes.c - the table of endpoints: method, path, scope, listeners, API, handler. */
#include "api/routes.h"
#include "api/handlers.h"
#include "base/json_writer.h"
#include "state/audit_log.h"

#include "sluice/engine.h"

#define JOBS "/v1/fine_tuning/jobs"

static const struct sv_route routes[] = {
    {"GET", "/", SV_SCOPE_OPEN, SV_ON_BOTH, SV_API_TEI, sv_handle_root},
    {"GET", "/openapi.json", SV_SCOPE_OPEN, SV_ON_BOTH, SV_API_PLAIN, sv_handle_openapi},
    {"GET", "/metrics", SV_SCOPE_METRICS, SV_ON_BOTH, SV_API_PLAIN, sv_handle_metrics},

    {"POST", "/v1/completions", SV_SCOPE_INFER, SV_ON_INFERENCE, SV_API_OPENAI,
     sv_handle_completions},
    {"POST", "/v1/decisions", SV_SCOPE_INFER, SV_ON_INFERENCE, SV_API_OPENAI, sv_handle_decisions},
    {"POST", "/v1/embeddings", SV_SCOPE_INFER, SV_ON_INFERENCE, SV_API_OPENAI,
     sv_handle_embeddings},
    {"GET", "/v1/models", SV_SCOPE_INFER, SV_ON_BOTH, SV_API_OPENAI, sv_handle_models},
    {"GET", "/v1/models/{id}", SV_SCOPE_INFER, SV_ON_BOTH, SV_API_OPENAI, sv_handle_model},
    {"DELETE", "/v1/models/{id}", SV_SCOPE_ADMIN, SV_ON_BOTH, SV_API_OPENAI,
     sv_handle_model_delete},
    {"GET", "/v1/models/{id}/versions", SV_SCOPE_INFER, SV_ON_BOTH, SV_API_OPENAI,
     sv_handle_versions},
    {"PUT", "/v1/models/{id}/labels/{label}", SV_SCOPE_ADMIN, SV_ON_BOTH, SV_API_OPENAI,
     sv_handle_label_set},
    {"DELETE", "/v1/models/{id}/labels/{label}", SV_SCOPE_ADMIN, SV_ON_BOTH, SV_API_OPENAI,
     sv_handle_label_delete},
    {"POST", "/v1/models/{id}/rollback", SV_SCOPE_ADMIN, SV_ON_BOTH, SV_API_OPENAI,
     sv_handle_rollback},

    {"POST", "/v1/files", SV_SCOPE_TRAIN, SV_ON_BOTH, SV_API_OPENAI, sv_handle_file_upload},
    {"GET", "/v1/files", SV_SCOPE_TRAIN, SV_ON_BOTH, SV_API_OPENAI, sv_handle_files},
    {"GET", "/v1/files/{id}", SV_SCOPE_TRAIN, SV_ON_BOTH, SV_API_OPENAI, sv_handle_file},
    {"GET", "/v1/files/{id}/content", SV_SCOPE_TRAIN, SV_ON_BOTH, SV_API_OPENAI,
     sv_handle_file_content},
    {"DELETE", "/v1/files/{id}", SV_SCOPE_TRAIN, SV_ON_BOTH, SV_API_OPENAI, sv_handle_file_delete},
    {"GET", "/v1/audit", SV_SCOPE_ADMIN, SV_ON_BOTH, SV_API_OPENAI, sv_handle_audit},

    {"POST", JOBS, SV_SCOPE_TRAIN, SV_ON_BOTH, SV_API_OPENAI, sv_handle_job_create},
    {"GET", JOBS, SV_SCOPE_TRAIN, SV_ON_BOTH, SV_API_OPENAI, sv_handle_jobs},
    {"GET", JOBS "/{id}", SV_SCOPE_TRAIN, SV_ON_BOTH, SV_API_OPENAI, sv_handle_job},
    {"POST", JOBS "/{id}/cancel", SV_SCOPE_TRAIN, SV_ON_BOTH, SV_API_OPENAI, sv_handle_job_cancel},
    {"POST", JOBS "/{id}/pause", SV_SCOPE_TRAIN, SV_ON_BOTH, SV_API_OPENAI, sv_handle_job_pause},
    {"POST", JOBS "/{id}/resume", SV_SCOPE_TRAIN, SV_ON_BOTH, SV_API_OPENAI, sv_handle_job_resume},
    {"GET", JOBS "/{id}/events", SV_SCOPE_TRAIN, SV_ON_BOTH, SV_API_OPENAI, sv_handle_job_events},
    {"GET", JOBS "/{id}/checkpoints", SV_SCOPE_TRAIN, SV_ON_BOTH, SV_API_OPENAI,
     sv_handle_job_checkpoints},

    {"POST", "/predict", SV_SCOPE_INFER, SV_ON_INFERENCE, SV_API_TEI, sv_handle_predict},
    {"POST", "/", SV_SCOPE_INFER, SV_ON_INFERENCE, SV_API_TEI, sv_handle_predict},
    {"POST", "/invocations", SV_SCOPE_INFER, SV_ON_INFERENCE, SV_API_TEI, sv_handle_predict},
    {"POST", "/embed", SV_SCOPE_INFER, SV_ON_INFERENCE, SV_API_TEI, sv_handle_embed},
    {"POST", "/tokenize", SV_SCOPE_INFER, SV_ON_INFERENCE, SV_API_TEI, sv_handle_tokenize},
    {"POST", "/decode", SV_SCOPE_INFER, SV_ON_INFERENCE, SV_API_TEI, sv_handle_decode},
    {"GET", "/info", SV_SCOPE_INFER, SV_ON_BOTH, SV_API_TEI, sv_handle_info},
    {"POST", "/models/{name}/predict", SV_SCOPE_INFER, SV_ON_INFERENCE, SV_API_TEI,
     sv_handle_predict},
    {"POST", "/models/{name}/embed", SV_SCOPE_INFER, SV_ON_INFERENCE, SV_API_TEI, sv_handle_embed},
    {"POST", "/models/{name}/tokenize", SV_SCOPE_INFER, SV_ON_INFERENCE, SV_API_TEI,
     sv_handle_tokenize},
    {"POST", "/models/{name}/decode", SV_SCOPE_INFER, SV_ON_INFERENCE, SV_API_TEI,
     sv_handle_decode},
    {"GET", "/models/{name}/info", SV_SCOPE_INFER, SV_ON_BOTH, SV_API_TEI, sv_handle_info},
    {"POST", "/hf/{name}", SV_SCOPE_INFER, SV_ON_INFERENCE, SV_API_HF, sv_handle_hf},
    {"GET", "/health", SV_SCOPE_OPEN, SV_ON_BOTH, SV_API_TEI, sv_handle_health},
    {"GET", "/ping", SV_SCOPE_OPEN, SV_ON_BOTH, SV_API_TEI, sv_handle_health},

    {"GET", "/v2", SV_SCOPE_OPEN, SV_ON_BOTH, SV_API_OIP, sv_handle_server_metadata},
    {"GET", "/v2/health/live", SV_SCOPE_OPEN, SV_ON_BOTH, SV_API_OIP, sv_handle_live},
    {"GET", "/v2/health/ready", SV_SCOPE_OPEN, SV_ON_BOTH, SV_API_OIP, sv_handle_ready},
    {"GET", "/v2/models/stats", SV_SCOPE_INFER, SV_ON_BOTH, SV_API_OIP, sv_handle_all_stats},
    {"GET", "/v2/models/{name}", SV_SCOPE_INFER, SV_ON_BOTH, SV_API_OIP, sv_handle_model_metadata},
    {"GET", "/v2/models/{name}/ready", SV_SCOPE_OPEN, SV_ON_BOTH, SV_API_OIP,
     sv_handle_model_ready},
    {"POST", "/v2/models/{name}/infer", SV_SCOPE_INFER, SV_ON_INFERENCE, SV_API_OIP,
     sv_handle_infer},
    {"GET", "/v2/models/{name}/stats", SV_SCOPE_INFER, SV_ON_BOTH, SV_API_OIP, sv_handle_stats},
    {"GET", "/v2/models/{name}/versions/{version}", SV_SCOPE_INFER, SV_ON_BOTH, SV_API_OIP,
     sv_handle_model_metadata},
    {"GET", "/v2/models/{name}/versions/{version}/ready", SV_SCOPE_OPEN, SV_ON_BOTH, SV_API_OIP,
     sv_handle_model_ready},
    {"POST", "/v2/models/{name}/versions/{version}/infer", SV_SCOPE_INFER, SV_ON_INFERENCE,
     SV_API_OIP, sv_handle_infer},
    {"GET", "/v2/models/{name}/versions/{version}/stats", SV_SCOPE_INFER, SV_ON_BOTH, SV_API_OIP,
     sv_handle_stats},
    {"POST", "/v2/repository/index", SV_SCOPE_INFER, SV_ON_BOTH, SV_API_OIP,
     sv_handle_repository_index},
    {"POST", "/v2/repository/models/{name}/load", SV_SCOPE_ADMIN, SV_ON_BOTH, SV_API_OIP,
     sv_handle_repository_load},
    {"POST", "/v2/repository/models/{name}/unload", SV_SCOPE_ADMIN, SV_ON_BOTH, SV_API_OIP,
     sv_handle_repository_unload},
    {"POST", "/v2/repository/models/{name}/versions/{version}/load", SV_SCOPE_ADMIN, SV_ON_BOTH,
     SV_API_OIP, sv_handle_repository_load},
    {"POST", "/v2/repository/models/{name}/versions/{version}/unload", SV_SCOPE_ADMIN, SV_ON_BOTH,
     SV_API_OIP, sv_handle_repository_unload},
};

static const char no_chats[] = "chat is not supported; use POST /v1/completions.";

static const struct sv_route_hint hints[] = {
    {"/v1/chat/completions", no_chats},
    {"/v1/responses", no_chats},
    {NULL, NULL},
};

static const struct sv_route_sink sinks[] = {{"/v1/files", &sv_file_sink}, {NULL, NULL}};

/* Each route that changes something; a test compares it with the routes' scopes. */
static const struct sv_route_action actions[] = {
    {"DELETE", "/v1/models/{id}", "model.unload"},
    {"PUT", "/v1/models/{id}/labels/{label}", "label.set"},
    {"DELETE", "/v1/models/{id}/labels/{label}", "label.delete"},
    {"POST", "/v1/models/{id}/rollback", "model.rollback"},
    {"POST", "/v2/repository/models/{name}/load", "model.load"},
    {"POST", "/v2/repository/models/{name}/unload", "model.unload"},
    {"POST", "/v2/repository/models/{name}/versions/{version}/load", "model.load"},
    {"POST", "/v2/repository/models/{name}/versions/{version}/unload", "model.unload"},
    {"POST", "/v1/files", "file.create"},
    {"DELETE", "/v1/files/{id}", "file.delete"},
    {"POST", JOBS, "job.create"},
    {"POST", JOBS "/{id}/cancel", "job.cancel"},
    {"POST", JOBS "/{id}/pause", "job.pause"},
    {"POST", JOBS "/{id}/resume", "job.resume"},
    {NULL, NULL, NULL},
};

const struct sv_router sv_routes = {.routes = routes,
                                    .count = sizeof routes / sizeof routes[0],
                                    .sinks = sinks,
                                    .hints = hints,
                                    .actions = actions,
                                    .on_failure = sv_audit_failure};

void sv_routes_index(struct sl_buffer *out)
{
    struct sl_json_writer json = {.out = out};
    sl_json_begin_object(&json);
    sl_json_add_string(sl_json_key(&json, "name"), "sluice");
    sl_json_add_string(sl_json_key(&json, "version"), sl_version());
    sl_json_add_string(sl_json_key(&json, "description"),
                       "Adaptive-computation transformers on CPUs: text completion, "
                       "classification and embeddings.");
    sl_json_begin_array(sl_json_key(&json, "endpoints"));
    for (int i = 0; i < sv_routes.count; i++) {
        sl_json_begin_object(&json);
        sl_json_add_string(sl_json_key(&json, "method"), routes[i].method);
        sl_json_add_string(sl_json_key(&json, "path"), routes[i].path);
        sl_json_end_object(&json);
    }
    sl_json_end_array(&json);
    sl_json_end_object(&json);
    sl_buffer_append_string(out, "\n");
}
