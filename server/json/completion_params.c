/* completion_params.c - what POST /v1/completions can be asked: OpenAI's fields, and ours. */
#include "json/completion_params.h"
#include "json/tokenize_options.h"

#include "sluice/generate.h"

#include <stdint.h>

#define AT(member) offsetof(struct sv_completion_params, member)

static const struct sv_field stream_options[] = {
    {.name = "include_usage",
     .kind = SV_FIELD_BOOL,
     .offset = AT(include_usage),
     .given = AT(include_usage_given)},
    {.kind = SV_FIELD_END},
};

static const struct sv_field fields[] = {
    {.name = "model",
     .kind = SV_FIELD_STRING,
     .offset = AT(model),
     .min = 0,
     .max = 256,
     .required = true},
    {.name = "prompt",
     .kind = SV_FIELD_CUSTOM,
     .read = sv_read_prompts,
     .offset = AT(prompt),
     .min = 1,
     .max = SV_PROMPTS_MAX},
    {.name = "max_tokens",
     .kind = SV_FIELD_INT,
     .offset = AT(max_tokens),
     .min = 0,
     .max = SV_TOKENS_MAX},
    {.name = "temperature", .kind = SV_FIELD_NUMBER, .offset = AT(temperature), .min = 0, .max = 2},
    {.name = "top_p", .kind = SV_FIELD_NUMBER, .offset = AT(top_p), .min = 0, .max = 1},
    {.name = "top_k", .kind = SV_FIELD_INT, .offset = AT(top_k), .min = 0, .max = SV_TOP_K_MAX},
    {.name = "n", .kind = SV_FIELD_INT, .offset = AT(n), .min = 1, .max = SV_N_MAX},
    {.name = "best_of",
     .kind = SV_FIELD_INT,
     .offset = AT(best_of),
     .min = 1,
     .max = SV_N_MAX,
     .given = AT(best_of_given)},
    {.name = "stop", .kind = SV_FIELD_STRINGS, .offset = AT(stop), .min = 0, .max = SL_STOPS_MAX},
    {.name = "seed",
     .kind = SV_FIELD_INT,
     .offset = AT(seed),
     .min = (double)INT64_MIN,
     .max = (double)INT64_MAX,
     .given = AT(seed_given)},
    {.name = "logprobs",
     .kind = SV_FIELD_INT,
     .offset = AT(logprobs),
     .min = 0,
     .max = SL_LOGPROBS_MAX,
     .given = AT(logprobs_given)},
    {.name = "echo", .kind = SV_FIELD_BOOL, .offset = AT(echo)},
    {.name = "stream", .kind = SV_FIELD_BOOL, .offset = AT(stream)},
    {.name = "stream_options",
     .kind = SV_FIELD_CUSTOM,
     .read = sv_read_object,
     .inner = stream_options},
    {.name = "presence_penalty",
     .kind = SV_FIELD_NUMBER,
     .offset = AT(presence_penalty),
     .min = -2,
     .max = 2},
    {.name = "frequency_penalty",
     .kind = SV_FIELD_NUMBER,
     .offset = AT(frequency_penalty),
     .min = -2,
     .max = 2},
    {.name = "logit_bias",
     .kind = SV_FIELD_CUSTOM,
     .read = sv_read_bias,
     .offset = AT(bias),
     .min = -100,
     .max = 100},
    {.name = "user", .kind = SV_FIELD_IGNORED, .max = 1024},
    {.name = "truncate", .kind = SV_FIELD_BOOL, .offset = AT(truncate)},
    {.name = "unknown_characters",
     .kind = SV_FIELD_STRING,
     .offset = AT(unknown),
     .min = 0,
     .max = 16},
    {.name = "suffix",
     .kind = SV_FIELD_UNSUPPORTED,
     .advice = "These models write after a text, not inside it."},
    {.name = "messages",
     .kind = SV_FIELD_UNSUPPORTED,
     .advice = "These models have no chat; send 'prompt'."},
    {.name = "max_completion_tokens", .kind = SV_FIELD_UNSUPPORTED, .advice = "Send 'max_tokens'."},
    {.name = "top_logprobs", .kind = SV_FIELD_UNSUPPORTED, .advice = "Send 'logprobs': 0 to 5."},
    {.name = "functions", .kind = SV_FIELD_UNSUPPORTED},
    {.name = "function_call", .kind = SV_FIELD_UNSUPPORTED},
    {.name = "tools", .kind = SV_FIELD_UNSUPPORTED},
    {.name = "tool_choice", .kind = SV_FIELD_UNSUPPORTED},
    {.name = "parallel_tool_calls", .kind = SV_FIELD_UNSUPPORTED},
    {.name = "response_format", .kind = SV_FIELD_UNSUPPORTED},
    {.name = "modalities", .kind = SV_FIELD_UNSUPPORTED},
    {.name = "audio", .kind = SV_FIELD_UNSUPPORTED},
    {.name = "prediction", .kind = SV_FIELD_UNSUPPORTED},
    {.name = "reasoning_effort", .kind = SV_FIELD_UNSUPPORTED},
    {.name = "service_tier", .kind = SV_FIELD_UNSUPPORTED},
    {.name = "store", .kind = SV_FIELD_UNSUPPORTED},
    {.name = "metadata", .kind = SV_FIELD_UNSUPPORTED},
    {.kind = SV_FIELD_END},
};

static bool check_stop_strings(const struct sv_completion_params *params, struct sv_error *error)
{
    for (int i = 0; i < params->stop.count; i++) {
        size_t bytes = params->stop.items[i].bytes;
        if (bytes == 0 || bytes > SL_STOP_BYTES_MAX)
            return sv_fail(error, SV_INVALID_VALUE, "stop",
                           "'stop' holds a string of %zu bytes, 1 to %d are accepted.", bytes,
                           SL_STOP_BYTES_MAX);
    }
    return true;
}

static bool check(void *to, struct sv_error *error)
{
    struct sv_completion_params *params = to;
    if (params->best_of_given && params->best_of != params->n)
        return sv_fail(error, SV_UNSUPPORTED_PARAMETER, "best_of",
                       "'best_of' is supported only when it equals 'n', and that is %lld.",
                       (long long)params->n);
    if (params->include_usage_given && !params->stream)
        return sv_fail(error, SV_INVALID_VALUE, "stream_options",
                       "'stream_options' is accepted only with 'stream': true.");
    return check_stop_strings(params, error) &&
           sv_unknown_characters_check(&params->unknown, &params->replaces_unknown, error);
}

struct sv_document *sv_completion_params_read(const struct sl_buffer *body,
                                              struct sv_completion_params *params,
                                              struct sv_error *error)
{
    *params = (struct sv_completion_params){.max_tokens = 16, .n = 1, .temperature = 1, .top_p = 1};
    return sv_json_read(body, fields, check, params, error);
}
