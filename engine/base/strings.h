/* strings.h - strings of bytes that need not end with a NUL. */
#pragma once

#include <stddef.h>
#include <string.h>

/* Below 0, 0 or above 0, as for memcmp; what another begins with comes before it. */
static inline int sl_bytes_compare(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);
    return order ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

/* A line break, tab or other control character of ASCII, a NUL too; NULL: there is none. Labels
 * have none, as they are printed in lines. */
static inline const char *sl_find_control(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F)
            return text + i;
    return NULL;
}
