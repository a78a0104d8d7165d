/* read_texts.c - reads JSON into texts: a string, an array of them, tensors of strings. */
#include "params/field_types.h"
#include "json/json_field_reader.h"

#include <jansson.h>
#include <stdio.h>

static bool make_texts(const struct sv_reader *r, const struct sv_field *field, size_t count)
{
    struct sv_texts *texts = sv_reader_target(r, field->offset);
    texts->items = sv_reader_alloc(r, count, sizeof *texts->items);
    texts->count = (int)count;
    return texts->items;
}

static bool read_one(const struct sv_reader *r, const struct sv_field *field, const json_t *value)
{
    const struct sv_texts *texts = sv_reader_target(r, field->offset);
    return make_texts(r, field, 1) && sv_reader_string(r, field, value, &texts->items[0]);
}

/* Reads an array of strings. */
static bool read_row(const struct sv_reader *r, const struct sv_field *field, const json_t *array,
                     struct sv_string *strings)
{
    struct sv_indexed_field element;
    for (size_t i = 0; i < json_array_size(array); i++)
        if (!sv_reader_string(r, sv_reader_element(field, i, &element), json_array_get(array, i),
                              &strings[i]))
            return false;
    return true;
}

static bool read_array(const struct sv_reader *r, const struct sv_field *field, const json_t *array)
{
    struct sv_texts *texts = sv_reader_target(r, field->offset);
    size_t count = json_array_size(array);
    if (!sv_reader_check_count(r, field, count, "strings") || !make_texts(r, field, count))
        return false;
    texts->is_array = true;
    return read_row(r, field, array, texts->items);
}

static bool read_texts(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    if (json_is_string(value))
        return read_one(r, field, value);
    if (!json_is_array(value))
        return sv_reader_invalid(r, field, value, "a string or an array of strings");
    return read_array(r, field, value);
}

const struct sv_field_type sv_type_texts = {read_texts, "string|[string]*"};

/* ---- sequences: a text, or two that belong together ------------------------------------------ */

static const char sequences_wanted[] =
    "a string, three or more strings, or an array like [[\"a\"],[\"b\"]] with one string in each "
    "inner array";

/* Two strings in one array are a pair in TEI. */
static bool fail_pair(const struct sv_reader *r, const char *param)
{
    return sv_fail(r->error, SV_INVALID_VALUE, param,
                   "'%s' is an array of two that begins with a string: a pair. No model here takes "
                   "pairs. Put each text in an array of its own: [[\"a\"],[\"b\"]].",
                   param);
}

/* The text of [text]. A pair [a, b] is rejected: no model here is trained on pairs. */
static bool read_sequence(const struct sv_reader *r, const struct sv_field *field,
                          const json_t *array, struct sv_string *text)
{
    struct sv_indexed_field element;
    char param[SV_PARAM_MAX];
    size_t count = json_array_size(array);
    if (!json_is_array(array))
        return sv_reader_invalid(r, field, array, "an array with one string");
    sv_reader_param(r, field, param);
    if (count == 0)
        return sv_fail(r->error, SV_EMPTY_INPUT, param,
                       "'%s' is an empty array; expected one string.", param);
    if (count == 2 && json_is_string(json_array_get(array, 0)))
        return fail_pair(r, param);
    if (count > 1)
        return sv_fail(r->error, SV_INVALID_VALUE, param,
                       "'%s' is an array of %zu elements; expected one string.", param, count);
    return sv_reader_string(r, sv_reader_element(field, 0, &element), json_array_get(array, 0),
                            text);
}

static bool read_predict_inputs(const struct sv_reader *r, const struct sv_field *field,
                                json_t *value)
{
    struct sv_indexed_field element;
    struct sv_texts *texts = sv_reader_target(r, field->offset);
    size_t count = json_array_size(value);
    if (json_is_string(value))
        return read_one(r, field, value);
    if (!json_is_array(value))
        return sv_reader_invalid(r, field, value, sequences_wanted);
    if (json_is_string(json_array_get(value, 0)))
        return count > 2
                   ? read_array(r, field, value)
                   : make_texts(r, field, 1) && read_sequence(r, field, value, &texts->items[0]);
    if (!sv_reader_check_count(r, field, count, "texts") || !make_texts(r, field, count))
        return false;
    texts->is_array = true;
    for (size_t i = 0; i < count; i++)
        if (!read_sequence(r, sv_reader_element(field, i, &element), json_array_get(value, i),
                           &texts->items[i]))
            return false;
    return true;
}

const struct sv_field_type sv_type_predict_inputs = {read_predict_inputs,
                                                     "string|[[string]]*|[string]*"};

/* ---- tensors --------------------------------------------------------------------------------- */

static bool read_shape(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    struct sv_shape *shape = sv_reader_target(r, field->offset);
    struct sv_indexed_field element;
    size_t count = json_array_size(value);
    if (!json_is_array(value)) {
        char expected[64];
        (void)snprintf(expected, sizeof expected, "an array of 1 to %d non-negative integers",
                       SV_SHAPE_MAX);
        return sv_reader_invalid(r, field, value, expected);
    }
    if (!sv_reader_check_count(r, field, count, "sizes"))
        return false;
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(value, i);
        shape->sizes[i] = json_integer_value(item);
        if (!json_is_integer(item) || shape->sizes[i] < 0)
            return sv_reader_invalid(r, sv_reader_element(field, i, &element), item,
                                     "a non-negative integer");
    }
    shape->count = (int)count;
    return true;
}

const struct sv_field_type sv_type_shape = {read_shape, "[size]*"};

/* All rows must be as long as the first. */
static bool count_rows(const struct sv_reader *r, const struct sv_field *field, const json_t *value,
                       size_t *count)
{
    struct sv_texts *texts = sv_reader_target(r, field->offset);
    size_t rows = json_array_size(value), columns = json_array_size(json_array_get(value, 0));
    struct sv_indexed_field element;
    for (size_t i = 0; i < rows; i++) {
        const json_t *row = json_array_get(value, i);
        char expected[64];
        (void)snprintf(expected, sizeof expected, "an array of %zu strings like the first",
                       columns);
        if (!json_is_array(row) || json_array_size(row) != columns)
            return sv_reader_invalid(r, sv_reader_element(field, i, &element), row, expected);
    }
    texts->columns = columns;
    *count = rows * columns;
    return true;
}

/* An array of strings, or rows of them in row-major order. */
static bool read_tensor_data(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    const struct sv_texts *texts = sv_reader_target(r, field->offset);
    bool nested = json_is_array(json_array_get(value, 0));
    struct sv_indexed_field element;
    size_t rows = json_array_size(value), count = rows;
    if (!json_is_array(value))
        return sv_reader_invalid(r, field, value,
                                 "an array of strings, or an array of arrays of strings");
    if ((nested && !count_rows(r, field, value, &count)) ||
        !sv_reader_check_count(r, field, count, "strings") || !make_texts(r, field, count))
        return false;
    if (!nested)
        return read_row(r, field, value, texts->items);
    for (size_t i = 0; i < rows; i++)
        if (!read_row(r, sv_reader_element(field, i, &element), json_array_get(value, i),
                      texts->items + i * texts->columns))
            return false;
    return true;
}

const struct sv_field_type sv_type_tensor_data = {read_tensor_data, "[string]*|[[string]]*"};
