/* byte_level.h - GPT-2's spelling of bytes as characters that can be seen: a blank is U+0120. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The bytes that a text spells; `out` has room for as many as the text has. False: one of its
 * characters spells none. */
bool sl_byte_level_decode(const char *text, size_t bytes, char *out, size_t *count);
