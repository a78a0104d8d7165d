/* completion_params.c - the fields of POST /v1/completions. */
#include "params/completion_params.h"

#include <stdint.h>

#define AT SV_COMPLETION_AT

enum { LOGPROBS_MAX = 5 };

const struct sv_field sv_stream_option_fields[] = {
    SV_FIELD("include_usage", BOOL, AT(include_usage), 0, 1,
             .presence_offset = AT(include_usage_given), .default_json = "false",
             .help = "send token counts in a last event of their own"),
    {.kind = SV_FIELD_END},
};

const struct sv_field sv_completion_extra_fields[] = {
    SV_BUDGET_FIELD(sv_completion_params, budget),
    SV_DEPTH_FIELD(AT(depths)),
    {.kind = SV_FIELD_END},
};

const struct sv_field sv_completion_fields[] = {
    SV_FIELD("model", STRING, AT(model), 0, SV_NAME_BYTES_MAX, .required = true,
             .help = "model that completes: a name or name@version"),
    SV_CUSTOM_FIELD("prompt", sv_type_prompts, AT(prompt), 1, SV_PROMPTS_MAX,
                    .help = "text, token ids, or an array of either; null is an empty text"),
    SV_FIELD("max_tokens", INT, AT(max_tokens), 0, SV_TOKENS_MAX,
             .presence_offset = AT(max_tokens_given), .default_json = "16",
             .help = "tokens to generate per completion"),
    SV_FIELD("best_of", INT, AT(best_of), 1, SV_N_MAX, .presence_offset = AT(best_of_given),
             .help = "accepted if equal to n"),
    SV_FIELD("logprobs", INT, AT(logprobs), 0, LOGPROBS_MAX, .presence_offset = AT(logprobs_given),
             .help = "log probabilities of the tokens and of this many alternatives"),
    SV_FIELD("echo", BOOL, AT(echo), 0, 1, .default_json = "false",
             .help = "repeat the prompt before the completion"),
    SV_FIELD("truncate", BOOL, AT(truncate), 0, 1, .default_json = "false",
             .help = "keep the end of a prompt that is longer than the context"),
    SV_SAMPLING_ROWS,
    SV_UNSUPPORTED_FIELD("suffix", "Infilling is not supported."),
    SV_UNSUPPORTED_FIELD("messages", "Send it to /v1/chat/completions, or send 'prompt'."),
    SV_UNSUPPORTED_FIELD("max_completion_tokens", "Send 'max_tokens'."),
    SV_UNSUPPORTED_FIELD("top_logprobs", "Send 'logprobs': 0 to 5."),
    SV_UNSUPPORTED_FIELD("functions", "Leave it out."),
    SV_UNSUPPORTED_FIELD("function_call", "Leave it out."),
    SV_UNSUPPORTED_FIELD("tools", "Leave it out."),
    SV_UNSUPPORTED_FIELD("tool_choice", "Leave it out."),
    SV_UNSUPPORTED_FIELD("parallel_tool_calls", "Leave it out."),
    SV_UNSUPPORTED_FIELD("response_format", "Leave it out."),
    SV_UNSUPPORTED_FIELD("modalities", "Leave it out."),
    SV_UNSUPPORTED_FIELD("audio", "Leave it out."),
    SV_UNSUPPORTED_FIELD("prediction", "Leave it out."),
    SV_UNSUPPORTED_FIELD("reasoning_effort", "Leave it out."),
    SV_UNSUPPORTED_FIELD("service_tier", "Leave it out."),
    SV_UNSUPPORTED_FIELD("store", "Leave it out."),
    SV_UNSUPPORTED_FIELD("metadata", "Leave it out."),
    {.kind = SV_FIELD_END},
};

static bool check_stop_strings(const struct sv_completion_params *params, struct sv_error *error)
{
    for (int i = 0; i < params->stop.count; i++) {
        size_t bytes = params->stop.items[i].bytes;
        if (bytes == 0 || bytes > SL_STOP_BYTES_MAX)
            return sv_fail(error, SV_INVALID_VALUE, "stop",
                           "'stop' holds a string of %zu bytes; 1 to %d are accepted.", bytes,
                           SL_STOP_BYTES_MAX);
    }
    return true;
}

bool sv_completion_params_check(const struct sv_completion_params *params, struct sv_error *error)
{
    if (params->best_of_given && params->best_of != params->n)
        return sv_fail(error, SV_UNSUPPORTED_PARAMETER, "best_of",
                       "'best_of' must equal 'n', which is %lld.", (long long)params->n);
    if (params->include_usage_given && !params->stream)
        return sv_fail(error, SV_INVALID_VALUE, "stream_options",
                       "'stream_options' is accepted only with 'stream': true.");
    return check_stop_strings(params, error);
}

bool sv_completion_params_for_translation(struct sv_completion_params *params, const char *model,
                                          struct sv_error *error)
{
    const char *unsupported = params->echo             ? "echo"
                              : params->logprobs_given ? "logprobs"
                              : params->depths         ? "sluice.depth"
                                                       : NULL;
    if (unsupported)
        return sv_fail(
            error, SV_UNSUPPORTED_PARAMETER, unsupported,
            "'%s' translates: it accepts neither 'echo' nor 'logprobs' nor 'sluice.depth'.", model);
    if (!params->max_tokens_given)
        params->max_tokens = -1;
    if (!params->temperature_given)
        params->temperature = 0.0;
    return true;
}

static bool check(void *to, struct sv_error *error)
{
    return sv_completion_params_check(to, error);
}

struct sv_json_document *sv_completion_params_read(const struct sl_buffer *body,
                                                   struct sv_completion_params *params,
                                                   struct sv_error *error)
{
    *params = (struct sv_completion_params){.budget.field = "sluice.budget"};
    return sv_json_read(body, sv_completion_fields, check, params, error);
}
