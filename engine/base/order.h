/* order.h - the order of byte strings. */
#pragma once

#include <stddef.h>
#include <string.h>

/* Below 0, 0 or above 0, as for memcmp; what another begins with comes before it. */
static inline int sl_bytes_compare(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);
    return order ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}
