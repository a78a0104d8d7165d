/* percent_encoding.h - escapes of paths and queries. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* %41 becomes A. False for what no name may hold: broken escapes, NUL, more than `capacity` bytes
 * with the NUL at the end, what is not UTF-8, nothing. */
bool sv_percent_decode(const char *from, size_t count, char *to, size_t capacity);
