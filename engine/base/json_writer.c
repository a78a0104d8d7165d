/* json_writer.c - JSON text written from front to back: every value but the first is preceded by a
 * comma. */
#include "base/json_writer.h"
#include "base/utf8.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- strings --------------------------------------------------------------------------------- */

/* The letter of a two-character escape such as \n; 0 when there is none. */
static char short_escape(char c)
{
    switch (c) {
    case '"':
    case '\\': return c;
    case '\n': return 'n';
    case '\r': return 'r';
    case '\t': return 't';
    default: return 0;
    }
}

/* Writes one character that is not plain ASCII; returns how many bytes it was. */
static size_t quote_character(struct sl_buffer *out, const char *bytes, size_t count)
{
    size_t length = sl_utf8_length(bytes, count);
    if (length == 0) {
        sl_buffer_append_string(out, SL_UTF8_REPLACEMENT);
        return 1;
    }
    char escape = short_escape(bytes[0]);
    if (length > 1)
        sl_buffer_append(out, bytes, length);
    else if (escape)
        sl_buffer_append(out, (const char[]){'\\', escape}, 2);
    else
        sl_buffer_printf(out, "\\u%04x", (unsigned)(unsigned char)bytes[0]);
    return length;
}

static bool is_plain(char c)
{
    return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

void sl_json_quote_bytes(struct sl_buffer *out, const char *bytes, size_t count)
{
    sl_buffer_append(out, "\"", 1);
    for (size_t at = 0; at < count;) {
        size_t plain = at;
        while (plain < count && is_plain(bytes[plain]))
            plain++;
        sl_buffer_append(out, bytes + at, plain - at);
        at = plain;
        if (at < count)
            at += quote_character(out, bytes + at, count - at);
    }
    sl_buffer_append(out, "\"", 1);
}

void sl_json_quote(struct sl_buffer *out, const char *string)
{
    if (string)
        sl_json_quote_bytes(out, string, strlen(string));
    else
        sl_buffer_append_string(out, "null");
}

/* ---- structure ------------------------------------------------------------------------------- */

static bool has_lines(const struct sl_json_writer *json)
{
    return json->depth > 0 && json->depth <= json->line_depth;
}

static void begin_line(struct sl_json_writer *json, int depth)
{
    sl_buffer_printf(json->out, "\n%*s", 2 * depth, "");
}

/* Writes the comma before a key or value, if one is needed. */
static struct sl_buffer *next_value(struct sl_json_writer *json)
{
    if (json->needs_comma)
        sl_buffer_append_string(json->out, has_lines(json) || json->line_depth == 0 ? "," : ", ");
    if (has_lines(json) && !json->has_key)
        begin_line(json, json->depth);
    json->has_key = false;
    json->needs_comma = true;
    return json->out;
}

static void begin(struct sl_json_writer *json, const char *bracket)
{
    sl_buffer_append(next_value(json), bracket, 1);
    json->needs_comma = false;
    json->depth++;
}

static void end(struct sl_json_writer *json, const char *bracket)
{
    assert(json->depth > 0);
    if (has_lines(json) && json->needs_comma) /* it is not empty */
        begin_line(json, json->depth - 1);
    json->depth--;
    sl_buffer_append(json->out, bracket, 1);
    json->needs_comma = true;
}

void sl_json_begin_object(struct sl_json_writer *json)
{
    begin(json, "{");
}

void sl_json_end_object(struct sl_json_writer *json)
{
    end(json, "}");
}

void sl_json_begin_array(struct sl_json_writer *json)
{
    begin(json, "[");
}

void sl_json_end_array(struct sl_json_writer *json)
{
    end(json, "]");
}

struct sl_json_writer *sl_json_key(struct sl_json_writer *json, const char *key)
{
    return sl_json_key_bytes(json, key, strlen(key));
}

struct sl_json_writer *sl_json_key_bytes(struct sl_json_writer *json, const char *key, size_t count)
{
    sl_json_quote_bytes(next_value(json), key, count);
    sl_buffer_append_string(json->out, json->line_depth > 0 ? ": " : ":");
    json->needs_comma = false;
    json->has_key = true;
    return json;
}

/* ---- values ---------------------------------------------------------------------------------- */

void sl_json_add_string(struct sl_json_writer *json, const char *string)
{
    sl_json_quote(next_value(json), string);
}

void sl_json_add_bytes(struct sl_json_writer *json, const char *bytes, size_t count)
{
    sl_json_quote_bytes(next_value(json), bytes, count);
}

void sl_json_add_int(struct sl_json_writer *json, int64_t value)
{
    sl_buffer_append_int(next_value(json), value);
}

void sl_json_add_float(struct sl_json_writer *json, float value)
{
    if (isfinite(value))
        sl_buffer_append_float(next_value(json), value);
    else
        sl_json_add_null(json);
}

void sl_json_add_real(struct sl_json_writer *json, double value)
{
    enum { DIGITS_FEW = 15, DIGITS_MAX = 17 };

    char digits[32] = "null";
    for (int count = DIGITS_FEW; isfinite(value) && count <= DIGITS_MAX; count++) {
        (void)snprintf(digits, sizeof digits, "%.*g", count, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    sl_buffer_append_string(next_value(json), digits);
}

void sl_json_add_bool(struct sl_json_writer *json, bool value)
{
    sl_buffer_append_string(next_value(json), value ? "true" : "false");
}

void sl_json_add_null(struct sl_json_writer *json)
{
    sl_buffer_append_string(next_value(json), "null");
}

void sl_json_add_positive(struct sl_json_writer *json, int64_t value)
{
    if (value > 0)
        sl_json_add_int(json, value);
    else
        sl_json_add_null(json);
}

void sl_json_add_strings(struct sl_json_writer *json, const char *const *strings, int count)
{
    begin(json, "[");
    for (int i = 0; i < count; i++)
        sl_json_add_string(json, strings[i]);
    end(json, "]");
}

void sl_json_add_raw(struct sl_json_writer *json, const char *text, size_t count)
{
    sl_buffer_append(next_value(json), text, count);
}

void sl_json_printf(struct sl_json_writer *json, const char *format, ...)
{
    char text[256];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    assert(length >= 0);
    assert((size_t)length < sizeof text);
    sl_json_add_raw(json, text, (size_t)length);
}

/* ---- templates ------------------------------------------------------------------------------- */

static void add_real(struct sl_json_writer *json, const char *conversion, size_t length,
                     double value)
{
    const bool is_fixed = conversion[length - 1] == 'f', has_precision = length > 2;
    const int precision = has_precision ? conversion[2] - '0' : 6;
    if (!isfinite(value))
        sl_json_add_null(json);
    else if (is_fixed && !has_precision)
        sl_json_add_float(json, (float)value);
    else
        sl_json_printf(json, is_fixed ? "%.*f" : "%.*g", precision, value);
}

static void add_integer(struct sl_json_writer *json, char size, va_list *values)
{
    switch (size) {
    case 'z': sl_json_add_int(json, (int64_t)va_arg(*values, size_t)); break;
    case 'l': sl_json_add_int(json, va_arg(*values, long long)); break;
    default: sl_json_add_int(json, va_arg(*values, int));
    }
}

/* A string, or before a colon a key. */
static void add_string(struct sl_json_writer *json, bool has_length, bool is_key, va_list *values)
{
    const int length = has_length ? va_arg(*values, int) : 0;
    const char *string = va_arg(*values, const char *);
    const size_t bytes = has_length ? (size_t)length : string ? strlen(string) : 0;
    if (is_key)
        (void)sl_json_key_bytes(json, string, bytes);
    else if (has_length)
        sl_json_add_bytes(json, string, bytes);
    else
        sl_json_add_string(json, string);
}

/* The value of a conversion. Returns what follows it. */
static const char *add_conversion(struct sl_json_writer *json, const char *conversion,
                                  va_list *values)
{
    const size_t length = strcspn(conversion, "sdiufg") + 1;
    switch (conversion[length - 1]) {
    case 's': add_string(json, length > 2, conversion[length] == ':', values); break;
    case 'i': sl_json_add_bool(json, va_arg(*values, int)); break;
    case 'd':
    case 'u': add_integer(json, conversion[1], values); break;
    default: add_real(json, conversion, length, va_arg(*values, double));
    }
    return conversion + length;
}

/* A key or a string in single quotes. Returns what follows it. */
static const char *add_quoted(struct sl_json_writer *json, const char *text)
{
    const size_t length = strcspn(text, "'");
    const char *end = text + length + 1;
    if (*end == ':')
        (void)sl_json_key_bytes(json, text, length);
    else
        sl_json_add_bytes(json, text, length);
    return end;
}

static const char *add_literal(struct sl_json_writer *json, const char *text)
{
    const size_t length = strcspn(text, ",]}");
    sl_json_add_raw(json, text, length);
    return text + length;
}

void sl_json_add(struct sl_json_writer *json, const char *template, ...)
{
    va_list values;
    va_start(values, template);
    for (const char *at = template; *at;)
        switch (*at) {
        case '{':
        case '[': begin(json, at++); break;
        case '}':
        case ']': end(json, at++); break;
        case ':':
        case ',': at++; break;
        case '%': at = add_conversion(json, at, &values); break;
        case '\'': at = add_quoted(json, at + 1); break;
        default: at = add_literal(json, at);
        }
    va_end(values);
}
