/* kernel_buffers.c - random inputs, guarded outputs, operands of a kernel table. */
#include "support/kernel_buffers.h"

void sl_emulated_kernels(struct sl_kernels *t);

float random_at(uint64_t place)
{
    uint64_t x = (place + test_seed()) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (float)(x >> 40) * 0x1p-23f - 1.0f;
}

float *input_make(size_t n, uint64_t which, float magnitude)
{
    float *x = malloc((n + NANS) * sizeof *x);
    cr_assert(x);
    for (size_t i = 0; i < n + NANS; i++)
        x[i] = i < n ? magnitude * random_at(which << 32 | i) : NAN;
    return x;
}

void *output_make(size_t bytes)
{
    unsigned char *block = aligned_alloc(64, (bytes + 2 * GUARD_BYTES + 63) / 64 * 64);
    cr_assert(block);
    memset(block, GUARD, bytes + 2 * GUARD_BYTES);
    memset(block + GUARD_BYTES, 0xff, bytes);
    return block + GUARD_BYTES;
}

bool output_guarded(const void *output, size_t bytes)
{
    const unsigned char *data = output;
    for (size_t i = 1; i <= GUARD_BYTES; i++)
        if (data[-(ptrdiff_t)i] != GUARD || data[bytes + i - 1] != GUARD)
            return false;
    return true;
}

void output_free(void *output)
{
    free((unsigned char *)output - GUARD_BYTES);
}

void *operands_make(const struct sl_kernels *k, const float *x, int rows, int cols)
{
    const size_t stride = sl_operand_stride(k, cols), size = sl_type_bytes(k->operand);
    unsigned char *out = malloc((size_t)rows * stride * size + NANS * sizeof(float));
    cr_assert(out);
    memset(out + (size_t)rows * stride * size, 0xff, NANS * sizeof(float));
    for (size_t r = 0; r < (size_t)rows; r++)
        k->to_operands(out + r * stride * size, x + r * (size_t)cols, cols);
    return out;
}

void round_to_operands(const struct sl_kernels *k, float *x, int n)
{
    const size_t stride = sl_operand_stride(k, n);
    void *operands = malloc(stride * sl_type_bytes(k->operand));
    cr_assert(operands);
    k->to_operands(operands, x, n);
    k->from_operands(x, operands, n);
    free(operands);
}

const struct sl_kernels *reference_kernels(void)
{
    return sl_kernels_for(SL_ISA_REF);
}

bool same_bits(float a, float b)
{
    uint32_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    return x == y;
}

bool is_near(float got, float want, float absolute)
{
    return fabsf(got - want) <= absolute;
}

bool is_fused(const struct sl_kernels *k)
{
#ifdef __FP_FAST_FMAF
    (void)k;
    return true;
#else
    return k->isa != SL_ISA_PORTABLE;
#endif
}

const struct sl_kernels *emulated_kernels(struct sl_kernels *table)
{
    *table = *reference_kernels();
    sl_emulated_kernels(table);
    return table;
}

void for_each_isa(void (*check)(const struct sl_kernels *k))
{
    struct sl_kernels emulated;
    check(emulated_kernels(&emulated));
    for (int isa = 0; isa < SL_ISA_COUNT; isa++)
        if (sl_kernels_for((enum sl_isa)isa))
            check(sl_kernels_for((enum sl_isa)isa));
}
