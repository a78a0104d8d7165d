/* tokenize_options.h - the fields of a request that say how its texts become tokens; the same in
 * every family of endpoints. */
#pragma once

#include "sluice/tokenizer.h"
#include "json/json_schema.h"

#include <stdbool.h>

/* What becomes of texts without tokens: an error, or results without labels and vectors of 0. */
enum sv_blank_texts { SV_BLANKS_FAIL, SV_BLANKS_EMPTY };

/* How the texts of a request are tokenized; the same in every API. */
struct sv_tokenize_options {
    bool in_parameters; /* the API has these fields inside `parameters`; set before reading */
    bool truncate;      /* truncate texts longer than the context instead of rejecting them */
    enum sl_truncation side;
    enum sl_unknown unknown; /* characters outside the vocabulary */
    enum sv_blank_texts blanks;
    struct sv_string prompt_name; /* a prompt of the model; NULL: its default */
    int64_t second_max; /* of a pair, the most tokens of the second text to keep; 0: all */
};

/* The keywords of the rows below. */
extern const char *const sv_truncation_directions[],
    *const sv_unknown_keywords[], *const sv_blank_keywords[], *const sv_depth_keywords[];

/* Rows for a struct sv_tokenize_options that is `member` of `type`.
 * NOLINTBEGIN(bugprone-macro-parentheses): neither can be in parentheses */
#define SV_TOKENIZE_FIELDS(type, member)                                                           \
    SV_FIELD("truncate", BOOL, offsetof(struct type, member.truncate), 0, 1,                       \
             .default_json = "false", .help = "cut a text that is longer than the context"),       \
        SV_ENUM_FIELD("truncation_direction", offsetof(struct type, member.side),                  \
                      SL_TRUNCATE_RIGHT, sv_truncation_directions, .ignores_case = true,           \
                      .help = "Right cuts the end, Left the beginning; if absent, the model's "    \
                              "side"),                                                             \
        SV_UNKNOWN_CHARACTERS_FIELD(offsetof(struct type, member.unknown))
/* NOLINTEND(bugprone-macro-parentheses) */

/* The same, where a request has many texts. */
#define SV_BLANK_TEXTS_FIELD(place)                                                                \
    SV_ENUM_FIELD(                                                                                 \
        "blank_texts", place, SV_BLANKS_FAIL, sv_blank_keywords, .default_json = "\"error\"",      \
        .help = "what to do with texts without tokens: reject the request, or give them "          \
                "no labels, or a vector of 0")

/* The same, where they become embeddings. */
#define SV_PROMPT_NAME_FIELD(place)                                                                \
    SV_FIELD("prompt_name", STRING, place, 0, SV_NAME_BYTES_MAX,                                   \
             .help = "prompt of the model to put before each text; if absent, its default prompt")

#define SV_EXPLAIN_FIELD(place)                                                                    \
    SV_FIELD("explain", INT, place, 1, SV_EXPLAIN_WORDS_MAX,                                       \
             .help = "name this many words that moved the score of the most likely label")

#define SV_DEPTH_FIELD(place)                                                                      \
    SV_KEYWORD_FIELD("depth", sv_depth_keywords, .presence_offset = (place),                       \
                     .help = "tell how many layers computed each token, and with which gates")

#define SV_UNKNOWN_CHARACTERS_FIELD(place)                                                         \
    SV_ENUM_FIELD("unknown_characters", place, SL_UNKNOWN_FAIL, sv_unknown_keywords,               \
                  .ignores_case = true, .default_json = "\"error\"",                               \
                  .help = "what to do with characters outside the vocabulary")

/* A sentence that says how to name the model outside the body. */
extern const char sv_model_naming_hint[];
