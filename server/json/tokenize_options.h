/* tokenize_options.h - the fields of a request that say how its texts become tokens; the same in
 * every family of endpoints. */
#pragma once

#include "sluice/tokenizer.h"
#include "json/json_schema.h"

#include <stdbool.h>

/* How the texts of a request are tokenized; the same in every API. */
struct sv_tokenize_options {
    bool in_parameters; /* the API has these fields inside `parameters`; set before reading */
    bool truncate;      /* truncate texts longer than the context instead of rejecting them */
    struct sv_string direction, unknown;

    /* Set by sv_tokenize_options_check. */
    enum sl_truncation side;
    bool replaces_unknown; /* characters outside the vocabulary */
};

/* Rows for a struct sv_tokenize_options that is `member` of `type`. */
#define SV_TOKENIZE_FIELDS(type, member)                                                           \
    SV_FIELD("truncate", BOOL, offsetof(struct type, member.truncate), 0, 1,                       \
             .default_json = "false", .help = "cut a text that is longer than the context"),       \
        SV_FIELD("truncation_direction", STRING, offsetof(struct type, member.direction), 0,       \
                 SV_KEYWORD_BYTES_MAX,                                                             \
                 .help = "\"Right\" cuts the end, \"Left\" the beginning; if absent, the model's " \
                         "side"),                                                                  \
        SV_UNKNOWN_CHARACTERS_FIELD(offsetof(struct type, member.unknown))

#define SV_UNKNOWN_CHARACTERS_FIELD(place)                                                         \
    SV_FIELD("unknown_characters", STRING, place, 0, SV_KEYWORD_BYTES_MAX,                         \
             .help = "\"error\" or \"replace\" for characters outside the vocabulary; error if "   \
                     "absent")

bool sv_tokenize_options_check(struct sv_tokenize_options *tokenize, struct sv_error *error);
/* For requests without truncation. */
bool sv_unknown_characters_check(const struct sv_string *keyword, bool *replaces_unknown,
                                 struct sv_error *error);

/* A sentence that says how to name the model outside the body. */
extern const char sv_model_naming_hint[];
