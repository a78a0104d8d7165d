/* text.h - bytes being written, one after another, and JSON among them.
 *
 * A text grows as needed, to SV_TEXT_GROWN_MAX bytes. When that or memory is not enough it
 * remembers so in `failed` and takes nothing more: whoever writes checks once, at the end, and now
 * and then while much is still to come. Start from {0}; the owner releases. */
#pragma once

#include "sluice/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sv_text {
    char *data;
    size_t bytes, capacity;
    bool failed;
    bool is_full; /* it failed for its length, not for want of memory */
};

void sv_text_release(struct sv_text *text);
void sv_text_clear(struct sv_text *text); /* forgets the bytes, keeps the memory */
void sv_text_add(struct sv_text *text, const char *bytes, size_t count);
void sv_text_adds(struct sv_text *text, const char *string);
void sv_text_print(struct sv_text *text, const char *format, ...) SL_PRINTF(2, 3);
void sv_text_int(struct sv_text *text, int64_t value);
/* With as few digits as tell it from any other float; it must be finite. */
void sv_text_float(struct sv_text *text, float value);
/* The bytes as a JSON string in quotes. What is not UTF-8 becomes U+FFFD. */
void sv_text_json(struct sv_text *text, const char *bytes, size_t count);
void sv_text_jsons(struct sv_text *text, const char *string); /* NULL becomes null */

/* Adds a name to a list of them, "a, b, c", in an array of `room` bytes; as much as has room. */
void sv_list_add(char *list, size_t room, const char *name);

/* %41 becomes A. False for what no name may hold: broken escapes, NUL, more than there is `room`
 * for with an end, not UTF-8, nothing. */
bool sv_percent_decode(const char *from, size_t count, char *to, size_t room);

/* Bytes of the UTF-8 character that begins here, 1 to 4; 0 when there is none whole and valid. */
size_t sv_utf8_length(const char *bytes, size_t count);
bool sv_utf8_is_valid(const char *bytes, size_t count);
/* Bytes [start, stop) of a valid text grow until no character is cut. */
void sv_utf8_widen(const char *bytes, size_t count, size_t *start, size_t *stop);
/* The most bytes, at most `most`, that do not cut a character in half. */
size_t sv_utf8_fit(const char *bytes, size_t count, size_t most);
/* Characters as sv_text_json writes them, where a byte that is not UTF-8 is one of its own: the
 * bytes of the first one, 0 when there is none; and how many there are. */
size_t sv_utf8_step(const char *bytes, size_t count);
size_t sv_utf8_count(const char *bytes, size_t count);
