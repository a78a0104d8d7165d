/* bf16.h - the upper half of a float, one at a time: what conversion means. */
#pragma once

#include <stdint.h>
#include <string.h>

static inline float sl_bf16_widen(uint16_t x)
{
    const uint32_t bits = (uint32_t)x << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Nearest even, as VCVTNEPS2BF16 does it: subnormal floats become 0, NaNs stay NaNs. */
static inline uint16_t sl_bf16_narrow(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    const uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40);
    if (magnitude < 0x00800000)
        return (uint16_t)(bits >> 16 & 0x8000);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
