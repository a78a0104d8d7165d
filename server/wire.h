/* wire.h - JSON from clients into structs, by tables of fields. It knows no HTTP.
 *
 * A table says for each field its name, its kind, where in the struct it goes and what it may be.
 * Whatever does not fit is refused with the field's name and what would be accepted: unknown and
 * repeated fields, wrong types, numbers out of range, a NUL inside a string. `null` is the same as
 * leaving a field out. Strings belong to the document: release it last. */
#pragma once

#include "limits.h"
#include "problem.h"
#include "sluice/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sv_field_kind {
    SV_FIELD_END,
    SV_FIELD_BOOL,    /* bool */
    SV_FIELD_INT,     /* int64_t, least .. most */
    SV_FIELD_NUMBER,  /* double, least .. most */
    SV_FIELD_STRING,  /* struct sv_string, at most `most` bytes */
    SV_FIELD_STRINGS, /* struct sv_strings: one string or an array, at most `most` of them */
    SV_FIELD_PROMPTS, /* struct sv_prompts */
    SV_FIELD_BIAS,    /* struct sv_biases, each from least to most */
    SV_FIELD_OBJECT,  /* the fields of `inner`, in the same struct */
    SV_FIELD_REFUSED  /* known, and not supported; `accepted` says what to do instead */
};

struct sv_field {
    const char *name;
    enum sv_field_kind kind;
    bool required;
    size_t offset;
    double least, most;
    size_t given; /* offset of a bool that tells whether it was there; 0: nobody asks */
    const struct sv_field *inner;
    const char *accepted;
};

struct sv_string {
    const char *data; /* NULL: not given */
    size_t bytes;
};

enum { SV_STRINGS_MAX = 4 };

struct sv_strings {
    int count;
    struct sv_string items[SV_STRINGS_MAX];
};

/* One prompt: text, or token ids when `ids` is not NULL. */
struct sv_prompt {
    struct sv_string text;
    const int32_t *ids;
    int id_count;
};

struct sv_prompts {
    int count;
    struct sv_prompt *items; /* the document's, as are the ids */
};

struct sv_bias {
    int32_t id;
    float value;
};

struct sv_biases {
    int count;
    struct sv_bias *items; /* the document's */
};

struct sv_document; /* a parsed body and what hangs on it */

/* Reads the bytes into `to` as the table says; `to` holds defaults before. NULL: see problem. */
struct sv_document *sv_wire_read(const char *bytes, size_t count, const struct sv_field *fields,
                                 void *to, struct sv_problem *problem) SL_MUST_CHECK;
void sv_document_release(struct sv_document *document); /* NULL is fine */
