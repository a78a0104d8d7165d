/* normalizer.c - BERT's normalizer, with the tables of utf8proc. */
#include "tokenizer/normalizer.h"

#include <assert.h>
#include <stddef.h>
#include <utf8proc.h>

static bool is_within(uint32_t point, const uint32_t (*ranges)[2], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (point >= ranges[i][0] && point <= ranges[i][1])
            return true;
    return false;
}

/* The blocks of CJK ideographs in BERT's tokenizer. */
static bool is_ideograph(uint32_t point)
{
    static const uint32_t blocks[][2] = {{0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},
                                         {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F},
                                         {0x2B820, 0x2CEAF}, {0x2F800, 0x2FA1F}};
    return is_within(point, blocks, sizeof blocks / sizeof *blocks);
}

/* Beyond category P: "$", "+" and others that Unicode calls symbols. */
static bool is_ascii_punctuation(uint32_t point)
{
    static const uint32_t blocks[][2] = {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}};
    return is_within(point, blocks, sizeof blocks / sizeof *blocks);
}

static utf8proc_category_t category(uint32_t point)
{
    return utf8proc_category((utf8proc_int32_t)point);
}

static bool is_punctuation(uint32_t point)
{
    utf8proc_category_t c = category(point);
    return is_ascii_punctuation(point) || (c >= UTF8PROC_CATEGORY_PC && c <= UTF8PROC_CATEGORY_PO);
}

static bool is_space(uint32_t point)
{
    utf8proc_category_t c = category(point);
    return point == '\t' || point == '\n' || point == '\r' ||
           (c >= UTF8PROC_CATEGORY_ZS && c <= UTF8PROC_CATEGORY_ZP);
}

static bool vanishes(uint32_t point)
{
    utf8proc_category_t c = category(point);
    return point == 0xFFFD || c == UTF8PROC_CATEGORY_CC || c == UTF8PROC_CATEGORY_CF ||
           c == UTF8PROC_CATEGORY_CO;
}

enum sl_codepoint_kind sl_codepoint_kind(uint32_t point)
{
    if (is_punctuation(point))
        return SL_CODEPOINT_PUNCTUATION;
    return is_ideograph(point) ? SL_CODEPOINT_IDEOGRAPH : SL_CODEPOINT_PART;
}

/* One code point of a decomposition. */
static struct sl_codepoint letter_plain(utf8proc_int32_t part)
{
    const utf8proc_property_t *facts = utf8proc_get_property(part);
    uint32_t point = (uint32_t)utf8proc_tolower(part);
    struct sl_codepoint codepoint = {.point = point, .order = (uint8_t)facts->combining_class};
    codepoint.kind = facts->category == UTF8PROC_CATEGORY_MN ? SL_CODEPOINT_ACCENT
                                                             : (uint8_t)sl_codepoint_kind(point);
    return codepoint;
}

static int take_apart(uint32_t point, struct sl_codepoint codepoints[SL_NORMALIZED_MAX])
{
    utf8proc_int32_t parts[SL_NORMALIZED_MAX];
    int unused = 0;
    utf8proc_ssize_t count = utf8proc_decompose_char(
        (utf8proc_int32_t)point, parts, SL_NORMALIZED_MAX, UTF8PROC_DECOMPOSE, &unused);
    assert(count >= 1);
    assert(count <= SL_NORMALIZED_MAX); /* the longest canonical one has 4 */
    for (utf8proc_ssize_t i = 0; i < count; i++)
        codepoints[i] = letter_plain(parts[i]);
    return (int)count;
}

int sl_normalizer_apply(const struct sl_normalizer *normalizer, uint32_t point,
                        struct sl_codepoint codepoints[SL_NORMALIZED_MAX])
{
    codepoints[0] = (struct sl_codepoint){.point = point};
    if (is_space(point))
        codepoints[0].kind = SL_CODEPOINT_SPACE;
    else if (vanishes(point))
        codepoints[0].kind = SL_CODEPOINT_NONE;
    else if (normalizer->lower)
        return take_apart(point, codepoints);
    else
        codepoints[0].kind = (uint8_t)sl_codepoint_kind(point);
    return 1;
}

void sl_normalizer_init(struct sl_normalizer *normalizer, bool lower)
{
    normalizer->lower = lower;
    for (uint32_t point = 0; point < SL_ASCII; point++) {
        struct sl_codepoint codepoints[SL_NORMALIZED_MAX];
        int count = sl_normalizer_apply(normalizer, point, codepoints);
        assert(count == 1);
        normalizer->ascii[point] = codepoints[0];
    }
}
