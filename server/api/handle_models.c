/* handle_models.c - GET /v1/models and /v1/models/{id}: what can be asked, in OpenAI's shape. */
#include "api/handlers.h"
#include "api/model_resolver.h"

#include "sluice/model.h"

static void write_model(struct sv_text *out, const struct sv_served *served)
{
    struct sl_model_facts facts = sl_model_facts(sv_served_model(served));
    sv_text_adds(out, "{\"id\":");
    sv_text_jsons(out, sv_served_name(served));
    sv_text_print(out,
                  ",\"object\":\"model\",\"created\":%lld,\"owned_by\":\"local\","
                  "\"max_model_len\":%d,\"sluice\":{\"version\":\"%s\",\"architecture\":",
                  (long long)facts.created, facts.context, sv_served_version(served));
    sv_text_jsons(out, facts.architecture);
    sv_text_adds(out, ",\"paper\":");
    sv_text_jsons(out, facts.paper);
    sv_text_print(out,
                  ",\"task\":\"%s\",\"parameters\":%lld,\"depth\":%d,\"width\":%d,\"vocab\":%d",
                  facts.task == SL_TASK_COMPLETION ? "completion" : "classification",
                  (long long)facts.parameters, facts.depth, facts.width, facts.vocab);
    sv_text_adds(out, ",\"gate\":");
    sv_text_jsons(out, facts.gate);
    sv_text_adds(out, ",\"sha256\":");
    sv_text_jsons(out, facts.sha256);
    for (int i = 0; i < facts.classes; i++) {
        sv_text_adds(out, i ? "," : ",\"labels\":[");
        sv_text_jsons(out, facts.labels[i]);
    }
    sv_text_adds(out, facts.classes > 0 ? "]}}" : "}}");
}

enum sv_next sv_handle_models(struct sv_call *call)
{
    struct sv_text *body = &call->reply.body;
    sv_text_adds(body, "{\"object\":\"list\",\"data\":[");
    struct sv_served *served;
    for (int i = 0; (served = sv_registry_acquire_at(call->server->registry, i)); i++) {
        sv_text_adds(body, i ? "," : "");
        write_model(body, served);
        sv_served_release(served);
    }
    sv_text_adds(body, "]}");
    return sv_call_answer(call, 200, "application/json");
}

enum sv_next sv_handle_model(struct sv_call *call)
{
    struct sv_problem problem;
    struct sv_served *served = sv_select(call, call->arguments[0], &problem);
    if (!served)
        return sv_call_refuse(call, &problem);
    write_model(&call->reply.body, served);
    sv_served_release(served);
    return sv_call_answer(call, 200, "application/json");
}
