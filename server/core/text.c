/* text.c - bytes being written, one after another, and JSON among them. */
#include "core/text.h"
#include "core/limits.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 512, INT_DIGITS_MAX = 20 };

void sv_text_release(struct sv_text *text)
{
    free(text->data);
    *text = (struct sv_text){0};
}

void sv_text_clear(struct sv_text *text)
{
    text->bytes = 0;
}

/* Makes room for `count` bytes and an end; false when memory or the bound is or was reached. */
static bool on_stream_space(struct sv_text *text, size_t count)
{
    if (text->failed || count > SV_TEXT_GROWN_MAX - text->bytes) {
        text->is_full = text->is_full || !text->failed;
        text->failed = true;
        return false;
    }
    size_t need = text->bytes + count + 1, capacity = text->capacity;
    if (need <= capacity)
        return true;
    capacity = capacity * 2 < FIRST_BYTES ? FIRST_BYTES : capacity * 2;
    if (capacity > SV_TEXT_GROWN_MAX + 1)
        capacity = SV_TEXT_GROWN_MAX + 1;
    if (capacity < need)
        capacity = need;
    char *data = realloc(text->data, capacity);
    if (!data) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

void sv_text_add(struct sv_text *text, const char *bytes, size_t count)
{
    if (!on_stream_space(text, count))
        return;
    if (count > 0)
        memcpy(text->data + text->bytes, bytes, count);
    text->bytes += count;
    text->data[text->bytes] = '\0';
}

void sv_text_adds(struct sv_text *text, const char *string)
{
    sv_text_add(text, string, strlen(string));
}

void sv_text_print(struct sv_text *text, const char *format, ...)
{
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    int length = vsnprintf(NULL, 0, format, list);
    assert(length >= 0);
    if (on_stream_space(text, (size_t)length)) {
        (void)vsnprintf(text->data + text->bytes, (size_t)length + 1, format, again);
        text->bytes += (size_t)length;
    }
    va_end(again);
    va_end(list);
}

void sv_text_int(struct sv_text *text, int64_t value)
{
    char digits[INT_DIGITS_MAX];
    size_t at = sizeof digits;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[--at] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (value < 0)
        digits[--at] = '-';
    sv_text_add(text, digits + at, sizeof digits - at);
}

void sv_text_float(struct sv_text *text, float value)
{
    enum { DIGITS_FEW = 6, DIGITS_MAX = 9 };

    char digits[32];
    assert(isfinite(value));
    for (int count = DIGITS_FEW; count <= DIGITS_MAX; count++) {
        (void)snprintf(digits, sizeof digits, "%.*g", count, (double)value);
        if (strtof(digits, NULL) == value)
            break;
    }
    sv_text_adds(text, digits);
}

size_t sv_utf8_length(const char *bytes, size_t count)
{
    const unsigned char *b = (const unsigned char *)bytes;
    if (count == 0)
        return 0;
    if (b[0] < 0x80)
        return 1;
    size_t length = b[0] >= 0xF0 ? 4 : b[0] >= 0xE0 ? 3 : 2;
    if (b[0] < 0xC2 || b[0] > 0xF4 || length > count)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((b[i] & 0xC0) != 0x80)
            return 0;
    /* Too long a form, a surrogate, or past U+10FFFF. */
    if ((b[0] == 0xE0 && b[1] < 0xA0) || (b[0] == 0xED && b[1] > 0x9F) ||
        (b[0] == 0xF0 && b[1] < 0x90) || (b[0] == 0xF4 && b[1] > 0x8F))
        return 0;
    return length;
}

bool sv_utf8_is_valid(const char *bytes, size_t count)
{
    for (size_t at = 0, length; at < count; at += length)
        if ((length = sv_utf8_length(bytes + at, count - at)) == 0)
            return false;
    return true;
}

static bool continues(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

size_t sv_utf8_fit(const char *bytes, size_t count, size_t most)
{
    enum { AFTER_FIRST_MAX = 3 };

    if (count <= most)
        return count;
    size_t fit = most;
    while (fit > 0 && most - fit < AFTER_FIRST_MAX && continues(bytes[fit]))
        fit--;
    return continues(bytes[fit]) ? most : fit; /* more than any character has: none is cut */
}

void sv_utf8_widen(const char *bytes, size_t count, size_t *start, size_t *stop)
{
    while (*start > 0 && *start < count && continues(bytes[*start]))
        --*start;
    while (*stop < count && continues(bytes[*stop]))
        ++*stop;
}

size_t sv_utf8_step(const char *bytes, size_t count)
{
    size_t length = sv_utf8_length(bytes, count);
    return length == 0 && count > 0 ? 1 : length;
}

size_t sv_utf8_count(const char *bytes, size_t count)
{
    size_t characters = 0;
    for (size_t i = 0; i < count; i += sv_utf8_step(bytes + i, count - i))
        characters++;
    return characters;
}

/* The two-character form of what JSON does not allow as it is; 0 when there is none. */
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

/* Writes one character that cannot stand as it is; returns how many bytes it was. */
static size_t add_escaped(struct sv_text *text, const char *bytes, size_t count)
{
    size_t length = sv_utf8_length(bytes, count);
    if (length == 0) {
        sv_text_adds(text, "\xEF\xBF\xBD");
        return 1;
    }
    char escape = short_escape(bytes[0]);
    if (length > 1)
        sv_text_add(text, bytes, length);
    else if (escape)
        sv_text_add(text, (const char[]){'\\', escape}, 2);
    else
        sv_text_print(text, "\\u%04x", (unsigned)(unsigned char)bytes[0]);
    return length;
}

void sv_text_json(struct sv_text *text, const char *bytes, size_t count)
{
    sv_text_add(text, "\"", 1);
    for (size_t i = 0; i < count;) {
        size_t plain = i;
        while (plain < count && bytes[plain] >= 0x20 && bytes[plain] < 0x7F &&
               bytes[plain] != '"' && bytes[plain] != '\\')
            plain++;
        sv_text_add(text, bytes + i, plain - i);
        i = plain;
        if (i < count)
            i += add_escaped(text, bytes + i, count - i);
    }
    sv_text_add(text, "\"", 1);
}

void sv_text_jsons(struct sv_text *text, const char *string)
{
    if (string)
        sv_text_json(text, string, strlen(string));
    else
        sv_text_adds(text, "null");
}

/* ---- escapes of paths ------------------------------------------------------------------------ */

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void sv_list_add(char *list, size_t room, const char *name)
{
    size_t used = strlen(list);
    (void)snprintf(list + used, room - used, "%s%s", used ? ", " : "", name);
}

bool sv_percent_decode(const char *from, size_t count, char *to, size_t room)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        int byte = (unsigned char)from[i];
        if (from[i] == '%') {
            int high = i + 2 < count ? digit(from[i + 1]) : -1;
            int low = high < 0 ? -1 : digit(from[i + 2]);
            byte = low < 0 ? 0 : high * 16 + low;
            i += 2;
        }
        if (byte == 0 || used + 1 >= room)
            return false;
        to[used++] = (char)byte;
    }
    to[used] = '\0';
    return used > 0 && sv_utf8_is_valid(to, used);
}
