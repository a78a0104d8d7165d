/* json_schema.c - JSON from clients into structs, by tables of fields. */
#include "json/json_schema.h"
#include "base/comma_list.h"
#include "base/names.h"
#include "json/json_field_reader.h"
#include "json/json_parse.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Memory that a document owns. */
struct block {
    struct block *next;
    max_align_t memory[];
};

struct sv_json_document {
    json_t *root;
    struct block *blocks;
};

void sv_json_document_release(struct sv_json_document *document)
{
    if (!document)
        return;
    for (struct block *block = document->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    json_decref(document->root);
    free(document);
}

/* ---- for readers ----------------------------------------------------------------------------- */

void *sv_reader_target(const struct sv_reader *r, size_t offset)
{
    return (char *)r->to + offset;
}

void *sv_reader_alloc(const struct sv_reader *r, size_t count, size_t size)
{
    struct block *block = size > 0 && count > (SIZE_MAX - sizeof *block) / size - 1
                              ? NULL
                              : calloc(1, sizeof *block + (count > 0 ? count * size : 1));
    if (!block) {
        (void)sv_fail_no_memory(r->error);
        return NULL;
    }
    block->next = r->document->blocks;
    r->document->blocks = block;
    return block->memory;
}

void sv_reader_param(const struct sv_reader *r, const struct sv_field *field,
                     char param[static SV_PARAM_MAX])
{
    (void)snprintf(param, SV_PARAM_MAX, "%s%s", r->prefix, field->name);
}

const struct sv_field *sv_reader_element(const struct sv_field *field, size_t index,
                                         struct sv_indexed_field *element)
{
    element->field = *field;
    (void)snprintf(element->name, sizeof element->name, "%.40s[%zu]", field->name, index);
    element->field.name = element->name;
    return &element->field;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* With a point or an exponent: 1.0 is not an integer here and must not look like one. */
static void quote_real(double value, char out[static SV_QUOTE_MAX])
{
    int length = snprintf(out, SV_QUOTE_MAX, "%g", value);
    if (!strpbrk(out, ".e"))
        (void)snprintf(out + length, SV_QUOTE_MAX - (size_t)length, ".0");
}

/* A value as a message repeats it, shortened. */
static void quote(const json_t *value, char out[static SV_QUOTE_MAX])
{
    static const char *const kinds[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array", [JSON_STRING] = "a string",
        [JSON_TRUE] = "true",        [JSON_FALSE] = "false",    [JSON_NULL] = "null",
    };
    size_t bytes = json_string_length(value);
    if (json_is_integer(value))
        (void)snprintf(out, SV_QUOTE_MAX, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        quote_real(json_real_value(value), out);
    else if (json_is_string(value) && bytes <= SV_QUOTE_MAX / 2)
        (void)snprintf(out, SV_QUOTE_MAX, "\"%s\"", json_string_value(value));
    else
        (void)snprintf(out, SV_QUOTE_MAX, "%s", kinds[json_typeof(value)]);
}

bool sv_reader_invalid(const struct sv_reader *r, const struct sv_field *field, const json_t *value,
                       const char *expected)
{
    char param[SV_PARAM_MAX], got[SV_QUOTE_MAX];
    sv_reader_param(r, field, param);
    quote(value, got);
    return sv_fail(r->error, SV_INVALID_VALUE, param, "'%s' must be %s, not %s.", param, expected,
                   got);
}

bool sv_reader_check_count(const struct sv_reader *r, const struct sv_field *field, size_t count,
                           const char *things)
{
    char param[SV_PARAM_MAX];
    if ((double)count >= field->min && (double)count <= field->max)
        return true;
    sv_reader_param(r, field, param);
    if (count == 0)
        return sv_fail(r->error, SV_EMPTY_INPUT, param,
                       "'%s' is an empty array; expected one or more %s.", param, things);
    if (field->min > 1)
        return sv_fail(r->error, SV_INVALID_VALUE, param,
                       "'%s' holds %zu %s; %.0f to %.0f are accepted.", param, count, things,
                       field->min, field->max);
    return sv_fail(r->error, SV_INVALID_VALUE, param,
                   "'%s' holds %zu %s; at most %.0f are accepted.", param, count, things,
                   field->max);
}

static bool read_bool(const struct sv_reader *r, const struct sv_field *field, const json_t *value)
{
    if (!json_is_boolean(value))
        return sv_reader_invalid(r, field, value, "true or false");
    *(bool *)sv_reader_target(r, field->offset) = json_is_true(value);
    return true;
}

/* A bound as an integer: as a double, INT64_MAX is rounded up to 2^63. */
static long long whole_number(double bound)
{
    return bound >= 0x1p63 ? INT64_MAX : (long long)bound;
}

static bool read_int(const struct sv_reader *r, const struct sv_field *field, const json_t *value)
{
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || (double)number < field->min || (double)number > field->max) {
        char expected[96];
        (void)snprintf(expected, sizeof expected, "an integer from %lld to %lld",
                       whole_number(field->min), whole_number(field->max));
        return sv_reader_invalid(r, field, value, expected);
    }
    *(int64_t *)sv_reader_target(r, field->offset) = number;
    return true;
}

static bool read_number(const struct sv_reader *r, const struct sv_field *field,
                        const json_t *value)
{
    double number = json_number_value(value);
    if (!json_is_number(value) || !(number >= field->min) || !(number <= field->max)) {
        char expected[96];
        (void)snprintf(expected, sizeof expected, "a number from %g to %g", field->min, field->max);
        return sv_reader_invalid(r, field, value, expected);
    }
    *(double *)sv_reader_target(r, field->offset) = number;
    return true;
}

bool sv_reader_string(const struct sv_reader *r, const struct sv_field *field, const json_t *value,
                      struct sv_string *string)
{
    char param[SV_PARAM_MAX];
    string->data = json_string_value(value);
    string->bytes = json_string_length(value);
    if (!string->data)
        return sv_reader_invalid(r, field, value, "a string");
    if (!memchr(string->data, '\0', string->bytes))
        return true;
    sv_reader_param(r, field, param);
    return sv_fail(r->error, SV_INVALID_VALUE, param,
                   "'%s' holds the character U+0000, which is not accepted.", param);
}

bool sv_reader_bounded_string(const struct sv_reader *r, const struct sv_field *field,
                              const json_t *value, struct sv_string *string)
{
    char param[SV_PARAM_MAX];
    if (!sv_reader_string(r, field, value, string))
        return false;
    if ((double)string->bytes <= field->max)
        return true;
    sv_reader_param(r, field, param);
    return sv_fail(r->error, SV_INVALID_VALUE, param,
                   "'%s' has %zu bytes; at most %.0f are accepted.", param, string->bytes,
                   field->max);
}

static bool fail_keyword(const struct sv_reader *r, const struct sv_field *field,
                         const json_t *value)
{
    char expected[160] = "";
    for (const char *const *word = field->keywords; *word; word++) {
        size_t used = strlen(expected);
        const char *separator = word == field->keywords ? "" : word[1] ? ", " : " or ";
        (void)snprintf(expected + used, sizeof expected - used, "%s\"%s\"", separator, *word);
    }
    return sv_reader_invalid(r, field, value, expected);
}

static bool read_keyword(const struct sv_reader *r, const struct sv_field *field,
                         const json_t *value)
{
    struct sv_string given;
    int index = 0;
    if (!sv_reader_string(r, field, value, &given))
        return false;
    int (*compare)(const char *, const char *) = field->ignores_case ? strcasecmp : strcmp;
    while (field->keywords[index] && compare(given.data, field->keywords[index]) != 0)
        index++;
    if (!field->keywords[index])
        return fail_keyword(r, field, value);
    if (field->kind == SV_FIELD_ENUM)
        *(int *)sv_reader_target(r, field->offset) = (int)field->min + index;
    return true;
}

static bool read_strings(const struct sv_reader *r, const struct sv_field *field,
                         const json_t *value)
{
    struct sv_strings *strings = sv_reader_target(r, field->offset);
    struct sv_indexed_field element;
    bool is_array = json_is_array(value);
    size_t count = is_array ? json_array_size(value) : 1;
    assert(field->max <= SV_STRINGS_MAX);
    if (!is_array && !json_is_string(value)) {
        char expected[96];
        (void)snprintf(expected, sizeof expected, "a string or an array of at most %.0f strings",
                       field->max);
        return sv_reader_invalid(r, field, value, expected);
    }
    if (is_array && !sv_reader_check_count(r, field, count, "strings"))
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct sv_field *place = is_array ? sv_reader_element(field, i, &element) : field;
        const json_t *item = is_array ? json_array_get(value, i) : value;
        if (!sv_reader_string(r, place, item, &strings->items[i]))
            return false;
    }
    strings->count = (int)count;
    return true;
}

/* ---- objects --------------------------------------------------------------------------------- */

static const struct sv_field *find(const struct sv_field *fields, const char *name)
{
    for (const struct sv_field *f = fields; f->kind != SV_FIELD_END; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

static bool unknown(const struct sv_reader *r, const struct sv_field *fields, const char *name)
{
    enum { FIELDS_MAX = 64 };

    const char *accepted[FIELDS_MAX + 1] = {NULL};
    char names[1024] = "", param[SV_PARAM_MAX];
    int count = 0;
    for (const struct sv_field *f = fields; f->kind != SV_FIELD_END && count < FIELDS_MAX; f++)
        if (f->kind != SV_FIELD_UNSUPPORTED)
            accepted[count++] = f->name;
    (void)snprintf(param, sizeof param, "%s%s", r->prefix, name);
    const char *meant = sl_name_suggest(name, accepted);
    return sv_fail(r->error, SV_UNKNOWN_PARAMETER, param,
                   "Unknown parameter '%s'%s%s%s Accepted: %s.", param,
                   meant ? "; did you mean '" : ".", meant ? meant : "", meant ? "'?" : "",
                   sl_list_join(names, sizeof names, accepted));
}

static bool read_field(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    char param[SV_PARAM_MAX];
    struct sv_string ignored;
    if (field->presence_offset)
        *(bool *)sv_reader_target(r, field->presence_offset) = true;
    switch (field->kind) {
    case SV_FIELD_BOOL: return read_bool(r, field, value);
    case SV_FIELD_INT: return read_int(r, field, value);
    case SV_FIELD_NUMBER: return read_number(r, field, value);
    case SV_FIELD_STRING:
        return sv_reader_bounded_string(r, field, value, sv_reader_target(r, field->offset));
    case SV_FIELD_IGNORED: return sv_reader_bounded_string(r, field, value, &ignored);
    case SV_FIELD_KEYWORD:
    case SV_FIELD_ENUM: return read_keyword(r, field, value);
    case SV_FIELD_STRINGS: return read_strings(r, field, value);
    case SV_FIELD_CUSTOM: return field->type->read(r, field, value);
    case SV_FIELD_END: break;
    case SV_FIELD_UNSUPPORTED:
        sv_reader_param(r, field, param);
        return sv_fail(r->error, SV_UNSUPPORTED_PARAMETER, param,
                       "The parameter '%s' is not supported here. %s", param, field->help);
    }
    assert(field->kind == SV_FIELD_END);
    return false;
}

static bool is_complete(const struct sv_reader *r, const struct sv_field *fields,
                        const json_t *object)
{
    char param[SV_PARAM_MAX];
    for (const struct sv_field *f = fields; f->kind != SV_FIELD_END; f++) {
        const json_t *value = json_object_get(object, f->name);
        if (!f->required || (value && !json_is_null(value)))
            continue;
        sv_reader_param(r, f, param);
        return sv_fail(r->error, SV_MISSING_PARAMETER, param, "'%s' is required.", param);
    }
    return true;
}

static void set_default(const struct sv_field *field, char *place)
{
    switch (field->kind) {
    case SV_FIELD_BOOL: *(bool *)place = field->default_json[0] == 't'; break;
    case SV_FIELD_INT: *(int64_t *)(void *)place = strtoll(field->default_json, NULL, 10); break;
    case SV_FIELD_NUMBER: *(double *)(void *)place = strtod(field->default_json, NULL); break;
    case SV_FIELD_ENUM: *(int *)(void *)place = (int)field->min; break; /* the first keyword */
    case SV_FIELD_STRING:
    case SV_FIELD_STRINGS:
    case SV_FIELD_CUSTOM:
    case SV_FIELD_IGNORED:
    case SV_FIELD_KEYWORD:
    case SV_FIELD_UNSUPPORTED:
    case SV_FIELD_END: assert(false && "only booleans, numbers and keywords have defaults");
    }
}

static void set_defaults(const struct sv_field *fields, char *to)
{
    for (const struct sv_field *f = fields; f->kind != SV_FIELD_END; f++)
        if (f->default_json)
            set_default(f, to + f->offset);
}

/* Every member of the object, and all that is required there. */
static bool read_members(const struct sv_reader *r, const struct sv_field *fields, json_t *object)
{
    const char *name;
    json_t *value;
    set_defaults(fields, r->to);
    json_object_foreach (object, name, value) {
        const struct sv_field *field = find(fields, name);
        if (!field)
            return unknown(r, fields, name);
        if (!json_is_null(value) && !read_field(r, field, value))
            return false;
    }
    return is_complete(r, fields, object);
}

static bool read_object(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    char prefix[SV_PARAM_MAX];
    if (!json_is_object(value))
        return sv_reader_invalid(r, field, value, "an object");
    (void)snprintf(prefix, sizeof prefix, "%s%s.", r->prefix, field->name);
    struct sv_reader subfields = *r;
    subfields.prefix = prefix;
    return read_members(&subfields, field->subfields, value);
}

const struct sv_field_type sv_type_object = {read_object, "@"};

/* Shows an object with the required fields. */
static void show_required(const struct sv_field *fields, char *out, size_t size)
{
    size_t length = (size_t)snprintf(out, size, "an object");
    bool any = false;
    for (const struct sv_field *f = fields; f->kind != SV_FIELD_END; f++) {
        if (!f->required || length >= size)
            continue;
        length += (size_t)snprintf(out + length, size - length, "%s\"%s\": ...",
                                   any ? ", " : " like {", f->name);
        any = true;
    }
    if (any && length < size)
        (void)snprintf(out + length, size - length, "}");
}

/* A likely mistake is the value of a required field in place of the object. */
static bool fail_not_an_object(const struct sv_reader *r, const struct sv_field *field,
                               size_t index, const json_t *value)
{
    struct sv_indexed_field element;
    char expected[2 * SV_PARAM_MAX];
    show_required(field->subfields, expected, sizeof expected);
    return sv_reader_invalid(r, sv_reader_element(field, index, &element), value, expected);
}

/* Reads element `index` of an array into element `index` of the list. */
static bool read_item(const struct sv_reader *r, const struct sv_field *field, size_t index,
                      json_t *value)
{
    const struct sv_list *list = sv_reader_target(r, field->offset);
    char prefix[SV_PARAM_MAX], param[SV_PARAM_MAX];
    if (!json_is_object(value))
        return fail_not_an_object(r, field, index, value);
    (void)snprintf(param, sizeof param, "%s%s[%zu]", r->prefix, field->name, index);
    (void)snprintf(prefix, sizeof prefix, "%.62s.", param);
    struct sv_reader subfields = *r;
    subfields.to = (char *)list->items + index * field->size;
    subfields.prefix = prefix;
    return read_members(&subfields, field->subfields, value);
}

static bool read_list(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    struct sv_list *list = sv_reader_target(r, field->offset);
    size_t count = json_array_size(value);
    if (!json_is_array(value))
        return sv_reader_invalid(r, field, value, "an array of objects");
    if (!sv_reader_check_count(r, field, count, "objects"))
        return false;
    list->items = sv_reader_alloc(r, count, field->size);
    list->count = (int)count;
    for (size_t i = 0; list->items && i < count; i++)
        if (!read_item(r, field, i, json_array_get(value, i)))
            return false;
    return list->items;
}

const struct sv_field_type sv_type_list = {read_list, "[@]*"};

struct sv_json_document *sv_json_read(const struct sl_buffer *body, const struct sv_field *fields,
                                      bool (*check)(void *to, struct sv_error *error), void *to,
                                      struct sv_error *error)
{
    struct sv_json_document *document = calloc(1, sizeof *document);
    struct sv_reader reader = {.document = document, .to = to, .prefix = "", .error = error};
    if (!document) {
        (void)sv_fail_no_memory(error);
        return NULL;
    }
    document->root = sv_json_parse(body->data ? body->data : "", body->bytes, error);
    bool ok = document->root != NULL;
    if (ok && !json_is_object(document->root))
        ok = sv_fail(error, SV_INVALID_VALUE, NULL, "The body must be a JSON object.");
    ok = ok && read_members(&reader, fields, document->root);
    if (!ok || (check && !check(to, error))) {
        sv_json_document_release(document);
        return NULL;
    }
    return document;
}
