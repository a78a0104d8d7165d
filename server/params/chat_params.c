/* chat_params.c - the fields of POST /v1/chat/completions. */
#include "params/completion_params.h"

#include <stdint.h>

#define AT SV_COMPLETION_AT

static const char *const formats[] = {"text", NULL};

static const struct sv_field format_fields[] = {
    SV_KEYWORD_FIELD("type", formats, .required = true, .help = "format of the answer"),
    {.kind = SV_FIELD_END},
};

const struct sv_field sv_chat_fields[] = {
    SV_FIELD("model", STRING, AT(model), 0, SV_NAME_BYTES_MAX, .required = true,
             .help = "model that answers: a name or name@version"),
    SV_LIST_FIELD("messages", AT(messages), 1, SV_MESSAGES_MAX, sv_chat_message_fields,
                  struct sv_message, .required = true, .help = "the conversation so far"),
    SV_FIELD("max_completion_tokens", INT, AT(max_completion_tokens), 1, SV_TOKENS_MAX,
             .help = "tokens to generate per answer; if absent, what the context has room for"),
    SV_FIELD("max_tokens", INT, AT(max_tokens), 1, SV_TOKENS_MAX,
             .help = "the older name of max_completion_tokens"),
    SV_FIELD("logprobs", BOOL, AT(logprobs_given), 0, 1, .default_json = "false",
             .help = "send the log probabilities of the tokens"),
    SV_FIELD("top_logprobs", INT, AT(logprobs), 0, SL_LOGPROBS_MAX,
             .presence_offset = AT(top_logprobs_given),
             .help = "and those of this many alternatives"),
    SV_SAMPLING_ROWS,
    SV_OBJECT_FIELD("response_format", format_fields, .help = "only text is supported"),
    SV_IGNORED_FIELD("safety_identifier", 1024),
    SV_IGNORED_FIELD("prompt_cache_key", 1024),
    SV_IGNORED_FIELD("service_tier", 64),
    SV_CUSTOM_FIELD("metadata", sv_type_ignored, 0, 0, 0, .help = "ignored"),
    SV_CUSTOM_FIELD("store", sv_type_ignored, 0, 0, 0, .help = "ignored"),
    SV_UNSUPPORTED_FIELD("prompt", "Send 'messages', or send it to /v1/completions."),
    SV_UNSUPPORTED_FIELD("functions", "Leave it out."),
    SV_UNSUPPORTED_FIELD("function_call", "Leave it out."),
    SV_UNSUPPORTED_FIELD("tools", "Leave it out."),
    SV_UNSUPPORTED_FIELD("tool_choice", "Leave it out."),
    SV_UNSUPPORTED_FIELD("parallel_tool_calls", "Leave it out."),
    SV_UNSUPPORTED_FIELD("modalities", "Leave it out; answers are texts."),
    SV_UNSUPPORTED_FIELD("audio", "Leave it out."),
    SV_UNSUPPORTED_FIELD("prediction", "Leave it out."),
    SV_UNSUPPORTED_FIELD("reasoning_effort", "Leave it out."),
    SV_UNSUPPORTED_FIELD("verbosity", "Leave it out."),
    SV_UNSUPPORTED_FIELD("web_search_options", "Leave it out."),
    {.kind = SV_FIELD_END},
};

static bool check(void *to, struct sv_error *error)
{
    struct sv_completion_params *params = to;
    const int64_t tokens = params->max_completion_tokens;
    if (params->top_logprobs_given && !params->logprobs_given)
        return sv_fail(error, SV_INVALID_VALUE, "top_logprobs",
                       "'top_logprobs' is accepted only with 'logprobs': true.");
    if (tokens >= 0 && params->max_tokens >= 0 && tokens != params->max_tokens)
        return sv_fail(error, SV_INVALID_VALUE, "max_tokens",
                       "'max_tokens' is %lld and 'max_completion_tokens' %lld; send one of them.",
                       (long long)params->max_tokens, (long long)tokens);
    if (tokens >= 0)
        params->max_tokens = tokens;
    return sv_completion_params_check(params, error);
}

struct sv_json_document *sv_chat_params_read(const struct sl_buffer *body,
                                             struct sv_completion_params *params,
                                             struct sv_error *error)
{
    *params = (struct sv_completion_params){
        .budget.field = "sluice.budget", .max_tokens = -1, .max_completion_tokens = -1};
    return sv_json_read(body, sv_chat_fields, check, params, error);
}
