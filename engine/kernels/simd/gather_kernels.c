/* gather_kernels.c - gather and scatter slots, a vector at a time. */
#include "kernels/simd/level.h"
#include "kernels/simd/operands.h"

static float dot_row(const float *x, const operand *y, int n)
{
    vec sums = vec_set(0.0f);
    for (int i = 0; i < n; i += LANES)
        sums = vec_fma(vec_load(x + i, n - i), operand_load(y + i, n - i), sums);
    return vec_sum(sums);
}

/* LANES rows at once, each summed in the order of dot_row. Rows of less than a vector (`narrow`, a
 * constant) are one load each. Without the pragmas gcc 12 keeps the sums in memory. */
static inline __attribute__((always_inline)) void gather_dot_lanes(float *out, float a,
                                                                   const float *x,
                                                                   const operand *rows,
                                                                   const struct sl_row_list *l,
                                                                   int first, const bool narrow)
{
    const operand *row[LANES];
    vec sums[LANES];
#pragma GCC unroll 16
    for (int r = 0; r < LANES; r++) {
        row[r] = rows + sl_row_offset(l, first + r);
        sums[r] = vec_set(0.0f);
    }
    int i = 0;
    for (; !narrow && i + LANES <= l->width; i += LANES)
#pragma GCC unroll 16
        for (int r = 0; r < LANES; r++)
            sums[r] = vec_fma(vec_loadu(x + i), operand_load(row[r] + i, LANES), sums[r]);
    if (narrow || i < l->width) {
        const int rest = l->width - i;
        const vec v = vec_load(x + i, rest);
#pragma GCC unroll 16
        for (int r = 0; r < LANES; r++)
            sums[r] = vec_fma(v, operand_load(row[r] + i, rest), sums[r]);
    }
    vec_storeu(out + first, vec_set(a) * vec_fold(sums));
}

static void gather_dot(float *out, float a, const float *x, const void *rows,
                       const struct sl_row_list *l)
{
    const struct sl_row_list list = *l; /* the compiler cannot know that out is elsewhere */
    int j = 0;
    if (list.width < LANES)
        for (; j + LANES <= list.n; j += LANES)
            gather_dot_lanes(out, a, x, rows, &list, j, true);
    else
        for (; j + LANES <= list.n; j += LANES)
            gather_dot_lanes(out, a, x, rows, &list, j, false);
    for (; j < list.n; j++)
        out[j] = a * dot_row(x, (const operand *)rows + sl_row_offset(&list, j), list.width);
}

static inline __attribute__((always_inline)) vec load_some(const void *rows, size_t at, int n,
                                                           const enum sl_type type)
{
    return type == SL_BF16 ? vec_load_bf16((const uint16_t *)rows + at, n)
                           : vec_load((const float *)rows + at, n);
}

/* `vectors` vectors of columns from `at` on, a constant: independent sums hide the latency of
 * FMA. */
static inline __attribute__((always_inline)) void sum_columns(float *out, const float *a,
                                                              const void *rows,
                                                              const struct sl_row_list *l, int at,
                                                              const int vectors,
                                                              const enum sl_type type)
{
    const int width = l->width - at;
    vec sums[4];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
        sums[v] = vec_set(0.0f);
    for (int j = 0; j < l->n; j++) {
        const size_t row = sl_row_offset(l, j) + (size_t)at;
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            sums[v] = vec_fma(
                vec_set(a[j]),
                load_some(rows, row + (size_t)(v * LANES), vectors > 1 ? LANES : width, type),
                sums[v]);
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
        vec_store(out + at + v * LANES, width - v * LANES, sums[v]);
}

static inline __attribute__((always_inline)) void sum_rows(float *out, const float *a,
                                                           const void *rows,
                                                           const struct sl_row_list *l,
                                                           const enum sl_type type)
{
    const struct sl_row_list list = *l; /* the compiler cannot know that out is elsewhere */
    int c = 0;
    for (; c + 4 * LANES <= list.width; c += 4 * LANES)
        sum_columns(out, a, rows, &list, c, 4, type);
    for (; c + 2 * LANES <= list.width; c += 2 * LANES)
        sum_columns(out, a, rows, &list, c, 2, type);
    for (; c < list.width; c += LANES)
        sum_columns(out, a, rows, &list, c, 1, type);
}

static void gather_sum_bf16(float *out, const float *a, const void *rows,
                            const struct sl_row_list *l)
{
    sum_rows(out, a, rows, l, SL_BF16);
}

static void gather_sum(float *out, const float *a, const void *rows, const struct sl_row_list *l)
{
    sum_rows(out, a, rows, l, sizeof(operand) == sizeof(float) ? SL_F32 : SL_BF16);
}

static void scatter_axpy(float *rows, const float *a, const float *x, const struct sl_row_list *l)
{
    for (int j = 0; j < l->n; j++)
        for (int c = 0; c < l->width; c += LANES) {
            float *y = rows + sl_row_offset(l, j) + c;
            const int rest = l->width - c;
            vec_store(y, rest, vec_fma(vec_set(a[j]), vec_load(x + c, rest), vec_load(y, rest)));
        }
}

void SL_LEVEL(gather)(struct sl_kernels *t)
{
    t->gather_dot = gather_dot;
    t->gather_sum = gather_sum;
    t->gather_sum_bf16 = gather_sum_bf16;
    t->scatter_axpy = scatter_axpy;
}
