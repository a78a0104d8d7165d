/* text_to_tokens.h - texts into tokens: all of them, or those that a classifier reads; and back. */
#pragma once

#include "base/json_writer.h"
#include "params/field_types.h"
#include "params/tokenize_options.h"
#include "registry/registry.h"

#include <stdbool.h>
#include <stdint.h>

/* A text or two, and how to tokenize them. */
struct sv_tokenize_input {
    const struct sv_string *text, *pair; /* pair NULL: there is one */
    const struct sl_prompt *prompt;      /* before it; NULL: none */
    const struct sl_byte_range *plain;   /* parts of the text without special tokens */
    int plain_count;
    const char *param;  /* its name in messages */
    bool in_parameters; /* as in struct sv_tokenize_options */
    enum sl_unknown unknown;
    bool adds_special; /* add the tokens that the model expects around a text */
    bool wants_places;
    size_t max;      /* store at most this many tokens and count the rest; 0: store all */
    int truncate_to; /* that many tokens, as sl_encoding says; 0: do not */
    enum sl_truncation side;
};

struct sv_tokens {
    int32_t *ids, *types;           /* types NULL: of one text */
    struct sl_token_offset *places; /* NULL: not requested */
    int given;                      /* number of tokens, 0 if the text is blank, */
    int count;                      /* and after truncation */
};

/* Tokenizes a text. Release the tokens even after a failure. */
bool sv_tokenize(const struct sv_model_ref *ref, const struct sv_tokenize_input *input,
                 struct sv_tokens *tokens, struct sv_error *error);
void sv_tokens_release(const struct sv_tokens *tokens);
/* The maximum number of tokens of what is to be tokenized. */
size_t sv_tokens_max(const struct sv_model_ref *ref, const struct sv_tokenize_input *input);

/* Whether every character of a text is in the vocabulary. */
bool sv_is_tokenizable(const struct sv_model_ref *ref, const char *text);
/* Checks that the vocabulary has all ids of a prompt, which messages call `param`. */
bool sv_check_token_ids(const struct sv_model_ref *ref, const struct sv_prompt *prompt,
                        const char *param, struct sv_error *error);

/* Adds the text of ids, which the vocabulary has, as a JSON string. */
bool sv_add_decoded(struct sl_json_writer *json, const struct sl_tokenizer *tokenizer,
                    struct sl_decoding decoding, struct sl_err *err);

/* Takes the token ids of a text as they are, checks them, and truncates them if allowed. */
bool sv_take_token_ids(const struct sv_model_ref *ref, const struct sv_tokenize_options *tokenize,
                       const struct sv_prompt *text, const char *param, struct sv_tokens *tokens,
                       struct sv_error *error);

/* Tokenizes a text or a pair for a classifier and truncates it if allowed. One without tokens of
 * its own is rejected as blank, or gets one token, which stands for none. Of `input` the options
 * say the rest. Release the tokens even after a failure. */
bool sv_tokenize_for_classifier(const struct sv_model_ref *ref,
                                const struct sv_tokenize_options *tokenize,
                                struct sv_tokenize_input input, struct sv_tokens *tokens,
                                struct sv_error *error);
