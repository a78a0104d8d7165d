/* number_types.c - numbers of files as fp32. */
#include "formats/number_types.h"

#include "base/bf16.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { BLOCK = 32, HALF = BLOCK / 2, F16_BYTES = 2 };

const struct sl_number_layout sl_number_layouts[SL_NUMBER_OTHER] = {
    [SL_NUMBER_F32] = {"F32", 1, sizeof(float)},
    [SL_NUMBER_F16] = {"F16", 1, F16_BYTES},
    [SL_NUMBER_BF16] = {"BF16", 1, 2},
    [SL_NUMBER_Q4_0] = {"Q4_0", BLOCK, F16_BYTES + HALF},
    [SL_NUMBER_Q4_1] = {"Q4_1", BLOCK, 2 * F16_BYTES + HALF},
    [SL_NUMBER_Q8_0] = {"Q8_0", BLOCK, F16_BYTES + BLOCK},
};

static float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* IEEE 754 binary16: 1 sign, 5 exponent (bias 15) and 10 fraction bits. */
static float read_f16(const char *data)
{
    uint16_t half;
    memcpy(&half, data, sizeof half);
    uint32_t sign = (half & 0x8000u) << 16, exponent = half >> 10 & 31u, fraction = half & 1023u;
    if (exponent == 31)
        return float_of_bits(sign | 0x7F800000u | fraction << 13);
    if (exponent > 0)
        return float_of_bits(sign | (exponent + 127 - 15) << 23 | fraction << 13);
    return copysignf(ldexpf((float)fraction, -24), float_of_bits(sign));
}

static float read_bf16(const char *data)
{
    uint16_t bits;
    memcpy(&bits, data, sizeof bits);
    return sl_bf16_to_f32(bits);
}

/* The low halves of the bytes come before the high ones. */
static void read_nibbles(const char *data, float scale, float offset, float out[BLOCK])
{
    for (int i = 0; i < HALF; i++) {
        const unsigned byte = (unsigned char)data[i];
        out[i] = (float)(byte & 15u) * scale + offset;
        out[HALF + i] = (float)(byte >> 4) * scale + offset;
    }
}

static void read_block(enum sl_number_type type, const char *data, float out[BLOCK])
{
    const float scale = read_f16(data);
    const char *quants = data + F16_BYTES;
    if (type == SL_NUMBER_Q4_0)
        read_nibbles(quants, scale, -8.0f * scale, out);
    else if (type == SL_NUMBER_Q4_1)
        read_nibbles(quants + F16_BYTES, scale, read_f16(quants), out);
    else
        for (int i = 0; i < BLOCK; i++)
            out[i] = (float)(signed char)quants[i] * scale;
}

void sl_numbers_read(enum sl_number_type type, const char *data, size_t count, float *out)
{
    const struct sl_number_layout *layout = &sl_number_layouts[type];
    assert(type < SL_NUMBER_OTHER && count % layout->block == 0);
    if (type == SL_NUMBER_F32 && count > 0)
        memcpy(out, data, count * sizeof *out);
    if (type == SL_NUMBER_F32)
        return;
    for (size_t i = 0; i < count; i += layout->block, data += layout->bytes) {
        if (type == SL_NUMBER_F16)
            out[i] = read_f16(data);
        else if (type == SL_NUMBER_BF16)
            out[i] = read_bf16(data);
        else
            read_block(type, data, out + i);
    }
}
