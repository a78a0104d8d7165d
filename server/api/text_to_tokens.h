/* text_to_tokens.h - texts into tokens: all of them, or those that a classifier reads. */
#pragma once

#include "registry/registry.h"
#include "json/json_schema.h"
#include "json/tokenize_options.h"

#include <stdbool.h>
#include <stdint.h>

/* A text, and what is wanted of it. */
struct sv_tokenize_input {
    const struct sv_string *text;
    const char *param;  /* what messages request it */
    bool in_parameters; /* as in struct sv_tokenize_options */
    bool replaces_unknown;
    bool adds_special; /* tokens that the model expects around the text */
    bool wants_places;
    size_t most; /* room is made for so many tokens, others are only counted; 0: for all */
};

struct sv_tokens {
    int32_t *ids;
    struct sl_token_offset *places; /* NULL: nobody wants them */
    int given;                      /* how many there are, */
    int count; /* and those that the model reads; the same unless they were cut */
};

/* All tokens of a text, to be released even when it fails. */
bool sv_tokenize(const struct sv_model_ref *ref, const struct sv_tokenize_input *input,
                 struct sv_tokens *tokens, struct sv_error *error);
void sv_tokens_release(const struct sv_tokens *tokens);

/* Whether a text has no character that is unknown to the model. */
bool sv_is_tokenizable(const struct sv_model_ref *ref, const char *text);
/* Whether the vocabulary has all of a prompt's ids; messages request the prompt `param`. */
bool sv_check_token_ids(const struct sv_model_ref *ref, const struct sv_prompt *prompt,
                        const char *param, struct sv_error *error);

/* The tokens that a classifier reads, 1 to its context: the text is cut if it may be. A text that
 * has no tokens but those that are added around it is refused as empty. */
bool sv_tokenize_for_classifier(const struct sv_model_ref *ref,
                                const struct sv_tokenize_options *tokenize,
                                const struct sv_string *text, const char *param,
                                struct sv_tokens *tokens, struct sv_error *error);
