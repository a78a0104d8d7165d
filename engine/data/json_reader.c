/* json_reader.c - JSON values of a file one at a time, with their lines. */
#include "data/json_reader.h"

#include "base/big_numbers.h"
#include "base/dynarray.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char blanks[] = " \t\r\n";

const char *sl_json_type_name(const json_t *value)
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

const char *sl_json_big_number(const json_t *value)
{
    const char *text = json_string_value(value);
    return text ? sl_big_number(text, json_string_length(value)) : NULL;
}

/* ---- what is wrong --------------------------------------------------------------------------- */

static bool fail_python(const char *text, size_t bytes, struct sl_err *err)
{
    return bytes > 1 && text[0] == '{' && text[1] == '\'' &&
           sl_fail(err, SL_BAD_INPUT,
                   "invalid JSON: strings are in single quotes, as Python prints them; write the "
                   "file with json.dumps");
}

static bool begins_as_json(const char *text, size_t bytes)
{
    size_t at = 0;
    while (at < bytes && strchr(blanks, text[at]))
        at++;
    return at < bytes && strchr("{[", text[at]);
}

static bool fail_json(const struct sl_json_reader *json, const char *text, size_t bytes,
                      const json_error_t *error, struct sl_err *err)
{
    if (error->text[0] == '\0') /* what jansson says when it lacks memory */
        return sl_fail(err, SL_NO_MEMORY, "no memory for %zu bytes of JSON", bytes);
    (void)fail_python(text, bytes, err);
    if (text[0] == '{' && bytes > 1 && text[1] == '\'')
        return false;
    if (json_error_code(error) == json_error_stack_overflow)
        sl_fail(err, SL_BAD_INPUT, "invalid JSON: nested too deeply");
    else if (!begins_as_json(text, bytes))
        sl_fail(err, SL_BAD_INPUT,
                "invalid JSON: expected an object in braces; if this is a table, the format is csv "
                "or tsv");
    else if (json->by_lines && text[0] == '[')
        sl_fail(err, SL_BAD_INPUT,
                "invalid JSON: expected one object per line, not an array; "
                "the format json reads an array");
    else if (json_error_code(error) == json_error_premature_end_of_input)
        sl_fail(err, SL_BAD_INPUT, "invalid JSON: it ends too early%s",
                json->by_lines ? "; each line must be a whole object" : "; is the file cut off?");
    else
        sl_fail(err, SL_BAD_INPUT, "byte %d: invalid JSON: %s", error->position, error->text);
    /* The position is the end of the token that was not expected: its last byte, from 1. */
    return sl_err_set_place(err, (int)json->line, error->position > 0 ? error->position : 1);
}

static bool take(struct sl_json_reader *json, const char *text, size_t bytes,
                 struct sl_line_reader *lines, struct sl_err *err)
{
    json_error_t error;
    json->value = sl_big_numbers_load(text, bytes, &error);
    if (!json->value)
        (void)fail_json(json, text, bytes, &error, err);
    else if (json_is_array(json->value) && json_array_size(json->value) == 0)
        (void)sl_fail(err, SL_BAD_INPUT, "the array is empty: there are no records");
    else if (!json_is_object(json->value))
        (void)sl_fail(err, SL_BAD_INPUT,
                      "the JSON is %s: expected an object, such as {\"text\": \"a good film\", "
                      "\"label\": \"good\"}",
                      sl_json_type_name(json->value));
    else
        return true;
    return sl_line_reader_wrap(lines, json->line, err);
}

/* ---- values that span lines ------------------------------------------------------------------ */

/* Skips white space and, in an array, commas. False: the line has no more. */
static bool find_value(struct sl_json_reader *json)
{
    struct sl_line *rest = &json->rest;
    while (rest->bytes > 0 && (strchr(blanks, rest->text[0]) || rest->text[0] == ',')) {
        rest->text++;
        rest->bytes--;
    }
    return rest->bytes > 0;
}

/* Follows the brackets and strings up to the end of the value, or of the line. Returns how many
 * bytes of the line belong to it. */
