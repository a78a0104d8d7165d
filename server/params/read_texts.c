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

/* Makes the text at that index the first of a pair. */
static bool set_pair(const struct sv_reader *r, struct sv_texts *texts, size_t index,
                     struct sv_string second)
{
    if (!texts->pairs)
        texts->pairs = sv_reader_alloc(r, (size_t)texts->count, sizeof *texts->pairs);
    if (texts->pairs)
        texts->pairs[index] = second;
    return texts->pairs;
}

const struct sv_string *sv_texts_pair(const struct sv_texts *texts, int index)
{
    return texts->pairs && texts->pairs[index].data ? &texts->pairs[index] : NULL;
}

/* A string or, where the field has subfields, an object. */
static bool read_text(const struct sv_reader *r, const struct sv_field *field, json_t *value,
                      size_t index)
{
    struct sv_texts *texts = sv_reader_target(r, field->offset);
    struct sv_reader reader = *r;
    struct sv_pair pair = {0};
    if (!field->subfields || !json_is_object(value))
        return sv_reader_string(r, field, value, &texts->items[index]);
    reader.to = &pair;
    if (!sv_type_object.read(&reader, field, value))
        return false;
    texts->items[index] = pair.text;
    return !pair.pair.data || set_pair(r, texts, index, pair.pair);
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

static bool read_list(const struct sv_reader *r, const struct sv_field *field, json_t *array)
{
    struct sv_texts *texts = sv_reader_target(r, field->offset);
    struct sv_indexed_field element;
    size_t count = json_array_size(array);
    if (!json_is_array(array))
        return sv_reader_invalid(r, field, array, "an array of strings");
    if (!sv_reader_check_count(r, field, count, "strings") || !make_texts(r, field, count))
        return false;
    texts->is_array = true;
    for (size_t i = 0; i < count; i++)
        if (!read_text(r, sv_reader_element(field, i, &element), json_array_get(array, i), i))
            return false;
    return true;
}

static bool read_texts(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    if (json_is_array(value))
        return read_list(r, field, value);
    if (!json_is_string(value) && !(field->subfields && json_is_object(value)))
        return sv_reader_invalid(r, field, value, "a string or an array of strings");
    return make_texts(r, field, 1) && read_text(r, field, value, 0);
}

const struct sv_field_type sv_type_texts = {read_texts, "string|[string]*"};
const struct sv_field_type sv_type_pairs = {read_texts, "string|@|[string|@]*"};
const struct sv_field_type sv_type_text_list = {read_list, "[string]*"};
const struct sv_field_type sv_type_documents = {read_list, "[string|@]*"};

/* ---- sequences: a text, or two that belong together ------------------------------------------ */

static const char sequences_wanted[] =
    "a string, a pair of strings, three or more strings, or an array like "
    "[[\"a\"],[\"b\",\"c\"]] with a text or a pair in each inner array";

/* [text], or [text, second text]. */
static bool read_sequence(const struct sv_reader *r, const struct sv_field *field,
                          const json_t *array, size_t index)
{
    struct sv_texts *texts = sv_reader_target(r, field->offset);
    struct sv_string strings[2];
    char param[SV_PARAM_MAX];
    size_t count = json_array_size(array);
    if (!json_is_array(array))
        return sv_reader_invalid(r, field, array, "an array with one string, or two");
    sv_reader_param(r, field, param);
    if (count == 0)
        return sv_fail(r->error, SV_EMPTY_INPUT, param,
                       "'%s' is an empty array; expected one string, or two.", param);
    if (count > 2)
        return sv_fail(r->error, SV_INVALID_VALUE, param,
                       "'%s' is an array of %zu elements; expected one string, or two.", param,
                       count);
    if (!read_row(r, field, array, strings))
        return false;
    texts->items[index] = strings[0];
    return count == 1 || set_pair(r, texts, index, strings[1]);
}

static bool read_predict_inputs(const struct sv_reader *r, const struct sv_field *field,
                                json_t *value)
{
    struct sv_indexed_field element;
    struct sv_texts *texts = sv_reader_target(r, field->offset);
    size_t count = json_array_size(value);
    if (json_is_string(value))
        return read_texts(r, field, value);
    if (!json_is_array(value))
        return sv_reader_invalid(r, field, value, sequences_wanted);
    if (json_is_string(json_array_get(value, 0)))
        return count > 2 ? read_list(r, field, value)
                         : make_texts(r, field, 1) && read_sequence(r, field, value, 0);
    if (!sv_reader_check_count(r, field, count, "texts") || !make_texts(r, field, count))
        return false;
    texts->is_array = true;
    for (size_t i = 0; i < count; i++)
        if (!read_sequence(r, sv_reader_element(field, i, &element), json_array_get(value, i), i))
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
