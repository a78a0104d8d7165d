/* json_field_reader.c - what readers of single fields share: names, errors, strings. */
#include "json/json_field_reader.h"
#include "base/big_numbers.h"
#include "core/limits.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *sv_reader_target(const struct sv_reader *r, size_t offset)
{
    return (char *)r->to + offset;
}

void *sv_reader_alloc(const struct sv_reader *r, size_t count, size_t size)
{
    return sv_json_document_alloc(r->document, count, size, r->error);
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

/* All its digits, and a point or an exponent: 1.0 is not an integer here and must not look like
 * one. */
static void quote_real(double value, char out[static SV_QUOTE_MAX])
{
    int length = 0;
    for (int digits = 6; digits <= 17 && (length == 0 || strtod(out, NULL) != value); digits++)
        length = snprintf(out, SV_QUOTE_MAX, "%.*g", digits, value);
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
    const char *big = sl_big_number(json_string_value(value), bytes);
    if (big)
        (void)snprintf(out, SV_QUOTE_MAX, "%.*s%s", SV_QUOTE_MAX / 2, big,
                       strlen(big) > SV_QUOTE_MAX / 2 ? "..." : "");
    else if (json_is_integer(value))
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

bool sv_reader_string(const struct sv_reader *r, const struct sv_field *field, const json_t *value,
                      struct sv_string *string)
{
    char param[SV_PARAM_MAX];
    string->data = json_string_value(value);
    string->bytes = json_string_length(value);
    if (!string->data || sl_big_number(string->data, string->bytes))
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
