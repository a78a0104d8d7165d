/* handle_completions.c - POST /v1/completions and /v1/chat/completions. */
#include "api/completion_request.h"
#include "api/handlers.h"

#include "sluice/chat.h"
#include "sluice/model.h"

#include <stdlib.h>

/* ---- texts ----------------------------------------------------------------------------------- */

static bool fail_length(const struct sv_model_ref *ref, const char *param, int tokens,
                        struct sv_error *error)
{
    const struct sl_model_info *info = sl_model_info(ref->model);
    const int context = info->context;
    return sv_fail(error, SV_CONTEXT_LENGTH, param,
                   "'%s' has %d tokens; the context of '%s' has %d. Set \"truncate\": true to use "
                   "the %s %d.",
                   param, tokens, ref->id, context,
                   info->task == SL_TASK_TRANSLATION ? "first" : "last", context);
}

enum sv_progress sv_handle_completions(struct sv_request *request)
{
    static const struct sv_completion_api api = {.format = &sv_text_format,
                                                 .prompt = "prompt",
                                                 .read = sv_completion_params_read,
                                                 .fail_length = fail_length};
    return sv_complete(request, &api);
}

/* ---- conversations --------------------------------------------------------------------------- */

static bool fail_chat(const struct sv_model_ref *ref, const struct sl_err *err,
                      struct sv_error *error)
{
    char param[SV_PARAM_MAX];
    sv_param_name("messages", err->index >= 0, (int)err->index, param);
    if (err->code == SL_NO_MEMORY)
        return sv_fail_no_memory(error);
    if (err->code == SL_NOT_FOUND)
        return sv_fail(error, SV_NO_CHAT_TEMPLATE, "model",
                       "'%s' cannot answer conversations: %s. Send a prompt to /v1/completions.",
                       ref->id, err->text);
    return sv_fail(error, SV_INVALID_VALUE, param, "'%s': %s.", param, err->text);
}

static struct sl_chat_message *list_messages(const struct sv_list *list, struct sv_error *error)
{
    const struct sv_message *from = list->items;
    struct sl_chat_message *messages = calloc((size_t)list->count, sizeof *messages);
    if (!messages)
        (void)sv_fail_no_memory(error);
    for (int i = 0; i < list->count && messages; i++) {
        const bool is_developer = from[i].role == SL_CHAT_ROLES;
        messages[i] = (struct sl_chat_message){
            .role = is_developer ? SL_CHAT_SYSTEM : (enum sl_chat_role)from[i].role,
            .text = from[i].content.data,
            .bytes = from[i].content.bytes};
    }
    return messages;
}

static bool write_prompt(const struct sv_model_ref *ref, struct sv_completion_params *params,
                         struct sv_error *error)
{
    struct sl_err err;
    struct sl_chat_message *messages = list_messages(&params->messages, error);
    const struct sl_chat chat = {messages, params->messages.count};
    struct sl_chat_prompt *written = &params->written;
    if (!messages)
        return false;
    bool ok = sl_chat_render(ref->model, &chat, written, &err) || fail_chat(ref, &err, error);
    free(messages);
    params->written_prompt = (struct sv_prompt){.text = {written->text, written->bytes},
                                                .plain = written->plain,
                                                .plain_count = written->plain_count};
    params->prompt = (struct sv_prompts){.count = 1, .items = &params->written_prompt};
    return ok;
}

static bool fail_chat_length(const struct sv_model_ref *ref, const char *param, int tokens,
                             struct sv_error *error)
{
    return sv_fail(error, SV_CONTEXT_LENGTH, param,
                   "'%s' has %d tokens as a prompt; the context of '%s' has %d. Leave out the "
                   "oldest messages.",
                   param, tokens, ref->id, sl_model_info(ref->model)->context);
}

enum sv_progress sv_handle_chat_completions(struct sv_request *request)
{
    static const struct sv_completion_api api = {.format = &sv_chat_format,
                                                 .prompt = "messages",
                                                 .read = sv_chat_params_read,
                                                 .write_prompt = write_prompt,
                                                 .fail_length = fail_chat_length};
    return sv_complete(request, &api);
}
