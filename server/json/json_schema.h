/* json_schema.h - reads JSON bodies into structs, by tables of fields. It knows no HTTP.
 *
 * A row of a table says a field's name, type, bounds, default and help, and where in the struct it
 * goes. What does not fit is rejected with the field's name and what would be accepted: unknown and
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
    SV_FIELD_INT,        /* int64_t, min .. max */
    SV_FIELD_NUMBER,     /* double, min .. max */
    SV_FIELD_STRING,     /* struct sv_string, at most `max` bytes */
    SV_FIELD_STRINGS,    /* struct sv_strings: one string or an array of at most `max` */
    SV_FIELD_CUSTOM,     /* what `read` makes of it */
    SV_FIELD_IGNORED,    /* a string of at most `max` bytes that is not used */
    SV_FIELD_KEYWORD,    /* one of `keywords`; they all mean the same, so it is not stored */
    SV_FIELD_ENUM,       /* int: `min` plus the index of one of `keywords` */
    SV_FIELD_UNSUPPORTED /* known but not supported; `help` says what to do instead */
};

struct json_t; /* jansson's */
struct sv_reader;

struct sv_field {
    const char *name;
    enum sv_field_kind kind;
    size_t offset;
    double min, max;
    const char *help;
    const char *default_json; /* of a BOOL, INT, NUMBER or ENUM; NULL: false or 0. Not for an absent
                          object */
    bool required;
    size_t presence_offset; /* of a bool: whether the field was there; 0: not stored */
    bool (*read)(const struct sv_reader *reader, const struct sv_field *field,
                 struct json_t *value);
    const struct sv_field *subfields; /* of an object, or of each object of an array */
    size_t size;                      /* of the struct for each object of an array */
    const char *const *keywords; /* NULL at the end; the first is the default, if there is one */
    bool ignores_case;           /* of keywords */
};

/* Rows of a table. What follows the bounds are members by name, `.help` among them. */
#define SV_FIELD(json_name, type, offset_, min_, max_, ...)                                        \
    {                                                                                              \
        .name = json_name, .kind = SV_FIELD_##type, .offset = offset_, .min = min_, .max = max_,   \
        __VA_ARGS__                                                                                \
    }
#define SV_CUSTOM_FIELD(json_name, reader, offset_, min_, max_, ...)                               \
    SV_FIELD(json_name, CUSTOM, offset_, min_, max_, .read = reader, __VA_ARGS__)
#define SV_OBJECT_FIELD(json_name, fields, ...)                                                    \
    SV_CUSTOM_FIELD(json_name, sv_read_object, 0, 0, 0, .subfields = fields, __VA_ARGS__)
#define SV_LIST_FIELD(json_name, offset_, min_, max_, fields, type, ...)                           \
    SV_CUSTOM_FIELD(json_name, sv_read_list, offset_, min_, max_, .subfields = fields,             \
                    .size = sizeof(type), __VA_ARGS__)
#define SV_KEYWORD_FIELD(json_name, words, ...)                                                    \
    SV_FIELD(json_name, KEYWORD, 0, 0, 0, .keywords = words, __VA_ARGS__)
#define SV_ENUM_FIELD(json_name, offset_, first, words, ...)                                       \
    SV_FIELD(json_name, ENUM, offset_, first, 0, .keywords = words, __VA_ARGS__)
#define SV_IGNORED_FIELD(json_name, max_)                                                          \
    SV_FIELD(json_name, IGNORED, 0, 0, max_, .help = "ignored")
#define SV_UNSUPPORTED_FIELD(json_name, advice)                                                    \
    SV_FIELD(json_name, UNSUPPORTED, 0, 0, 0, .help = advice)

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
    bool is_array;           /* the client sent an array, even of one */
    struct sv_prompt *items; /* the document's, as are the ids */
};

struct sv_logit_bias {
    int32_t id;
    float value;
};

struct sv_logit_biases {
    int count;
    struct sv_logit_bias *items; /* the document's */
};

