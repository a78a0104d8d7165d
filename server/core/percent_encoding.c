/* percent_encoding.c - escapes of paths and queries. */
#include "core/percent_encoding.h"
#include "base/utf8.h"

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool sv_percent_decode(const char *from, size_t count, char *to, size_t capacity)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        int byte = (unsigned char)from[i];
        if (from[i] == '%') {
            int high = i + 2 < count ? digit(from[i + 1]) : -1;
            int low = high < 0 ? -1 : digit(from[i + 2]);
            byte = low < 0 ? 0 : high * 16 + low;
            i += 2;
        }
        if (byte == 0 || used + 1 >= capacity)
            return false;
        to[used++] = (char)byte;
    }
    to[used] = '\0';
    return used > 0 && sl_utf8_is_valid(to, used);
}
