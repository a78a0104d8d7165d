/* unicode.c - classes by general category, and the few characters that differ from theirs. */
#include "tokenizer/unicode.h"

#include <assert.h>
#include <string.h>
#include <utf8proc.h>

static const uint8_t by_category[] = {
    [UTF8PROC_CATEGORY_LU] = SL_CHAR_LETTER | SL_CHAR_WORD,
    [UTF8PROC_CATEGORY_LL] = SL_CHAR_LETTER | SL_CHAR_WORD,
    [UTF8PROC_CATEGORY_LT] = SL_CHAR_LETTER | SL_CHAR_WORD,
    [UTF8PROC_CATEGORY_LM] = SL_CHAR_LETTER | SL_CHAR_WORD,
    [UTF8PROC_CATEGORY_LO] = SL_CHAR_LETTER | SL_CHAR_WORD,
    [UTF8PROC_CATEGORY_MN] = SL_CHAR_MARK | SL_CHAR_NONSPACING | SL_CHAR_WORD,
    [UTF8PROC_CATEGORY_MC] = SL_CHAR_MARK | SL_CHAR_WORD,
    [UTF8PROC_CATEGORY_ME] = SL_CHAR_MARK | SL_CHAR_WORD,
    [UTF8PROC_CATEGORY_ND] = SL_CHAR_NUMBER | SL_CHAR_WORD,
    [UTF8PROC_CATEGORY_NL] = SL_CHAR_NUMBER | SL_CHAR_WORD,
    [UTF8PROC_CATEGORY_NO] = SL_CHAR_NUMBER,
    [UTF8PROC_CATEGORY_PC] = SL_CHAR_PUNCTUATION | SL_CHAR_WORD,
    [UTF8PROC_CATEGORY_PD] = SL_CHAR_PUNCTUATION,
    [UTF8PROC_CATEGORY_PS] = SL_CHAR_PUNCTUATION,
    [UTF8PROC_CATEGORY_PE] = SL_CHAR_PUNCTUATION,
    [UTF8PROC_CATEGORY_PI] = SL_CHAR_PUNCTUATION,
    [UTF8PROC_CATEGORY_PF] = SL_CHAR_PUNCTUATION,
    [UTF8PROC_CATEGORY_PO] = SL_CHAR_PUNCTUATION,
    [UTF8PROC_CATEGORY_ZS] = SL_CHAR_SPACE,
    [UTF8PROC_CATEGORY_ZL] = SL_CHAR_SPACE,
    [UTF8PROC_CATEGORY_ZP] = SL_CHAR_SPACE,
    [UTF8PROC_CATEGORY_CC] = SL_CHAR_CONTROL,
    [UTF8PROC_CATEGORY_CF] = SL_CHAR_CONTROL,
    [UTF8PROC_CATEGORY_CO] = SL_CHAR_CONTROL,
};

/* What some code points are beyond their category. */
static const struct {
    uint32_t first, last;
    unsigned classes;
} exceptions[] = {
    {'\t', '\r', SL_CHAR_SPACE},
    {'$', '$', SL_CHAR_PUNCTUATION},
    {'+', '+', SL_CHAR_PUNCTUATION},
    {'<', '>', SL_CHAR_PUNCTUATION},
    {'^', '^', SL_CHAR_PUNCTUATION},
    {'`', '`', SL_CHAR_PUNCTUATION},
    {'|', '|', SL_CHAR_PUNCTUATION},
    {'~', '~', SL_CHAR_PUNCTUATION},
    {0x85, 0x85, SL_CHAR_SPACE},
    {0x200C, 0x200D, SL_CHAR_WORD}, /* joiners */
    {0x24B6, 0x24E9, SL_CHAR_WORD}, /* circled letters are alphabetic */
    {0x3400, 0x4DBF, SL_CHAR_IDEOGRAPH},
    {0x4E00, 0x9FFF, SL_CHAR_IDEOGRAPH},
    {0xF900, 0xFAFF, SL_CHAR_IDEOGRAPH},
    {0x1F130, 0x1F149, SL_CHAR_WORD}, /* letters in squares and circles */
    {0x1F150, 0x1F169, SL_CHAR_WORD},
    {0x1F170, 0x1F189, SL_CHAR_WORD},
    {0x20000, 0x2A6DF, SL_CHAR_IDEOGRAPH},
    {0x2A700, 0x2B73F, SL_CHAR_IDEOGRAPH},
    {0x2B740, 0x2B81F, SL_CHAR_IDEOGRAPH},
    {0x2B920, 0x2CEAF, SL_CHAR_IDEOGRAPH},
    {0x2F800, 0x2FA1F, SL_CHAR_IDEOGRAPH},
};

