/* tokenize_options.h - the fields of a request that say how its texts become tokens; the same in
 * every family of endpoints. */
#pragma once

#include "json/json_schema.h"

#include <stdbool.h>

/* How texts are to be read, as a request says it; the same in every family. */
struct sv_reading {
    bool in_parameters; /* where the family has these words; set before the request is read */
    bool truncate;      /* a text longer than the context is cut, not refused */
    struct sv_string direction, unknown;

    /* What the two words mean, once they have been checked. */
    bool from_left;        /* the beginning goes, not the end */
    bool replaces_unknown; /* characters out of vocabulary */
};

/* Its rows in the table of a request: `member` is a struct sv_reading in `type`. */
#define SV_READING_FIELDS(type, member)                                                            \
    {.name = "truncate",                                                                           \
     .kind = SV_FIELD_BOOL,                                                                        \
     .offset = offsetof(struct type, member) + offsetof(struct sv_reading, truncate)},             \
        {.name = "truncation_direction",                                                           \
         .kind = SV_FIELD_STRING,                                                                  \
         .offset = offsetof(struct type, member) + offsetof(struct sv_reading, direction),         \
         .most = SV_WORD_BYTES_MAX},                                                               \
    {                                                                                              \
        .name = "unknown_characters", .kind = SV_FIELD_STRING,                                     \
        .offset = offsetof(struct type, member) + offsetof(struct sv_reading, unknown),            \
        .most = SV_WORD_BYTES_MAX                                                                  \
    }

bool sv_reading_check(struct sv_reading *reading, struct sv_problem *problem);
/* Of the word alone, for those who cut nothing. */
bool sv_unknown_check(const struct sv_string *word, bool *replaces_unknown,
                      struct sv_problem *problem);

/* How a model is named where the body does not do it, as a sentence. */
extern const char sv_naming[];
