/* bf16.h - conversions of one bf16, the upper half of a float. */
#pragma once

#include <stdint.h>
#include <string.h>

static inline float sl_bf16_to_f32(uint16_t x)
{
    const uint32_t bits = (uint32_t)x << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Rounded to nearest even; a NaN becomes quiet, as processors have it. */
static inline uint16_t sl_bf16_of(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}
