/* finish.h - sums of a matrix product become its results: scaled if they are of int8, then what the
 * epilogue says (kernels.h). Results have the bits that the same steps give one after another. */
#pragma once

#include "base/int_math.h"
#include "kernels/int8.h"
#include "kernels/simd/operands.h"

enum { SUM_COLUMNS = 2 * LANES };

/* Sums on their way to memory: some rows of SUM_COLUMNS columns. */
struct sum_block {
    float *sums;   /* of int8 either the bits of int32, or `scaled` */
    size_t stride; /* floats from one row to the next */
    int row, rows, col;
    int finished; /* of the rows */
    bool scaled;  /* and the sums of groups were added */
};

static const struct sl_gemm_epilogue no_epilogue = {.scale = 1.0f};

static inline void write_row(const struct sl_gemm *g, const struct sl_gemm_epilogue *to, int row,
                             int col, struct vec_pair v)
{
    const int n = g->n - col;
    float *y = g->y + (size_t)(to->rows ? to->rows[row] : row) * g->y_stride + col;
    if (g->accumulate) {
        const vec factor = vec_set(to->gates ? to->scale * to->gates[row] : to->scale);
        const struct vec_pair old = vec_load_pair(y, n);
        v = (struct vec_pair){vec_fma(factor, v.low, old.low), vec_fma(factor, v.high, old.high)};
    }
    vec_store_pair(y, n, v);
}

/* Products of int8 of rows that are one group: in the reference's order, for the same bits. */
static inline struct vec_pair scaled_sums(const struct sl_gemm *g, struct vec_pair sums, int row,
                                          struct vec_pair scales)
{
    const vec scale = vec_set(g->int8_groups[row].scale);
    return (struct vec_pair){
        __builtin_convertvector((ivec)sums.low, vec) * scale * scales.low,
        __builtin_convertvector((ivec)sums.high, vec) * scale * scales.high,
    };
}

/* What follows `last` is constant wherever this is inlined. */
static inline __attribute__((always_inline)) void finish_as(const struct sl_gemm *g,
                                                            const struct sum_block *b, int last,
                                                            const enum sl_activation f,
                                                            const bool as_operand)
{
    const struct sl_gemm_epilogue *to = g->epilogue ? g->epilogue : &no_epilogue;
    const int n = g->n - b->col;
    operand *out = (operand *)to->out + (size_t)(b->row + b->finished) * to->out_stride + b->col;
    const float *sums = b->sums + b->finished * SUM_COLUMNS, *bias = to->bias;
    const struct vec_pair by = vec_load_pair(bias ? bias + b->col : sums, n);
    const bool is_int8 = g->int8_groups && !b->scaled;
    const float *scales = is_int8 ? sl_int8_scales(g->packed, g->k, g->int8_group, b->col) : sums;
    const struct vec_pair columns = {vec_loadu(scales), vec_loadu(scales + LANES)};
    for (int r = b->finished; r < last; r++, sums += SUM_COLUMNS, out += to->out_stride) {
        struct vec_pair v = {vec_loadu(sums), vec_loadu(sums + LANES)}, unused;
        if (is_int8)
            v = scaled_sums(g, v, b->row + r, columns);
        if (bias)
            v = (struct vec_pair){v.low + by.low, v.high + by.high};
        if (as_operand) {
            operand_store_pair(out, n, operand_activate(v, f));
            continue;
        }
        vec_activate(v.low, f, &v.low, &unused.low);
        vec_activate(v.high, f, &v.high, &unused.high);
        write_row(g, to, b->row + r, b->col, v);
    }
}

static inline __attribute__((always_inline)) void finish_with(const struct sl_gemm *g,
                                                              const struct sum_block *b, int last,
                                                              const enum sl_activation f)
{
    if (g->epilogue && g->epilogue->out)
        finish_as(g, b, last, f, true);
    else
        finish_as(g, b, last, f, false);
}

/* Up to row `last` of a block, whose rows of sums are SUM_COLUMNS floats apart. */
static void finish(const struct sl_gemm *g, struct sum_block *b, int last)
{
    last = sl_min(last, b->rows);
    if (last <= b->finished)
        return;
    switch (g->epilogue ? g->epilogue->activation : SL_LINEAR) {
    case SL_LINEAR: finish_with(g, b, last, SL_LINEAR); break;
    case SL_RELU: finish_with(g, b, last, SL_RELU); break;
    case SL_GELU: finish_with(g, b, last, SL_GELU); break;
    case SL_GELU_TANH: finish_with(g, b, last, SL_GELU_TANH); break;
    case SL_SILU: finish_with(g, b, last, SL_SILU); break;
    case SL_TANH: finish_with(g, b, last, SL_TANH); break;
    }
    b->finished = last;
}
