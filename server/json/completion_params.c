/* completion_params.c - what POST /v1/completions can be asked: OpenAI's fields, and ours. */
#include "json/completion_params.h"
#include "json/tokenize_options.h"

#include "sluice/generate.h"

#include <stdint.h>

#define AT(member) offsetof(struct sv_completion_request, member)

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
     .least = 0,
     .most = 256,
     .required = true},
    {.name = "prompt",
     .kind = SV_FIELD_READ,
     .read = sv_read_prompts,
     .offset = AT(prompt),
     .least = 1,
     .most = SV_PROMPTS_MAX},
    {.name = "max_tokens",
     .kind = SV_FIELD_INT,
     .offset = AT(max_tokens),
     .least = 0,
     .most = SV_TOKENS_MAX},
    {.name = "temperature",
     .kind = SV_FIELD_NUMBER,
     .offset = AT(temperature),
     .least = 0,
     .most = 2},
    {.name = "top_p", .kind = SV_FIELD_NUMBER, .offset = AT(top_p), .least = 0, .most = 1},
    {.name = "top_k", .kind = SV_FIELD_INT, .offset = AT(top_k), .least = 0, .most = SV_TOP_K_MAX},
    {.name = "n", .kind = SV_FIELD_INT, .offset = AT(n), .least = 1, .most = SV_SAMPLES_MAX},
    {.name = "best_of",
     .kind = SV_FIELD_INT,
     .offset = AT(best_of),
     .least = 1,
     .most = SV_SAMPLES_MAX,
     .given = AT(best_of_given)},
    {.name = "stop",
     .kind = SV_FIELD_STRINGS,
     .offset = AT(stop),
     .least = 0,
     .most = SL_STOPS_MAX},
    {.name = "seed",
     .kind = SV_FIELD_INT,
     .offset = AT(seed),
     .least = (double)INT64_MIN,
     .most = (double)INT64_MAX,
     .given = AT(seed_given)},
    {.name = "logprobs",
     .kind = SV_FIELD_INT,
     .offset = AT(logprobs),
     .least = 0,
     .most = SL_LOGPROBS_MAX,
     .given = AT(logprobs_given)},
    {.name = "echo", .kind = SV_FIELD_BOOL, .offset = AT(echo)},
    {.name = "stream", .kind = SV_FIELD_BOOL, .offset = AT(stream)},
    {.name = "stream_options",
     .kind = SV_FIELD_READ,
     .read = sv_read_object,
     .inner = stream_options},
    {.name = "presence_penalty",
     .kind = SV_FIELD_NUMBER,
     .offset = AT(presence_penalty),
     .least = -2,
     .most = 2},
    {.name = "frequency_penalty",
     .kind = SV_FIELD_NUMBER,
     .offset = AT(frequency_penalty),
     .least = -2,
     .most = 2},
    {.name = "logit_bias",
     .kind = SV_FIELD_READ,
     .read = sv_read_bias,
     .offset = AT(bias),
     .least = -100,
     .most = 100},
    {.name = "user", .kind = SV_FIELD_IGNORED, .most = 1024},
    {.name = "truncate", .kind = SV_FIELD_BOOL, .offset = AT(truncate)},
    {.name = "unknown_characters",
     .kind = SV_FIELD_STRING,
     .offset = AT(unknown),
     .least = 0,
     .most = 16},
    {.name = "suffix",
     .kind = SV_FIELD_REFUSED,
     .accepted = "These models write after a text, not inside it."},
    {.name = "messages",
     .kind = SV_FIELD_REFUSED,
     .accepted = "These models have no chat; send 'prompt'."},
    {.name = "max_completion_tokens", .kind = SV_FIELD_REFUSED, .accepted = "Send 'max_tokens'."},
    {.name = "top_logprobs", .kind = SV_FIELD_REFUSED, .accepted = "Send 'logprobs': 0 to 5."},
    {.name = "functions", .kind = SV_FIELD_REFUSED},
    {.name = "function_call", .kind = SV_FIELD_REFUSED},
    {.name = "tools", .kind = SV_FIELD_REFUSED},
    {.name = "tool_choice", .kind = SV_FIELD_REFUSED},
    {.name = "parallel_tool_calls", .kind = SV_FIELD_REFUSED},
    {.name = "response_format", .kind = SV_FIELD_REFUSED},
    {.name = "modalities", .kind = SV_FIELD_REFUSED},
    {.name = "audio", .kind = SV_FIELD_REFUSED},
    {.name = "prediction", .kind = SV_FIELD_REFUSED},
    {.name = "reasoning_effort", .kind = SV_FIELD_REFUSED},
    {.name = "service_tier", .kind = SV_FIELD_REFUSED},
    {.name = "store", .kind = SV_FIELD_REFUSED},
    {.name = "metadata", .kind = SV_FIELD_REFUSED},
    {.kind = SV_FIELD_END},
};

static bool check_stops(const struct sv_completion_request *request, struct sv_problem *problem)
{
    for (int i = 0; i < request->stop.count; i++) {
        size_t bytes = request->stop.items[i].bytes;
        if (bytes == 0 || bytes > SL_STOP_BYTES_MAX)
            return sv_refuse(problem, SV_BAD_VALUE, "stop",
                             "'stop' holds a string of %zu bytes, 1 to %d are accepted.", bytes,
                             SL_STOP_BYTES_MAX);
    }
    return true;
}

static bool check(void *to, struct sv_problem *problem)
{
    struct sv_completion_request *request = to;
    if (request->best_of_given && request->best_of != request->n)
        return sv_refuse(problem, SV_UNSUPPORTED, "best_of",
                         "'best_of' is supported only when it equals 'n', and that is %lld.",
                         (long long)request->n);
    if (request->include_usage_given && !request->stream)
        return sv_refuse(problem, SV_BAD_VALUE, "stream_options",
                         "'stream_options' is accepted only with 'stream': true.");
    return check_stops(request, problem) &&
           sv_unknown_check(&request->unknown, &request->replaces_unknown, problem);
}

struct sv_document *sv_completion_request_read(const struct sv_text *body,
                                               struct sv_completion_request *request,
                                               struct sv_problem *problem)
{
    *request =
        (struct sv_completion_request){.max_tokens = 16, .n = 1, .temperature = 1, .top_p = 1};
    return sv_wire_read(body, fields, check, request, problem);
}
