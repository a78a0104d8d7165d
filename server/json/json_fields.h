/* json_fields.h - tables of fields: how a JSON object becomes a struct.
 *
 * A row of a table says a field's name, type, bounds, default and help, and where in the struct it
 * goes. json_schema.h has the macros for rows. */
#pragma once

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
    bool ignores_others;         /* in the row SV_FIELD_END: members without a row are ignored */
};

struct sv_string {
    const char *data; /* NULL: not given */
    size_t bytes;
};

enum { SV_STRINGS_MAX = 16 };

struct sv_strings {
    int count;
    struct sv_string items[SV_STRINGS_MAX];
};

/* Structs that a table fills, one for each object of an array. */
struct sv_list {
    int count;
    void *items; /* the document's */
};
