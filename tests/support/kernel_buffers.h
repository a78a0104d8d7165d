/* kernel_buffers.h - memory for kernel tests: inputs with NaN behind them, outputs between guards.
 *
 * Whatever a kernel reads past its input is a NaN, and shows in the result; whatever it
 * writes past its output shows in the guards. Also rows in a table's operand type. */
#pragma once

#include "kernels/kernels.h"
#include "support/test.h"

#include <math.h>

enum { GUARD_BYTES = 256, GUARD = 0xa5, NANS = 64 };

/* A number in [-1, 1) that depends on its place and the seed alone (SplitMix64's finaliser). */
float random_at(uint64_t place);

/* n random floats with NANS times NaN behind them; `which` numbers the inputs of a test. */
float *input_make(size_t n, uint64_t which, float magnitude);

/* Room for `bytes`, filled with 0xff (so floats and bf16 are NaN) and guarded on both sides. */
void *output_make(size_t bytes);

/* Whether both guards of an output of output_make are untouched. */
bool output_guarded(const void *output, size_t bytes);

/* Frees what output_make returned. */
void output_free(void *output);

/* Rows of floats as rows of operands, `stride` elements apart, NaN behind the last. */
void *operands_make(const struct sl_kernels *k, const float *x, int rows, int cols);

/* Makes x what it becomes as operands, so that only the kernel's own rounding is left. */
void round_to_operands(const struct sl_kernels *k, float *x, int n);

/* The kernels that define what the others must compute. */
const struct sl_kernels *reference_kernels(void);

/* The kernels with vectors of 16 floats made of plain C: what AVX-512 computes, on any machine. */
const struct sl_kernels *emulated_kernels(struct sl_kernels *table);

/* Whether a level rounds a multiply-add once. */
bool is_fused(const struct sl_kernels *k);

bool same_bits(float a, float b);

/* Whether got is want to within `absolute`; NaN is never near. */
bool is_near(float got, float want, float absolute);

/* Runs check with the kernels of every instruction-set level that this machine has, and with the
 * emulated ones. */
void for_each_isa(void (*check)(const struct sl_kernels *k));
