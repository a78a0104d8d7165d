/* jsonl.c - JSON Lines: an object per line, read by jansson. */
#include "base/dynarray.h"
#include "data/labels.h"
#include "data/name_list.h"
#include "data/record_format.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 32, LABEL = 0 };

struct jsonl {
    struct sl_chosen chosen;
    json_t *object;           /* of the last row, whose fields point into it */
    bool seen[SL_CHOSEN_MAX]; /* a column that an object had: others may leave it out */
    struct sl_field *list;    /* the labels, if they are a list */
    size_t list_room;
    char (*numbers)[NUMBER_BYTES]; /* labels that are numbers, as text */
    size_t numbers_room;
};

static bool jsonl_open(void *state, const struct sl_chosen *chosen, struct sl_err *err)
{
    struct jsonl *jsonl = state;
    (void)err;
    jsonl->chosen = *chosen;
    return true;
}

static void jsonl_close(void *state)
{
    struct jsonl *jsonl = state;
    json_decref(jsonl->object);
    free(jsonl->list);
    free(jsonl->numbers);
}

static const char *type_name(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "an array";
    case JSON_STRING: return "a string";
    case JSON_INTEGER:
    case JSON_REAL: return "a number";
    case JSON_TRUE:
    case JSON_FALSE: return "true or false";
    case JSON_NULL: return "null";
    }
    return "of no type";
}