static size_t follow(struct sl_json_reader *json)
{
    const struct sl_line *rest = &json->rest;
    for (size_t i = 0; i < rest->bytes; i++) {
        const char c = rest->text[i];
        if (json->in_string) {
            json->in_string = json->is_escaped || c != '"';
            json->is_escaped = !json->is_escaped && c == '\\';
            continue;
        }
        json->in_string = c == '"';
        if (json->depth == 0 && i > 0 && !json->in_string && (c == ',' || c == ']'))
            return i; /* a number, or such */
        json->depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        if (json->depth == 0 && (c == '}' || c == ']'))
            return i + 1;
    }
    return rest->bytes;
}

static bool append(struct sl_json_reader *json, size_t bytes, struct sl_line_reader *lines,
                   struct sl_err *err)
{
    if (json->used + bytes > sl_line_reader_record_bytes(lines))
        return sl_fail(err, SL_BAD_INPUT, "longer than the record limit of %zu bytes",
                       sl_line_reader_record_bytes(lines)) ||
               sl_line_reader_wrap(lines, json->line, err);
    if (!sl_dynarray_reserve(&json->text, &json->room, json->used + bytes + 1, 1, err))
        return false;
    memcpy(json->text + json->used, json->rest.text, bytes);
    json->used += bytes;
    json->rest.text += bytes;
    json->rest.bytes -= bytes;
    return true;
}

/* The next piece of the file. *more: false at its end. */
static bool read_piece(struct sl_json_reader *json, struct sl_line_reader *lines, bool *more,
                       struct sl_err *err)
{
    if (!sl_line_reader_piece(lines, &json->rest, err))
        return false;
    *more = json->rest.text;
    /* A line feed within a value is white space, and no string may have it. */
    json->rest.bytes += json->rest.text ? json->rest.end_bytes : 0;
    return true;
}

static bool fail_end(struct sl_json_reader *json, struct sl_line_reader *lines, struct sl_err *err)
{
    const bool in_value = json->used > 0;
    json->ended = true;
    if (!in_value && !json->in_array)
        return true;
    (void)sl_fail(err, SL_BAD_INPUT, "the %s that begins here is not closed; is the file cut off?",
                  in_value ? "value" : "array");
    return sl_line_reader_wrap(lines, in_value ? json->line : 1, err);
}

static bool has_whole(const struct sl_json_reader *json)
{
    return json->used > 0 && json->depth == 0 && !json->in_string;
}

/* Enters the array, or leaves it. True: the bracket was taken. */
static bool take_bracket(struct sl_json_reader *json)
{
    const char c = json->rest.text[0];
    const bool enters = !json->begun && c == '[', leaves = json->in_array && c == ']';
    json->begun = true;
    if (!enters && !leaves)
        return false;
    json->in_array = enters;
    json->rest.text++;
    json->rest.bytes--;
    return true;
}

static bool next_value(struct sl_json_reader *json, struct sl_line_reader *lines,
                       struct sl_err *err)
{
    json->used = 0;
    json->depth = 0;
    json->in_string = json->is_escaped = false;
    do {
        bool more = true;
        if (json->rest.bytes == 0 && !read_piece(json, lines, &more, err))
            return false;
        if (!more)
            return fail_end(json, lines, err);
        if (json->used == 0 && (!find_value(json) || take_bracket(json)))
            continue;
        json->line = json->used == 0 ? json->rest.number : json->line;
        if (!append(json, follow(json), lines, err))
            return false;
    } while (!has_whole(json));
    return take(json, json->text, json->used, lines, err);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool is_blank(const struct sl_line *line)
{
    size_t blank = 0;
    while (blank < line->bytes && strchr(" \t\r", line->text[blank]))
        blank++;
    return blank == line->bytes;
}

static bool next_line(struct sl_json_reader *json, struct sl_line_reader *lines, struct sl_err *err)
{
    struct sl_line line;
    do
        if (!sl_line_reader_next(lines, &line, err))
            return false;
    while (line.text && is_blank(&line));
    json->line = line.number;
    json->ended = !line.text;
    return json->ended || take(json, line.text, line.bytes, lines, err);
}

bool sl_json_reader_next(struct sl_json_reader *json, struct sl_line_reader *lines,
                         struct sl_err *err)
{
    json_decref(json->value);
    json->value = NULL;
    if (json->ended)
        return true;
    return json->by_lines ? next_line(json, lines, err) : next_value(json, lines, err);
}

void sl_json_reader_release(struct sl_json_reader *json)
{
    json_decref(json->value);
    free(json->text);
    *json = (struct sl_json_reader){0};
}
