/* bf16.h - conversion of one bf16, the upper half of a float. */
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
