/* unicode.h - what characters are, and their normal forms, with the tables of utf8proc.
 *
 * The text of these functions is valid UTF-8: sl_utf8_check is called before. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Classes of characters, as regular expressions and Unicode name them. */
enum sl_char_class {
    SL_CHAR_LETTER = 1,       /* \p{L} */
    SL_CHAR_NUMBER = 2,       /* \p{N} */
    SL_CHAR_MARK = 4,         /* \p{M} */
    SL_CHAR_NONSPACING = 8,   /* \p{Mn} */
    SL_CHAR_SPACE = 16,       /* \s */
    SL_CHAR_PUNCTUATION = 32, /* \p{P} and all of ASCII that is neither letter, digit nor control */
    SL_CHAR_WORD = 64,        /* \w: letters, marks, decimal digits, connectors, joiners */
    SL_CHAR_CONTROL = 128,    /* \p{Cc}, \p{Cf} and \p{Co} */
    SL_CHAR_IDEOGRAPH = 256   /* the blocks of CJK ideographs in Hugging Face's BERT normalizer */
};

/* The classes of a code point. */
unsigned sl_char_classes(uint32_t point);

/* The bytes of the character that begins with this byte. */
static inline size_t sl_char_bytes(char first)
{
    unsigned char byte = (unsigned char)first;
    return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/* The code point at text[*at]; moves *at past it. */
static inline uint32_t sl_char_next(const char *text, size_t *at)
{
    const unsigned char *t = (const unsigned char *)text + *at;
    size_t length = sl_char_bytes(text[*at]);
    *at += length;
    switch (length) {
    case 1: return t[0];
    case 2: return (t[0] & 0x1Fu) << 6 | (t[1] & 0x3Fu);
    case 3: return (t[0] & 0xFu) << 12 | (t[1] & 0x3Fu) << 6 | (t[2] & 0x3Fu);
    default: return (t[0] & 7u) << 18 | (t[1] & 0x3Fu) << 12 | (t[2] & 0x3Fu) << 6 | (t[3] & 0x3Fu);
    }
}

/* Whether all bytes are ASCII. */
bool sl_text_is_ascii(const char *text, size_t bytes);

enum { SL_DECOMPOSED_MAX = 32, SL_LOWERED_MAX = 2 };

/* The canonical or, if `compatible`, the compatibility decomposition; returns its length. */
int sl_char_decompose(uint32_t point, bool compatible, uint32_t points[SL_DECOMPOSED_MAX]);
/* The canonical composition of two characters; 0: they have none. */
uint32_t sl_char_compose(uint32_t first, uint32_t second);
/* The combining class; 0: a starter. */
uint8_t sl_char_order(uint32_t point);
/* Lower case, up to two characters; returns how many. */
int sl_char_lower(uint32_t point, uint32_t points[SL_LOWERED_MAX]);

/* The end of the extended grapheme cluster that begins at `at`. */
size_t sl_grapheme_end(const char *text, size_t bytes, size_t at);
