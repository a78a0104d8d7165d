/* handle_models.c - GET /v1/models and /v1/models/{id}: what can be asked, in OpenAI's shape. */
#include "api/handlers.h"
#include "api/model_resolver.h"
#include "base/json_writer.h"

#include "sluice/model.h"

static void write_model(struct sl_buffer *out, const struct sv_model_ref *ref)
{
    const struct sl_model_info *info = sl_model_info(sv_model_ref_model(ref));
    sl_buffer_append_string(out, "{\"id\":");
    sl_json_quote(out, sv_model_ref_name(ref));
    sl_buffer_printf(out,
                     ",\"object\":\"model\",\"created\":%lld,\"owned_by\":\"local\","
                     "\"max_model_len\":%d,\"sluice\":{\"version\":\"%s\",\"architecture\":",
                     (long long)info->created, info->context, sv_model_ref_version(ref));
    sl_json_quote(out, info->architecture);
    sl_buffer_append_string(out, ",\"paper\":");
    sl_json_quote(out, info->paper);
    sl_buffer_printf(out,
                     ",\"task\":\"%s\",\"parameters\":%lld,\"depth\":%d,\"width\":%d,\"vocab\":%d",
                     info->task == SL_TASK_COMPLETION ? "completion" : "classification",
                     (long long)info->parameters, info->depth, info->width, info->vocab);
    sl_buffer_append_string(out, ",\"gate\":");
    sl_json_quote(out, info->gate);
    sl_buffer_append_string(out, ",\"sha256\":");
    sl_json_quote(out, info->sha256);
    for (int i = 0; i < info->classes; i++) {
        sl_buffer_append_string(out, i ? "," : ",\"labels\":[");
        sl_json_quote(out, info->labels[i]);
    }
    sl_buffer_append_string(out, info->classes > 0 ? "]}}" : "}}");
}

enum sv_progress sv_handle_models(struct sv_request *request)
{
    struct sl_buffer *body = &request->response.body;
    sl_buffer_append_string(body, "{\"object\":\"list\",\"data\":[");
    struct sv_model_ref *ref;
    for (int i = 0; (ref = sv_registry_acquire_at(request->server->registry, i)); i++) {
        sl_buffer_append_string(body, i ? "," : "");
        write_model(body, ref);
        sv_model_ref_release(ref);
    }
    sl_buffer_append_string(body, "]}");
    return sv_request_respond(request, 200, "application/json");
}

enum sv_progress sv_handle_model(struct sv_request *request)
{
    struct sv_error error;
    struct sv_model_ref *ref = sv_resolve_model(request, request->path_params[0], &error);
    if (!ref)
        return sv_request_fail(request, &error);
    write_model(&request->response.body, ref);
    sv_model_ref_release(ref);
    return sv_request_respond(request, 200, "application/json");
}
