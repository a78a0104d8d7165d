/* percent_encoding.h - escapes of paths and queries. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Decodes %41 to A. False for what cannot be a name: an invalid escape, a NUL, invalid UTF-8,
 * nothing, or more than `capacity` bytes with the final NUL. */
bool sv_percent_decode(const char *from, size_t count, char *to, size_t capacity);
