/* kernel_data.h - memory for kernel tests: inputs with NaN behind them, outputs between guards.
 *
 * Whatever a kernel reads past its input is a NaN, and shows in the result; whatever it
 * writes past its output shows in the guards. Also rows in a table's operand type. */
#pragma once

#include "kernels/kernels.h"
#include "support/test.h"

#include <math.h>

enum { GUARD_BYTES = 256, GUARD = 0xa5, NANS = 64 };

/* A number in [-1, 1) that depends on its place and the seed alone (SplitMix64's finaliser). */
static inline float random_at(uint64_t place)
{
    uint64_t x = (place + test_seed()) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (float)(x >> 40) * 0x1p-23f - 1.0f;
}

/* n random floats with NANS times NaN behind them; `which` tells inputs of one test apart. */
static inline float *input_make(size_t n, uint64_t which, float magnitude)
{
    float *x = malloc((n + NANS) * sizeof *x);
    cr_assert(x);
    for (size_t i = 0; i < n + NANS; i++)
        x[i] = i < n ? magnitude * random_at(which << 32 | i) : NAN;
    return x;
}

/* Room for `bytes`, filled with 0xff (so floats and bf16 are NaN) and guarded on both sides. */
static inline void *output_make(size_t bytes)
{
    unsigned char *block = aligned_alloc(64, (bytes + 2 * GUARD_BYTES + 63) / 64 * 64);
    cr_assert(block);
    memset(block, GUARD, bytes + 2 * GUARD_BYTES);
    memset(block + GUARD_BYTES, 0xff, bytes);
    return block + GUARD_BYTES;
}

static inline bool output_guarded(const void *output, size_t bytes)
{
    const unsigned char *data = output;
    for (size_t i = 1; i <= GUARD_BYTES; i++)
        if (data[-(ptrdiff_t)i] != GUARD || data[bytes + i - 1] != GUARD)
            return false;
    return true;
}

static inline void output_free(void *output)
{
    free((unsigned char *)output - GUARD_BYTES);
}

/* Rows of floats as rows of operands, `stride` elements apart, NaN behind the last. */
static inline void *operands_make(const struct sl_kernels *k, const float *x, int rows, int cols)
{
    const size_t stride = sl_operand_stride(k, cols), size = sl_type_bytes(k->operand);
    unsigned char *out = malloc((size_t)rows * stride * size + NANS * sizeof(float));
    cr_assert(out);
    memset(out + (size_t)rows * stride * size, 0xff, NANS * sizeof(float));
    for (size_t r = 0; r < (size_t)rows; r++)
        k->narrow(out + r * stride * size, x + r * (size_t)cols, cols);
    return out;
}

/* Makes x what it becomes as operands, so that only the kernel's own rounding is left. */
static inline void round_to_operands(const struct sl_kernels *k, float *x, int n)
{
    const size_t stride = sl_operand_stride(k, n);
    void *narrow = malloc(stride * sl_type_bytes(k->operand));
    cr_assert(narrow);
    k->narrow(narrow, x, n);
    k->widen(x, narrow, n);
    free(narrow);
}

static inline const struct sl_kernels *reference(void)
{
    return sl_kernels_at(SL_ISA_REF);
}

static inline bool same_bits(float a, float b)
{
    uint32_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    return x == y;
}

/* Whether got is want to within `absolute`; NaN is never near. */
static inline bool is_near(float got, float want, float absolute)
{
    return fabsf(got - want) <= absolute;
}

/* Runs check at every level that this machine has. */
static inline void at_each_level(void (*check)(const struct sl_kernels *k))
{
    for (int isa = 0; isa < SL_ISA_COUNT; isa++)
        if (sl_kernels_at((enum sl_isa)isa))
            check(sl_kernels_at((enum sl_isa)isa));
}
