/* utf8.c - decoding by utf8proc, and cutting texts between characters. */
#include "base/utf8.h"

#include <assert.h>
#include <string.h>
#include <utf8proc.h>

/* Bytes of the valid character that begins here and its code point, or a number below 1. */
static utf8proc_ssize_t decode(const char *text, size_t bytes, utf8proc_int32_t *point)
{
    size_t look = bytes < SL_UTF8_MAX ? bytes : SL_UTF8_MAX;
    return utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)look, point);
}

bool sl_utf8_next(const char *text, size_t bytes, size_t *at, uint32_t *point)
{
    assert(*at < bytes);
    if ((unsigned char)text[*at] < 0x80) { /* fast path for ASCII */
        *point = (unsigned char)text[(*at)++];
        return true;
    }
    utf8proc_int32_t value;
    utf8proc_ssize_t length = decode(text + *at, bytes - *at, &value);
    if (length < 1)
        return false;
    *at += (size_t)length;
    *point = (uint32_t)value;
    return true;
}

size_t sl_utf8_put(uint32_t point, char out[SL_UTF8_MAX])
{
    assert(point < SL_CODE_POINTS);
    return (size_t)utf8proc_encode_char((utf8proc_int32_t)point, (utf8proc_uint8_t *)out);
}

size_t sl_utf8_length(const char *text, size_t bytes)
{
    utf8proc_int32_t point;
    utf8proc_ssize_t length = decode(text, bytes, &point);
    return length < 1 ? 0 : (size_t)length;
}

size_t sl_utf8_step(const char *text, size_t bytes)
{
    size_t length = sl_utf8_length(text, bytes);
    return length == 0 && bytes > 0 ? 1 : length;
}

size_t sl_utf8_valid_bytes(const char *text, size_t bytes)
{
    size_t at = 0;
    while (at < bytes) {
        size_t length = (unsigned char)text[at] < 0x80 ? 1 : sl_utf8_length(text + at, bytes - at);
        if (length == 0)
            return at;
        at += length;
    }
    return bytes;
}

bool sl_utf8_is_valid(const char *text, size_t bytes)
{
    return sl_utf8_valid_bytes(text, bytes) == bytes;
}

bool sl_utf8_check(const char *text, size_t bytes, struct sl_err *err)
{
    size_t at = sl_utf8_valid_bytes(text, bytes);
    return at == bytes || sl_fail(err, SL_BAD_INPUT, "byte %zu is 0x%02X: not UTF-8", at + 1,
                                  (unsigned)(unsigned char)text[at]);
}

size_t sl_utf8_count(const char *text, size_t bytes)
{
    size_t characters = 0;
    for (size_t at = 0; at < bytes; at += sl_utf8_step(text + at, bytes - at))
        characters++;
    return characters;
}

size_t sl_utf8_fit(const char *text, size_t bytes, size_t max)
{
    if (bytes <= max)
        return bytes;
    size_t fit = max;
    while (fit > 0 && max - fit < SL_UTF8_MAX - 1 && sl_utf8_is_continuation(text[fit]))
        fit--;
    return sl_utf8_is_continuation(text[fit]) ? max
                                              : fit; /* not UTF-8: no character is that long */
}

void sl_utf8_widen(const char *text, size_t bytes, size_t *start, size_t *stop)
{
    while (*start > 0 && *start < bytes && sl_utf8_is_continuation(text[*start]))
        --*start;
    while (*stop < bytes && sl_utf8_is_continuation(text[*stop]))
        ++*stop;
}

size_t sl_utf8_incomplete(const char *text, size_t bytes)
{
    for (size_t back = 1; back < SL_UTF8_MAX && back <= bytes; back++) {
        unsigned char first = (unsigned char)text[bytes - back];
        if (sl_utf8_is_continuation(text[bytes - back]))
            continue;
        size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
        return length > back ? back : 0;
    }
    return 0;
}

size_t sl_utf8_mark(const char *text, size_t bytes)
{
    static const char mark[] = "\xEF\xBB\xBF";
    size_t length = sizeof mark - 1;
    return bytes >= length && memcmp(text, mark, length) == 0 ? length : 0;
}

static bool can_be_seen(utf8proc_int32_t point)
{
    const char *category = utf8proc_category_string(point);
    return category[0] != 'Z' && strcmp(category, "Cc") != 0 && strcmp(category, "Cf") != 0;
}

char *sl_utf8_fold(const char *text)
{
    static const utf8proc_option_t options = UTF8PROC_NULLTERM | UTF8PROC_STABLE |
                                             UTF8PROC_COMPOSE | UTF8PROC_COMPAT | UTF8PROC_CASEFOLD;
    utf8proc_uint8_t *folded = NULL;
    const utf8proc_ssize_t bytes =
        utf8proc_map((const utf8proc_uint8_t *)text, 0, &folded, options);
    utf8proc_int32_t point;
    size_t used = 0;
    for (utf8proc_ssize_t at = 0, count; at < bytes; at += count) {
        count = utf8proc_iterate(folded + at, bytes - at, &point);
        if (!can_be_seen(point))
            continue;
        memmove(folded + used, folded + at, (size_t)count);
        used += (size_t)count;
    }
    if (folded)
        folded[used] = '\0';
    return (char *)folded;
}
