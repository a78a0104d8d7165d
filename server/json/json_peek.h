/* json_peek.h - one string of a body that is not parsed yet. */
#pragma once

#include "base/buffer.h"

#include <stdbool.h>

/* Copies the value of a member of the body's object, if it is a string without escapes that fits;
 * false otherwise, also if the member comes after something that is no JSON. What it finds is what
 * the parser would find, unless the body is invalid. It skips bytes and allocates nothing. */
bool sv_json_peek_string(const struct sl_buffer *body, const char *member, char *out,
                         size_t capacity);
