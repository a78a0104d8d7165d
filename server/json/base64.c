/* base64.c - bytes as text (RFC 4648, section 4). */
#include "json/base64.h"

#include <stdint.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Three bytes are four digits of 6 bits; "=" stands for digits of bytes that are missing. */
static void append_group(struct sl_buffer *out, const unsigned char *bytes, size_t count)
{
    uint32_t bits = (uint32_t)bytes[0] << 16;
    if (count > 1)
        bits |= (uint32_t)bytes[1] << 8;
    if (count > 2)
        bits |= bytes[2];
    const char text[] = {digits[bits >> 18], digits[bits >> 12 & 63],
                         count > 1 ? digits[bits >> 6 & 63] : '=',
                         count > 2 ? digits[bits & 63] : '='};
    sl_buffer_append(out, text, sizeof text);
}

void sv_base64_append(struct sl_buffer *out, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i += 3)
        append_group(out, (const unsigned char *)bytes + i, count - i < 3 ? count - i : 3);
}
