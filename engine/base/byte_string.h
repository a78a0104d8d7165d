/* byte_string.h - strings of bytes that need not end with a NUL. */
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Compares like memcmp; a prefix comes first. */
static inline int sl_bytes_compare(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);
    return order ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

/* The first ASCII control character (line break, tab, NUL and so on); NULL: none. Labels may not
 * contain any, because they are printed in lines. */
static inline const char *sl_find_control(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F)
            return text + i;
    return NULL;
}

/* A copy with a NUL behind it, to be freed; unlike strndup it never looks past the end. NULL: no
 * memory. */
static inline char *sl_bytes_copy(const char *data, size_t bytes)
{
    char *copy = malloc(bytes + 1);
    if (!copy)
        return NULL;
    if (bytes > 0)
        memcpy(copy, data, bytes);
    copy[bytes] = '\0';
    return copy;
}
