/* json_schema.h - JSON from clients into structs, by tables of fields. It knows no HTTP.
 *
 * A table says for each field its name, its kind, where in the struct it goes and what it may be.
 * Whatever does not fit is refused with the field's name and what would be accepted: unknown and
 * repeated fields, wrong types, numbers out of range, a NUL inside a string. `null` is the same as
 * leaving a field out. Strings belong to the document: release it last. */
#pragma once

#include "core/limits.h"
#include "core/request_error.h"
#include "sluice/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sv_field_kind {
    SV_FIELD_END,
    SV_FIELD_BOOL,       /* bool */
    SV_FIELD_INT,        /* int64_t, least .. most */
    SV_FIELD_NUMBER,     /* double, least .. most */
    SV_FIELD_STRING,     /* struct sv_string, at most `most` bytes */
    SV_FIELD_STRINGS,    /* struct sv_strings: one string or an array, at most `most` of them */
    SV_FIELD_CUSTOM,     /* what `read` makes of it */
    SV_FIELD_IGNORED,    /* a string of at most `most` bytes that nobody looks at */
    SV_FIELD_KEYWORD,    /* one of `words`; they mean the same, so nobody looks at it either */
    SV_FIELD_UNSUPPORTED /* known, and not supported; `accepted` says what to do instead */
};

struct json_t; /* jansson's */
struct sv_reader;

struct sv_field {
    const char *name;
    enum sv_field_kind kind;
    bool required;
    size_t offset;
    double min, max;
    size_t given; /* offset of a bool that tells whether it was there; 0: nobody asks */
    bool (*read)(const struct sv_reader *reader, const struct sv_field *field,
                 struct json_t *value);
    const struct sv_field *inner; /* the table that `read` goes by, if it does */
    size_t size;                  /* and of one struct that such a table fills, in a list */
    const char *const *keywords;  /* NULL at the end */
    const char *advice;
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
    bool is_array;           /* they came as an array, even if of one */
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

struct sv_texts {
    int count;
    struct sv_string *items; /* the document's */
    bool is_array;           /* they came as an array, even if of one */
    size_t columns;          /* of each row, when they came in rows; else 0 */
};

enum { SV_SHAPE_MAX = 8 };

struct sv_shape {
    int count;
    int64_t sizes[SV_SHAPE_MAX];
};

/* A string, or true or false; then the text is that word. */
struct sv_string_or_bool {
    struct sv_string text;
    bool is_boolean;
};

/* Structs that a table fills, one for each object of an array. */
struct sv_list {
    int count;
    void *items; /* the document's */
};

/* Readers for SV_FIELD_CUSTOM. Arrays hold `least` to `most`; what is inside is the document's. */

/* The fields of `inner`, in the same struct; or in the structs of a sv_list, one per object. */
bool sv_read_object(const struct sv_reader *r, const struct sv_field *field, struct json_t *value);
bool sv_read_list(const struct sv_reader *r, const struct sv_field *field, struct json_t *value);
/* struct sv_prompts: texts or token ids; or token ids only. */
bool sv_read_prompts(const struct sv_reader *r, const struct sv_field *field, struct json_t *value);
bool sv_read_ids(const struct sv_reader *r, const struct sv_field *field, struct json_t *value);
/* struct sv_biases, each from least to most. */
bool sv_read_bias(const struct sv_reader *r, const struct sv_field *field, struct json_t *value);
/* struct sv_texts: "a", ["a", "b"]; or "a", [["a"], ["b"]], where ["a", "b"] is a refused pair; or
 * ["a", "b"] and [["a"], ["b"]] alike. */
bool sv_read_texts(const struct sv_reader *r, const struct sv_field *field, struct json_t *value);
bool sv_read_sequences(const struct sv_reader *r, const struct sv_field *field,
                       struct json_t *value);
bool sv_read_data(const struct sv_reader *r, const struct sv_field *field, struct json_t *value);
/* struct sv_shape */
bool sv_read_shape(const struct sv_reader *r, const struct sv_field *field, struct json_t *value);
/* struct sv_string: a text, or the texts of parts as lines of one. */
bool sv_read_content(const struct sv_reader *r, const struct sv_field *field, struct json_t *value);
/* struct sv_texts: the parts of one text, out of a text or messages and their parts. */
bool sv_read_messages(const struct sv_reader *r, const struct sv_field *field,
                      struct json_t *value);
/* struct sv_string_or_bool, of at most `most` bytes */
bool sv_read_string_or_bool(const struct sv_reader *r, const struct sv_field *field,
                            struct json_t *value);

struct sv_document; /* a parsed body and what hangs on it */

/* Reads a body into `to` as the table says; `to` holds defaults before. Then `check` looks at what
 * no table can say; NULL: nothing. The result is NULL: see error. */
struct sv_document *sv_json_read(const struct sl_buffer *body, const struct sv_field *fields,
                                 bool (*check)(void *to, struct sv_error *error), void *to,
                                 struct sv_error *error) SL_MUST_CHECK;
/* One text of several, 1 at least, with a byte between two; it is the document's. */
bool sv_texts_join(struct sv_document *document, const struct sv_texts *texts, char separator,
                   struct sv_string *whole, struct sv_error *error);
void sv_document_release(struct sv_document *document); /* NULL is fine */
