/* big_numbers.h - numbers in JSON that no double or 64-bit integer holds. A parser would refuse the
 * whole text for them, even where nobody uses them.
 *
 * They become strings that begin with U+0000, which no text may contain, and go on with the number
 * as it was written. */
#pragma once

#include "base/buffer.h"

struct json_t; /* jansson's */
struct json_error_t;

/* Copies JSON with such numbers as strings. What is not valid JSON stays invalid. */
void sl_big_numbers_quote(const char *json, size_t bytes, struct sl_buffer *out);
/* One JSON value of any type; a name that occurs twice in an object is an error. NULL: *why says
 * what is wrong; its text is empty if memory is lacking. */
struct json_t *sl_big_numbers_load(const char *json, size_t bytes, struct json_error_t *why);
/* The number, if a parsed string stands for one; else NULL. */
const char *sl_big_number(const char *string, size_t bytes);