struct sv_texts {
    int count;
    struct sv_string *items; /* the document's */
    bool is_array;           /* the client sent an array, even of one */
    size_t columns;          /* of each row, when they came in rows; else 0 */
};

enum { SV_SHAPE_MAX = 8 };

struct sv_shape {
    int count;
    int64_t sizes[SV_SHAPE_MAX];
};

/* A string or a boolean, whose text is "true" or "false". */
struct sv_string_or_bool {
    struct sv_string text;
    bool is_boolean;
};

/* Structs that a table fills, one for each object of an array. */
struct sv_list {
    int count;
    void *items; /* the document's */
};

/* Readers for SV_FIELD_CUSTOM. Arrays hold `min` to `max` elements, which the document owns. */

/* The fields of `subfields`, in the same struct; or in the structs of a sv_list, one per object. */
bool sv_read_object(const struct sv_reader *r, const struct sv_field *field, struct json_t *value);
bool sv_read_list(const struct sv_reader *r, const struct sv_field *field, struct json_t *value);
/* struct sv_prompts: texts or token ids; or token ids only. */
bool sv_read_prompts(const struct sv_reader *r, const struct sv_field *field, struct json_t *value);
bool sv_read_ids(const struct sv_reader *r, const struct sv_field *field, struct json_t *value);
/* struct sv_logit_biases, each from `min` to `max`. */
bool sv_read_logit_bias(const struct sv_reader *r, const struct sv_field *field,
                        struct json_t *value);
/* struct sv_texts. The first accepts "a" and ["a", "b"]; the second "a" and [["a"], ["b"]], while
 * ["a", "b"] is a pair and rejected; the third ["a", "b"] and [["a"], ["b"]]. */
bool sv_read_texts(const struct sv_reader *r, const struct sv_field *field, struct json_t *value);
bool sv_read_predict_inputs(const struct sv_reader *r, const struct sv_field *field,
                            struct json_t *value);
bool sv_read_tensor_data(const struct sv_reader *r, const struct sv_field *field,
                         struct json_t *value);
/* struct sv_shape */
bool sv_read_shape(const struct sv_reader *r, const struct sv_field *field, struct json_t *value);
/* struct sv_string: a text, or `min` to `max` parts joined as its lines; `subfields` are
 * sv_part_fields. */
bool sv_read_content(const struct sv_reader *r, const struct sv_field *field, struct json_t *value);
/* struct sv_texts: the parts of one text, from a string or from an array: of parts, or of messages
 * that have them. Their subfields are these. */
extern const struct sv_field sv_part_fields[], sv_message_fields[];
bool sv_read_parts(const struct sv_reader *r, const struct sv_field *field, struct json_t *value);
bool sv_read_messages(const struct sv_reader *r, const struct sv_field *field,
                      struct json_t *value);
/* int64_t, a version: a number, or as in the Open Inference Protocol a string. */
bool sv_read_version(const struct sv_reader *r, const struct sv_field *field, struct json_t *value);
/* struct sv_string_or_bool, at most `max` bytes */
bool sv_read_string_or_bool(const struct sv_reader *r, const struct sv_field *field,
                            struct json_t *value);

struct sv_json_document; /* a parsed body and the memory made for it */

/* Reads a body into `to`, a zeroed struct, as the table says, defaults included. Then `check` looks
 * at what no table can say; it may be NULL. Returns NULL on failure, with the error. */
struct sv_json_document *sv_json_read(const struct sl_buffer *body, const struct sv_field *fields,
                                      bool (*check)(void *to, struct sv_error *error), void *to,
                                      struct sv_error *error) SL_MUST_CHECK;
/* Joins texts, at least one, with a separator. The document owns the result. */
bool sv_texts_join(struct sv_json_document *document, const struct sv_texts *texts, char separator,
                   struct sv_string *whole, struct sv_error *error);
void sv_json_document_release(struct sv_json_document *document); /* NULL is fine */
