/* encode.h - texts into the tokens that a classifier reads: whole, or cut when that is allowed. */
#pragma once

#include "registry.h"
#include "wire.h"

#include <stdbool.h>
#include <stdint.h>

/* How texts are to be read, as a request says it; the same in every family. */
struct sv_reading {
    bool truncate; /* a text longer than the context is cut, not refused */
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

/* A text as tokens, special ones included. */
struct sv_tokens {
    int32_t *ids; /* to be freed */
    int count;    /* what the model reads, 1 to its context, */
    int given;    /* and what there was */
};

/* `param` is what messages call the text. */
bool sv_encode(const struct sv_served *served, const struct sv_reading *reading,
               const struct sv_string *text, const char *param, struct sv_tokens *tokens,
               struct sv_problem *problem);
