/* handle_models.c - GET /v1/models and /v1/models/{id}: what can be asked, in OpenAI's shape. */
#include "api/handlers.h"
#include "api/model_resolver.h"

#include "sluice/model.h"

static void write_model(struct sv_text *out, const struct sv_model_ref *ref)
{
    const struct sl_model_info *info = sl_model_info(sv_model_ref_model(ref));
    sv_text_adds(out, "{\"id\":");
    sv_text_jsons(out, sv_model_ref_name(ref));
    sv_text_print(out,
                  ",\"object\":\"model\",\"created\":%lld,\"owned_by\":\"local\","
                  "\"max_model_len\":%d,\"sluice\":{\"version\":\"%s\",\"architecture\":",
                  (long long)info->created, info->context, sv_model_ref_version(ref));
    sv_text_jsons(out, info->architecture);
    sv_text_adds(out, ",\"paper\":");
    sv_text_jsons(out, info->paper);
    sv_text_print(out,
                  ",\"task\":\"%s\",\"parameters\":%lld,\"depth\":%d,\"width\":%d,\"vocab\":%d",
                  info->task == SL_TASK_COMPLETION ? "completion" : "classification",
                  (long long)info->parameters, info->depth, info->width, info->vocab);
    sv_text_adds(out, ",\"gate\":");
    sv_text_jsons(out, info->gate);
    sv_text_adds(out, ",\"sha256\":");
    sv_text_jsons(out, info->sha256);
    for (int i = 0; i < info->classes; i++) {
        sv_text_adds(out, i ? "," : ",\"labels\":[");
        sv_text_jsons(out, info->labels[i]);
    }
    sv_text_adds(out, info->classes > 0 ? "]}}" : "}}");
}

enum sv_progress sv_handle_models(struct sv_request *request)
{
    struct sv_text *body = &request->response.body;
    sv_text_adds(body, "{\"object\":\"list\",\"data\":[");
    struct sv_model_ref *ref;
    for (int i = 0; (ref = sv_registry_acquire_at(request->server->registry, i)); i++) {
        sv_text_adds(body, i ? "," : "");
        write_model(body, ref);
        sv_model_ref_release(ref);
    }
    sv_text_adds(body, "]}");
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
