/* completion_params.h - the fields of POST /v1/completions: OpenAI's fields, and ours. */
#pragma once

#include "params/budget_field.h"
#include "params/field_types.h"

#include "sluice/tokenizer.h"

#include <stdbool.h>
#include <stdint.h>

struct sv_completion_params {
    struct sv_string model;
    struct sv_prompts prompt;
    int64_t max_tokens, n, best_of, logprobs, top_k, seed;
    bool best_of_given, logprobs_given, seed_given;
    double temperature, top_p, presence_penalty, frequency_penalty;
    bool echo, stream, include_usage, include_usage_given;
    struct sv_strings stop;
    struct sv_logit_biases bias;
    bool truncate;           /* Sluice's own: keep the end of a prompt that is too long */
    enum sl_unknown unknown; /* Sluice's own: characters outside the vocabulary */
    struct sv_budget budget; /* Sluice's own */
};

extern const struct sv_field sv_completion_fields[];

/* Reads, fills in defaults and checks all that can be without the model. NULL: see error. The
 * request's strings and arrays belong to the document. */
struct sv_json_document *sv_completion_params_read(const struct sl_buffer *body,
                                                   struct sv_completion_params *params,
                                                   struct sv_error *error) SL_MUST_CHECK;
