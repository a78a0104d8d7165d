/* wire_texts.c - JSON into texts: one, several, pairs that are refused, tensors of strings. */
#include "wire.h"
#include "wire_reader.h"

#include <jansson.h>

static bool make_texts(const struct sv_reader *r, const struct sv_field *field, size_t count)
{
    struct sv_texts *texts = sv_reader_place(r, field->offset);
    texts->items = sv_reader_take(r, count, sizeof *texts->items);
    texts->count = (int)count;
    return texts->items;
}

static bool read_one(const struct sv_reader *r, const struct sv_field *field, const json_t *value)
{
    const struct sv_texts *texts = sv_reader_place(r, field->offset);
    return make_texts(r, field, 1) && sv_reader_string(r, field, value, &texts->items[0]);
}

bool sv_read_texts(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    struct sv_texts *texts = sv_reader_place(r, field->offset);
    size_t count = json_array_size(value);
    if (json_is_string(value))
        return read_one(r, field, value);
    if (!json_is_array(value))
        return sv_reader_wrong(r, field, value, "a string or an array of strings");
    if (!sv_reader_count(r, field, count, "strings") || !make_texts(r, field, count))
        return false;
    texts->several = true;
    for (size_t i = 0; i < count; i++)
        if (!sv_reader_string(r, field, json_array_get(value, i), &texts->items[i]))
            return false;
    return true;
}

/* ---- sequences: a text, or two that belong together ------------------------------------------ */

static const char sequences_wanted[] = "a string, or an array of arrays with one string each";

/* The one text of [text]. A pair is a form of this interface that no model here was trained on. */
static bool read_sequence(const struct sv_reader *r, const struct sv_field *field,
                          const json_t *array, struct sv_string *text)
{
    size_t count = json_array_size(array);
    if (!json_is_array(array) || count == 0)
        return sv_reader_wrong(r, field, array, sequences_wanted);
    for (size_t i = 0; i < count; i++)
        if (!sv_reader_string(r, field, json_array_get(array, i), text))
            return false;
    if (count > 1)
        return sv_refuse(r->problem, SV_BAD_VALUE, field->name,
                         "'%s' holds an array of %zu strings: in this interface that is one pair, "
                         "and models here read single texts. Send [[\"a\"],[\"b\"]] for two texts.",
                         field->name, count);
    return true;
}

bool sv_read_sequences(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    struct sv_texts *texts = sv_reader_place(r, field->offset);
    size_t count = json_array_size(value);
    if (json_is_string(value))
        return read_one(r, field, value);
    if (!json_is_array(value))
        return sv_reader_wrong(r, field, value, sequences_wanted);
    if (json_is_string(json_array_get(value, 0)))
        return make_texts(r, field, 1) && read_sequence(r, field, value, &texts->items[0]);
    if (!sv_reader_count(r, field, count, "texts") || !make_texts(r, field, count))
        return false;
    texts->several = true;
    for (size_t i = 0; i < count; i++)
        if (!read_sequence(r, field, json_array_get(value, i), &texts->items[i]))
            return false;
    return true;
}

/* ---- tensors --------------------------------------------------------------------------------- */

bool sv_read_shape(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    static const char wanted[] = "an array of 1 to 8 whole numbers, none below 0";
    struct sv_shape *shape = sv_reader_place(r, field->offset);
    size_t count = json_array_size(value);
    if (count < 1 || count > SV_SHAPE_MAX)
        return sv_reader_wrong(r, field, value, wanted);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(value, i);
        shape->sizes[i] = json_integer_value(item);
        if (!json_is_integer(item) || shape->sizes[i] < 0)
            return sv_reader_wrong(r, field, item, wanted);
    }
    shape->count = (int)count;
    return true;
}

/* Strings one after another, or in rows: both are in row-major order. */
bool sv_read_data(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    static const char wanted[] = "an array of strings, or an array of arrays of strings";
    const struct sv_texts *texts = sv_reader_place(r, field->offset);
    size_t rows = json_array_size(value), count = 0;
    if (!json_is_array(value))
        return sv_reader_wrong(r, field, value, wanted);
    for (size_t i = 0; i < rows; i++) {
        const json_t *row = json_array_get(value, i);
        count += json_is_array(row) ? json_array_size(row) : 1;
    }
    if (!sv_reader_count(r, field, count, "strings") || !make_texts(r, field, count))
        return false;
    struct sv_string *next = texts->items;
    for (size_t i = 0; i < rows; i++) {
        const json_t *row = json_array_get(value, i);
        size_t length = json_is_array(row) ? json_array_size(row) : 1;
        for (size_t k = 0; k < length; k++) {
            const json_t *item = json_is_array(row) ? json_array_get(row, k) : row;
            if (!json_is_string(item))
                return sv_reader_wrong(r, field, item, wanted);
            if (!sv_reader_string(r, field, item, next++))
                return false;
        }
    }
    return true;
}
