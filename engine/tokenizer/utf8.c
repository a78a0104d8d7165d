/* utf8.c - one code point at a time, in and out. */
#include "tokenizer/utf8.h"

#include <assert.h>

/* Bytes of the sequence that a first byte announces; 0 for bytes that begin nothing. */
static size_t sequence_bytes(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first < 0xC2) /* a continuation, or the overlong C0 and C1 */
        return 0;
    if (first < 0xE0)
        return 2;
    if (first < 0xF0)
        return 3;
    return first < 0xF5 ? 4 : 0;
}

bool sl_utf8_next(const char *text, size_t bytes, size_t *at, uint32_t *point)
{
    static const unsigned char payload[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    assert(*at < bytes);
    size_t length = sequence_bytes((unsigned char)text[*at]);
    if (length == 0 || length > bytes - *at)
        return false;

    uint32_t value = (unsigned char)text[*at] & payload[length];
    for (size_t i = 1; i < length; i++) {
        unsigned char next = (unsigned char)text[*at + i];
        if ((next & 0xC0) != 0x80)
            return false;
        value = value << 6 | (next & 0x3F);
    }
    if (value < least[length] || value >= SL_CODE_POINTS || (value >= 0xD800 && value <= 0xDFFF))
        return false;
    *at += length;
    *point = value;
    return true;
}

bool sl_utf8_check(const char *text, size_t bytes, struct sl_err *err)
{
    size_t at = 0;
    while (at < bytes) {
        uint32_t point;
        if ((unsigned char)text[at] < 0x80)
            at++;
        else if (!sl_utf8_next(text, bytes, &at, &point))
            return sl_fail(err, SL_BAD_INPUT, "not UTF-8: byte 0x%02X at byte offset %zu",
                           (unsigned)(unsigned char)text[at], at);
    }
    return true;
}

static char continuation(uint32_t bits)
{
    return (char)(unsigned char)(0x80 | (bits & 0x3F));
}

size_t sl_utf8_put(uint32_t point, char out[SL_UTF8_MAX])
{
    assert(point < SL_CODE_POINTS);
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    size_t length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const unsigned char marks[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = length - 1; i > 0; i--) {
        out[i] = continuation(point);
        point >>= 6;
    }
    out[0] = (char)(unsigned char)(marks[length] | point);
    return length;
}
