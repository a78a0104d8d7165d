/* json_lines.c - whether a text is JSON Lines.
 *
 * Training reads the file in full; what would be useless is found here already. An array, or
 * objects that span lines, are left to it. */
#include "json/json_lines.h"
#include "base/big_numbers.h"
#include "base/utf8.h"
#include "core/limits.h"

#include <jansson.h>
#include <string.h>

static bool check_line(const char *line, size_t bytes, long long number, struct sv_error *error)
{
    json_error_t why;
    if (bytes > SV_JSON_LINE_BYTES_MAX)
        return sv_fail(error, SV_INVALID_VALUE, "file",
                       "Line %lld has %zu bytes; at most %d are accepted.", number, bytes,
                       SV_JSON_LINE_BYTES_MAX);
    json_t *value = sl_big_numbers_load(line, bytes, &why);
    bool is_object = json_is_object(value);
    if (!value)
        (void)sv_fail(error, SV_INVALID_VALUE, "file",
                      "Line %lld is not valid JSON: %s (column %d).", number, why.text, why.column);
    else if (!is_object)
        (void)sv_fail(error, SV_INVALID_VALUE, "file", "Line %lld is not a JSON object.", number);
    json_decref(value);
    return is_object;
}

static const char *skip(const char *text, const char *end, const char *blanks)
{
    while (text < end && *text && strchr(blanks, *text))
        text++;
    return text;
}

/* By its beginning: an array of objects, or an object whose first line is a bracket. */
static bool spans_lines(const char *text, const char *end)
{
    const char *first = skip(text, end, " \t\r\n");
    if (first == end)
        return false;
    if (*first == '[') {
        const char *item = skip(first + 1, end, " \t\r\n");
        return item < end && *item == '{';
    }
    const char *after = skip(first + 1, end, " \t\r");
    return *first == '{' && after < end && *after == '\n';
}

bool sv_json_lines_check(const char *text, size_t bytes, struct sv_error *error)
{
    const char *end = text + bytes;
    if (spans_lines(text + sl_utf8_mark(text, bytes), end))
        return true;
    long long number = 0, objects = 0;
    for (const char *line = text + sl_utf8_mark(text, bytes); line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((stop ? stop : end) - line);
        number++;
        size_t blank = 0;
        while (blank < length && strchr(" \t\r", line[blank]))
            blank++;
        if (blank < length && !check_line(line, length, number, error))
            return false;
        objects += blank < length;
        line += length + 1;
    }
    return objects > 0 || sv_fail(error, SV_INVALID_VALUE, "file", "The file has no JSON object.");
}
