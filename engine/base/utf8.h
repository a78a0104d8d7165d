/* utf8.h - Unicode code points in bytes, strictly: no overlong forms, no surrogates, nothing past
 * U+10FFFF (Unicode 15, table 3-7). Nothing here owns memory or needs a NUL. Any thread. */
#pragma once

#include "sluice/err.h"

#include <stddef.h>
#include <stdint.h>

enum { SL_CODE_POINTS = 0x110000, SL_UTF8_MAX = 4 };

/* U+FFFD, which stands for bytes that are not UTF-8. */
#define SL_UTF8_REPLACEMENT "\xEF\xBF\xBD"

/* True for a byte inside a character, where a text must not be cut. */
static inline bool sl_utf8_is_continuation(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

/* ---- one character --------------------------------------------------------------------------- */

/* Decodes the code point at text[*at] and moves *at past it. False, with *at unmoved, when the
 * bytes there are not UTF-8. *at < bytes. */
bool sl_utf8_next(const char *text, size_t bytes, size_t *at, uint32_t *point);

/* A copy without what spelling may vary in: Unicode's compatibility form (NFKC), case folded,
 * without white space and characters that cannot be seen, such as controls, zero-width spaces and
 * marks of direction. The caller frees it. NULL: no memory. text: UTF-8. */
char *sl_utf8_fold(const char *text);

/* Encodes a code point and returns its bytes, 1 to 4. */
size_t sl_utf8_put(uint32_t point, char out[SL_UTF8_MAX]);

/* The length of the character that begins here, 1 to 4; 0 when it is incomplete or invalid. */
size_t sl_utf8_length(const char *text, size_t bytes);

/* The same, but a byte that is not UTF-8 counts as a character of its own; 0 only at the end. */
size_t sl_utf8_step(const char *text, size_t bytes);

/* The length of the byte order mark that Windows programs write before a text; 0: it has none. */
size_t sl_utf8_mark(const char *text, size_t bytes);

/* ---- a whole text ---------------------------------------------------------------------------- */

bool sl_utf8_is_valid(const char *text, size_t bytes);

/* How many bytes come before the first that is not UTF-8; `bytes` if there is none. */
size_t sl_utf8_valid_bytes(const char *text, size_t bytes);
/* Fails at the first bytes that are not UTF-8, and gives their offset. */
bool sl_utf8_check(const char *text, size_t bytes, struct sl_err *err) SL_MUST_CHECK;

/* How many characters sl_utf8_step finds. */
size_t sl_utf8_count(const char *text, size_t bytes);

/* ---- cutting --------------------------------------------------------------------------------- */

/* The largest number of bytes, at most `max`, that does not cut a character in half. Text that has
 * no characters there is cut at `max`. */
size_t sl_utf8_fit(const char *text, size_t bytes, size_t max);

/* Extends the range [start, stop) of a valid text to whole characters. */
void sl_utf8_widen(const char *text, size_t bytes, size_t *start, size_t *stop);

/* The length of an incomplete character at the end; 0 when the last one is complete. */
size_t sl_utf8_incomplete(const char *text, size_t bytes);
