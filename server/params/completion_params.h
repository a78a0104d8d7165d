/* completion_params.h - the fields of POST /v1/completions and /v1/chat/completions: OpenAI's
 * fields, and ours. */
#pragma once

#include "params/budget_field.h"
#include "params/field_types.h"
#include "params/tokenize_options.h"

#include "sluice/chat.h"
#include "sluice/generation.h"

#include <stdbool.h>
#include <stdint.h>

/* One message of a conversation. */
struct sv_message {
    int role; /* an enum sl_chat_role, or SL_CHAT_ROLES: the developer's, which is the system's */
    struct sv_string content;
};

struct sv_completion_params {
    struct sv_string model;
    struct sv_prompts prompt;
    struct sv_list messages;       /* instead, of struct sv_message */
    struct sl_chat_prompt written; /* made of them; the handler releases it */
    struct sv_prompt written_prompt;
    int64_t max_tokens;            /* -1: as many as the context has room for */
    int64_t max_completion_tokens; /* a second name of it */
    int64_t n, best_of, logprobs, top_k, seed;
    bool max_tokens_given, temperature_given, best_of_given, logprobs_given, top_logprobs_given,
        seed_given;
    double temperature, top_p, presence_penalty, frequency_penalty;
    bool echo, stream, include_usage, include_usage_given;
    struct sv_strings stop;
    struct sv_logit_biases bias;
    bool truncate;           /* Sluice's own: keep the end of a prompt that is too long */
    enum sl_unknown unknown; /* Sluice's own: characters outside the vocabulary */
    struct sv_budget budget; /* Sluice's own */
    bool depths;             /* Sluice's own: how many layers computed each token */
};

extern const struct sv_field sv_completion_fields[], sv_chat_fields[];
extern const struct sv_field sv_stream_option_fields[], sv_completion_extra_fields[];

#define SV_COMPLETION_AT(member) offsetof(struct sv_completion_params, member)

/* Rows that completions of texts and of conversations share. */
#define SV_SAMPLING_ROWS                                                                           \
    SV_FIELD("temperature", NUMBER, SV_COMPLETION_AT(temperature), 0, 2,                           \
             .presence_offset = SV_COMPLETION_AT(temperature_given), .default_json = "1",          \
             .help = "0 picks the most likely token; higher is more random"),                      \
        SV_FIELD("top_p", NUMBER, SV_COMPLETION_AT(top_p), 0, 1, .default_json = "1",              \
                 .help =                                                                           \
                     "sample from the most likely tokens that reach this probability together"),   \
        SV_FIELD("top_k", INT, SV_COMPLETION_AT(top_k), 0, SV_TOP_K_MAX, .default_json = "0",      \
                 .help = "sample from this many most likely tokens; 0 for all"),                   \
        SV_FIELD("n", INT, SV_COMPLETION_AT(n), 1, SV_N_MAX, .default_json = "1",                  \
                 .help = "completions per prompt"),                                                \
        SV_FIELD("stop", STRINGS, SV_COMPLETION_AT(stop), 0, SL_STOPS_MAX,                         \
                 .help = "up to 16 strings that end the completion"),                              \
        SV_FIELD("seed", INT, SV_COMPLETION_AT(seed), (double)INT64_MIN, (double)INT64_MAX,        \
                 .presence_offset = SV_COMPLETION_AT(seed_given),                                  \
                 .help = "seed of the random numbers; without one each request gets its own"),     \
        SV_FIELD("stream", BOOL, SV_COMPLETION_AT(stream), 0, 1, .default_json = "false",          \
                 .help = "send the completion as server-sent events"),                             \
        SV_OBJECT_FIELD("stream_options", sv_stream_option_fields, .help = "options of a stream"), \
        SV_FIELD("presence_penalty", NUMBER, SV_COMPLETION_AT(presence_penalty), -2, 2,            \
                 .default_json = "0",                                                              \
                 .help = "subtracted from the logits of tokens that "                              \
                         "occurred"),                                                              \
        SV_FIELD("frequency_penalty", NUMBER, SV_COMPLETION_AT(frequency_penalty), -2, 2,          \
                 .default_json = "0",                                                              \
                 .help = "subtracted from the logits of tokens, once per occurrence"),             \
        SV_CUSTOM_FIELD("logit_bias", sv_type_logit_bias, SV_COMPLETION_AT(bias), -100, 100,       \
                        .help = "numbers to add to logits, by token id"),                          \
        SV_IGNORED_FIELD("user", 1024), SV_UNKNOWN_CHARACTERS_FIELD(SV_COMPLETION_AT(unknown)),    \
        SV_OBJECT_FIELD("sluice", sv_completion_extra_fields, .help = "what OpenAI does not have")

/* Reads, fills in defaults and checks all that can be without the model. NULL: see error. The
 * request's strings and arrays belong to the document. */
struct sv_json_document *sv_completion_params_read(const struct sl_buffer *body,
                                                   struct sv_completion_params *params,
                                                   struct sv_error *error) SL_MUST_CHECK;
struct sv_json_document *sv_chat_params_read(const struct sl_buffer *body,
                                             struct sv_completion_params *params,
                                             struct sv_error *error) SL_MUST_CHECK;

/* What no table can say, of both kinds of requests. */
bool sv_completion_params_check(const struct sv_completion_params *params, struct sv_error *error);
/* Sets the defaults of a model that translates, the most probable tokens up to the end, and checks
 * that the request asks for nothing that translations do not have. */
bool sv_completion_params_for_translation(struct sv_completion_params *params, const char *model,
                                          struct sv_error *error) SL_MUST_CHECK;