enum { EXCEPTIONS = sizeof exceptions / sizeof *exceptions };

unsigned sl_char_classes(uint32_t point)
{
    unsigned classes = by_category[utf8proc_get_property((utf8proc_int32_t)point)->category];
    size_t first = 0, end = EXCEPTIONS;
    if ((point | 0x20) - 'a' < 26)
        return classes;
    while (first < end) { /* the first range that does not end before the code point */
        size_t middle = (first + end) / 2;
        if (exceptions[middle].last < point)
            first = middle + 1;
        else
            end = middle;
    }
    if (first == EXCEPTIONS || exceptions[first].first > point)
        return classes;
    return classes | exceptions[first].classes;
}

bool sl_text_is_ascii(const char *text, size_t bytes)
{
    uint64_t block, all = 0;
    for (; bytes >= sizeof block; text += sizeof block, bytes -= sizeof block) {
        memcpy(&block, text, sizeof block);
        all |= block;
    }
    for (; bytes > 0; bytes--)
        all |= (unsigned char)*text++;
    return (all & 0x8080808080808080) == 0;
}

int sl_char_decompose(uint32_t point, bool compatible, uint32_t points[SL_DECOMPOSED_MAX])
{
    utf8proc_int32_t parts[SL_DECOMPOSED_MAX];
    int unused = 0;
    utf8proc_option_t how = UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0);
    utf8proc_ssize_t count =
        utf8proc_decompose_char((utf8proc_int32_t)point, parts, SL_DECOMPOSED_MAX, how, &unused);
    assert(count >= 1);
    assert(count <= SL_DECOMPOSED_MAX); /* the longest, U+FDFA, has 18 */
    for (utf8proc_ssize_t i = 0; i < count; i++)
        points[i] = (uint32_t)parts[i];
    return (int)count;
}

uint32_t sl_char_compose(uint32_t first, uint32_t second)
{
    enum { SECOND_MIN = 0x300 }; /* no character before this one is the second of a composition */

    if (second < SECOND_MIN)
        return 0;
    utf8proc_int32_t points[2] = {(utf8proc_int32_t)first, (utf8proc_int32_t)second};
    return utf8proc_normalize_utf32(points, 2, UTF8PROC_COMPOSE | UTF8PROC_STABLE) == 1
               ? (uint32_t)points[0]
               : 0;
}

uint8_t sl_char_order(uint32_t point)
{
    return (uint8_t)utf8proc_get_property((utf8proc_int32_t)point)->combining_class;
}

int sl_char_lower(uint32_t point, uint32_t points[SL_LOWERED_MAX])
{
    enum { I_WITH_DOT = 0x130, DOT_ABOVE = 0x307 }; /* alone has a lower case of two characters */

    points[0] = (uint32_t)utf8proc_tolower((utf8proc_int32_t)point);
    points[1] = DOT_ABOVE;
    if (point == I_WITH_DOT)
        points[0] = 'i';
    return point == I_WITH_DOT ? 2 : 1;
}

size_t sl_grapheme_end(const char *text, size_t bytes, size_t at)
{
    utf8proc_int32_t state = 0;
    uint32_t before = sl_char_next(text, &at);
    while (at < bytes) {
        size_t next = at;
        uint32_t point = sl_char_next(text, &next);
        if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)before, (utf8proc_int32_t)point,
                                             &state))
            break;
        before = point;
        at = next;
    }
    return at;
}
