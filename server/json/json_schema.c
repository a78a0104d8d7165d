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

/* The row of this name, or the last. */
static const struct sv_field *find(const struct sv_field *fields, const char *name)
{
    const struct sv_field *f = fields;
    while (f->kind != SV_FIELD_END && strcmp(f->name, name) != 0)
        f++;
    return f;
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

/* A member that is ignored and whose name is almost that of a missing field; NULL: none. */
static const char *misspelt(const struct sv_field *fields, const char *missing, json_t *object)
{
    const char *const names[] = {missing, NULL};
    const char *name;
    json_t *value;
    json_object_foreach (object, name, value) {
        if (find(fields, name)->kind == SV_FIELD_END && sl_name_suggest(name, names))
            return name;
    }
    return NULL;
}

static bool is_complete(const struct sv_reader *r, const struct sv_field *fields, json_t *object)
{
    char param[SV_PARAM_MAX];
    for (const struct sv_field *f = fields; f->kind != SV_FIELD_END; f++) {
        const json_t *value = json_object_get(object, f->name);
        if (!f->required || (value && !json_is_null(value)))
            continue;
        sv_reader_param(r, f, param);
        const char *meant = misspelt(fields, f->name, object);
        return sv_fail(r->error, SV_MISSING_PARAMETER, param, "'%s' is required%s%.40s%s.", param,
                       meant ? "; there is only '" : "", meant ? meant : "", meant ? "'" : "");
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
        if (field->ignores_others)
            continue;
        if (field->kind == SV_FIELD_END)
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
    json_t *root = sv_json_parse(body->data ? body->data : "", body->bytes, error);
    struct sv_json_document *document = root ? sv_json_document_create(root, error) : NULL;
    const struct sv_reader reader = {.document = document, .to = to, .prefix = "", .error = error};
    bool ok = document != NULL;
    if (ok && !json_is_object(root))
        ok = sv_fail(error, SV_INVALID_VALUE, NULL, "The body must be a JSON object.");
    if (ok && read_members(&reader, fields, root) && (!check || check(to, error)))
        return document;
    sv_json_document_release(document);
    return NULL;
}
