/* json_field_reader.h - helpers for readers of single fields: those of json_schema.c, and types of
 * their own (struct sv_field_type).
 *
 * A reader of a field gets the value that the client gave, never null, and puts what it makes of it
 * into the struct at the field's offset. */
#pragma once

#include "core/request_error.h"
#include "json/json_document.h"
#include "json/json_fields.h"

struct json_t; /* jansson's */

/* What reading one field needs to know. */
struct sv_reader {
    struct sv_json_document *document;
    void *to;           /* the struct being filled */
    const char *prefix; /* "stream_options." inside that object, else "" */
    struct sv_error *error;
};

/* The field's full name for messages, such as "parameters.top_k". */
void sv_reader_param(const struct sv_reader *r, const struct sv_field *field,
                     char param[static SV_PARAM_MAX]);

/* An element of an array, whose name is "name[index]". */
struct sv_indexed_field {
    struct sv_field field;
    char name[SV_PARAM_MAX];
};

const struct sv_field *sv_reader_element(const struct sv_field *field, size_t index,
                                         struct sv_indexed_field *element);
/* Fails with "'param' must be `expected`, not (the value)." */
bool sv_reader_invalid(const struct sv_reader *r, const struct sv_field *field,
                       const struct json_t *value, const char *expected);
void *sv_reader_target(const struct sv_reader *r, size_t offset);
/* Zeroed memory that the document owns, at least one byte; NULL with an error. */
void *sv_reader_alloc(const struct sv_reader *r, size_t count, size_t size);
/* Checks the number of elements; fails with "'param' holds `count` `element_plural`; ...". */
bool sv_reader_check_count(const struct sv_reader *r, const struct sv_field *field, size_t count,
                           const char *element_plural);
/* A string without U+0000; it belongs to the document. */
bool sv_reader_string(const struct sv_reader *r, const struct sv_field *field,
                      const struct json_t *value, struct sv_string *string);
/* A string of at most field->max bytes. */
bool sv_reader_bounded_string(const struct sv_reader *r, const struct sv_field *field,
                              const struct json_t *value, struct sv_string *string);
