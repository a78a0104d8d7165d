/* tokenize_options.h - the fields of a request that say how its texts become tokens; the same in
 * every family of endpoints. */
#pragma once

#include "json/json_schema.h"

#include <stdbool.h>

/* How texts are to be read, as a request says it; the same in every family. */
struct sv_tokenize_options {
    bool in_parameters; /* where the family has these words; set before the request is read */
    bool truncate;      /* a text longer than the context is cut, not refused */
    struct sv_string direction, unknown;

    /* What the two words mean, once they have been checked. */
    bool from_left;        /* the beginning goes, not the end */
    bool replaces_unknown; /* characters out of vocabulary */
};

/* Its rows in the table of a request: `member` is a struct sv_tokenize_options in `type`. */
#define SV_TOKENIZE_FIELDS(type, member)                                                           \
    SV_FIELD("truncate", BOOL, offsetof(struct type, member.truncate), 0, 1, .fallback = "false",  \
             .help = "cut a text that is longer than the context"),                                \
        SV_FIELD("truncation_direction", STRING, offsetof(struct type, member.direction), 0,       \
                 SV_KEYWORD_BYTES_MAX,                                                             \
                 .help = "\"Right\" cuts the end, \"Left\" the beginning; Right if absent"),       \
        SV_UNKNOWN_CHARACTERS_FIELD(offsetof(struct type, member.unknown))

#define SV_UNKNOWN_CHARACTERS_FIELD(place)                                                         \
    SV_FIELD("unknown_characters", STRING, place, 0, SV_KEYWORD_BYTES_MAX,                         \
             .help = "\"error\" or \"replace\" for characters outside the vocabulary; error if "   \
                     "absent")

bool sv_tokenize_options_check(struct sv_tokenize_options *tokenize, struct sv_error *error);
/* Of the word alone, for those who cut nothing. */
bool sv_unknown_characters_check(const struct sv_string *keyword, bool *replaces_unknown,
                                 struct sv_error *error);

/* How a model is named where the body does not do it, as a sentence. */
extern const char sv_model_naming_hint[];