static bool object_parse(struct jsonl *jsonl, const struct sl_line *line, struct sl_err *err)
{
    json_error_t error;
    json_decref(jsonl->object);
    jsonl->object = json_loadb(line->text, line->bytes,
                               JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
    if (!jsonl->object && error.text[0] == '\0') /* what jansson says when it lacks memory */
        return sl_fail(err, SL_NO_MEMORY, "no memory for %zu bytes of JSON", line->bytes);
    if (!jsonl->object) {
        if (line->text[0] == '[')
            sl_fail(err, SL_BAD_INPUT, "invalid JSON: expected one object per line, not an array");
        else if (json_error_code(&error) == json_error_premature_end_of_input)
            sl_fail(err, SL_BAD_INPUT,
                    "invalid JSON: it ends too early; each line must be a whole object");
        else
            sl_fail(err, SL_BAD_INPUT, "byte %d: invalid JSON: %s", error.position, error.text);
        /* The position is the end of the token that was not expected: its last byte, from 1. */
        return sl_err_set_place(err, (int)line->number, error.position > 0 ? error.position : 1);
    }
    return json_is_object(jsonl->object) ||
           sl_fail(err, SL_BAD_INPUT, "the JSON is %s: expected an object",
                   type_name(jsonl->object));
}

/* A number as it is written in JSON; whole ones match the labels of the other formats. */
static struct sl_field number_print(char number[NUMBER_BYTES], const json_t *value)
{
    enum { SHORT_DIGITS = 15 }; /* as many as survive: 0.1 stays 0.1 */

    size_t bytes = json_dumpb(value, number, NUMBER_BYTES,
                              (size_t)JSON_ENCODE_ANY | (size_t)JSON_REAL_PRECISION(SHORT_DIGITS));
    assert(bytes > 0);
    assert(bytes <= NUMBER_BYTES);
    return (struct sl_field){.data = number, .bytes = bytes};
}

/* Room for labels. */
static bool labels_reserve(struct jsonl *jsonl, size_t count, struct sl_err *err)
{
    return sl_dynarray_reserve(&jsonl->list, &jsonl->list_room, count, sizeof *jsonl->list, err) &&
           sl_dynarray_reserve(&jsonl->numbers, &jsonl->numbers_room, count, sizeof *jsonl->numbers,
                               err);
}

static bool list_fill(struct jsonl *jsonl, const json_t *list, const char *name, struct sl_row *row,
                      struct sl_err *err)
{
    const size_t count = json_array_size(list);
    if (count > SL_LABELS_MAX)
        return sl_fail(err, SL_BAD_INPUT, "column '%s' has %zu labels: expected at most %d", name,
                       count, SL_LABELS_MAX);
    if (!labels_reserve(jsonl, count + 1, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(list, i);
        if (!value || (!json_is_string(value) && !json_is_number(value)))
            return sl_fail(err, SL_BAD_INPUT,
                           "column '%s': item %zu is %s: expected a string or a number", name, i,
                           value ? type_name(value) : "missing");
        jsonl->list[i] = json_is_string(value) ? (struct sl_field){json_string_value(value),
                                                                   json_string_length(value)}
                                               : number_print(jsonl->numbers[i], value);
    }
    row->is_list = true;
    row->list = jsonl->list;
    row->list_count = (int)count;
    return true;
}

static bool fail_missing(const struct jsonl *jsonl, json_t *object, const char *name,
                         struct sl_err *err)
{
    struct sl_name_list list = {0};
    const char *key;
    json_t *value;
    bool number = name[strspn(name, "0123456789")] == '\0';
    json_object_foreach (object, key, value) {
        sl_name_list_add(&list, key, strlen(key));
    }
    if (number)
        return sl_fail(err, SL_BAD_INPUT,
                       "no column '%s': in JSON Lines columns have names, not numbers: %s", name,
                       sl_name_list_text(&list));
    return sl_fail(err, SL_BAD_INPUT, "no column '%s'; the object has: %s; set %stext to %s", name,
                   list.count ? sl_name_list_text(&list) : "nothing",
                   jsonl->chosen.unlabelled ? "" : "label and ",
                   jsonl->chosen.unlabelled ? "one of them" : "two of them");
}

/* One that is null or missing has no data. */
static bool field_of(struct jsonl *jsonl, int column, struct sl_row *row, struct sl_err *err)
{
    struct sl_field *field = &row->fields[column];
    const char *name = jsonl->chosen.names[column];
    bool label = column == LABEL && !jsonl->chosen.unlabelled;
    const json_t *value = json_object_get(jsonl->object, name);
    if (json_is_string(value)) {
        *field = (struct sl_field){json_string_value(value), json_string_length(value)};
        return true;
    }
    *field = (struct sl_field){0};
    if (json_is_null(value) || (!value && jsonl->seen[column]))
        return true;
    if (label && json_is_number(value)) {
        if (!labels_reserve(jsonl, 1, err))
            return false;
        *field = number_print(jsonl->numbers[0], value);
        return true;
    }
    if (label && json_is_array(value))
        return list_fill(jsonl, value, name, row, err);
    if (!value)
        return fail_missing(jsonl, jsonl->object, name, err);
    return sl_fail(err, SL_BAD_INPUT, "column '%s' is %s: expected a string%s", name,
                   type_name(value), label ? ", a number or a list of them" : "");
}

static bool row_fill(struct jsonl *jsonl, const struct sl_line *line, struct sl_row *row,
                     struct sl_err *err)
{
    if (!object_parse(jsonl, line, err))
        return false;
    for (int i = 0; i < jsonl->chosen.count; i++) {
        if (!field_of(jsonl, i, row, err))
            return sl_err_set_field(err, jsonl->chosen.names[i]);
        jsonl->seen[i] = true;
    }
    row->count = jsonl->chosen.count;
    return true;
}

static bool jsonl_next(void *state, struct sl_line_reader *lines, struct sl_row *row,
                       struct sl_err *err)
{
    struct sl_line line;
    if (!sl_line_reader_next_nonempty(lines, &line, err))
        return false;
    row->line = line.number;
    row->count = 0;
    row->is_list = false;
    return !line.text || row_fill(state, &line, row, err) ||
           sl_line_reader_wrap(lines, line.number, err);
}

const struct sl_record_format sl_record_format_jsonl = {.name = "jsonl",
                                                        .keyed = true,
                                                        .size = sizeof(struct jsonl),
                                                        .open = jsonl_open,
                                                        .next = jsonl_next,
                                                        .close = jsonl_close};
