/* byte_level.c - bytes that print spell themselves; the others have the characters from U+0100 on,
 * in order. */
#include "tokenizer/byte_level.h"

#include "tokenizer/unicode.h"

/* -1: the character spells no byte. */
static int byte_of(uint32_t point)
{
    enum { FIRST = 0x100, BEFORE_PRINTED = 0x21, DELETED = 0x7F, AFTER_DELETED = 0x22 };

    if ((point >= 0x21 && point <= 0x7E) || (point >= 0xA1 && point <= 0xFF && point != 0xAD))
        return (int)point;
    if (point < FIRST)
        return -1;
    point -= FIRST;
    if (point < BEFORE_PRINTED)
        return (int)point;
    point -= BEFORE_PRINTED;
    if (point < AFTER_DELETED)
        return (int)point + DELETED;
    return point == AFTER_DELETED ? 0xAD : -1;
}

bool sl_byte_level_decode(const char *text, size_t bytes, char *out, size_t *count)
{
    *count = 0;
    for (size_t at = 0; at < bytes;) {
        int byte = byte_of(sl_char_next(text, &at));
        if (byte < 0)
            return false;
        out[(*count)++] = (char)(unsigned char)byte;
    }
    return true;
}
