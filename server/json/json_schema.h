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
    SV_FIELD_CUSTOM,     /* what its `type` makes of it */
    SV_FIELD_IGNORED,    /* a string of at most `max` bytes that is not used */
    SV_FIELD_KEYWORD,    /* one of `keywords`; they all mean the same, so it is not stored */
    SV_FIELD_ENUM,       /* int: `min` plus the index of one of `keywords` */
    SV_FIELD_UNSUPPORTED /* known but not supported; `help` says what to do instead */
};

struct json_t; /* jansson's */
struct sv_field;
struct sv_reader;

/* How a custom field is read, and what it accepts, as a type of schema_writer.h. */
struct sv_field_type {
    bool (*read)(const struct sv_reader *reader, const struct sv_field *field,
                 struct json_t *value);
    const char *accepts;
};

struct sv_field {
    const char *name;
    enum sv_field_kind kind;
    size_t offset;
    double min, max;
    const char *help;
    const char *default_json; /* of a BOOL, INT, NUMBER or ENUM; NULL: false or 0. Not for an absent
                          object */
    bool required;
    size_t presence_offset;           /* of a bool: whether the field was there; 0: not stored */
    const struct sv_field_type *type; /* of a CUSTOM field */
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
#define SV_CUSTOM_FIELD(json_name, type_, offset_, min_, max_, ...)                                \
    SV_FIELD(json_name, CUSTOM, offset_, min_, max_, .type = &type_, __VA_ARGS__)
#define SV_OBJECT_FIELD(json_name, fields, ...)                                                    \
    SV_CUSTOM_FIELD(json_name, sv_type_object, 0, 0, 0, .subfields = fields, __VA_ARGS__)
#define SV_LIST_FIELD(json_name, offset_, min_, max_, fields, type, ...)                           \
    SV_CUSTOM_FIELD(json_name, sv_type_list, offset_, min_, max_, .subfields = fields,             \
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

/* Structs that a table fills, one for each object of an array. */
struct sv_list {
    int count;
    void *items; /* the document's */
};

/* The fields of `subfields`, in the same struct; or in the structs of a sv_list of `min` to `max`
 * objects. */
extern const struct sv_field_type sv_type_object, sv_type_list;

struct sv_json_document; /* a parsed body and the memory made for it */

/* Reads a body into `to`, a zeroed struct, as the table says, defaults included. Then `check` looks
 * at what no table can say; it may be NULL. Returns NULL on failure, with the error. */
struct sv_json_document *sv_json_read(const struct sl_buffer *body, const struct sv_field *fields,
                                      bool (*check)(void *to, struct sv_error *error), void *to,
                                      struct sv_error *error) SL_MUST_CHECK;
void sv_json_document_release(struct sv_json_document *document); /* NULL is fine */
