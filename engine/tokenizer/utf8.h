/* utf8.h - Unicode code points in bytes, strictly: no overlong forms, no surrogates, nothing past
 * U+10FFFF (Unicode 15, table 3-7). */
#pragma once

#include "sluice/err.h"

#include <stddef.h>
#include <stdint.h>

enum { SL_CODE_POINTS = 0x110000, SL_UTF8_MAX = 4 };

/* Decodes the code point at text[*at] and moves *at past it. False, with *at unmoved, when the
 * bytes there are not UTF-8. *at < bytes. */
bool sl_utf8_next(const char *text, size_t bytes, size_t *at, uint32_t *point);

/* Fails at the first bytes that are not UTF-8, and names their place. */
bool sl_utf8_check(const char *text, size_t bytes, struct sl_err *err) SL_MUST_CHECK;

/* Writes a code point, returns its bytes. */
size_t sl_utf8_put(uint32_t point, char out[SL_UTF8_MAX]);
