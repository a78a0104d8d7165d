/* int8_kernels.c - rows as int8, and their products, with the sums of a tile of y in registers.
 *
 * Sums are exact, so their order is free. */
#include "base/int_math.h"
#include "kernels/simd/dot4.h"
#include "kernels/simd/finish.h"
#include "kernels/simd/level.h"

#if defined __AVX512F__ && !defined SL_VEC_LANES
#include "kernels/simd/quantize_avx512.h"
#else
#include "kernels/simd/quantize.h"
#endif

/* The type is a constant in each call. */
static void quantize(int8_t *out, struct sl_int8_group *groups, const void *x, enum sl_type type,
                     int n, int group)
{
    for (int at = 0; at < n; at += group)
        if (type == SL_F32)
            quantize_group(out + at, groups++, (const float *)x + at, sl_min(group, n - at),
                           SL_F32);
        else
            quantize_group(out + at, groups++, (const uint16_t *)x + at, sl_min(group, n - at),
                           SL_BF16);
}

enum { TILE_VECTORS = 2, FEW_SUMS = 8, SUMS_MAX = DOT4_ROWS * TILE_VECTORS };

/* Some rows of x times some columns. */
struct tile {
    const struct sl_gemm *g;
    int row, col;
};

static inline sums4 load4(const void *x)
{
    sums4 v;
    memcpy(&v, x, sizeof v);
    return v;
}

/* 4 int8, again and again. */
static inline sums4 set4(const int8_t *x)
{
    int32_t all;
    memcpy(&all, x, sizeof all);
    return (sums4){0} + all;
}

/* Adds the sums of a group, scaled, to those of a tile, in pairs of vectors of columns. */
static inline __attribute__((always_inline)) void add_group(const struct tile *t, float *tile,
                                                            int group, const sums4 *sums,
                                                            const int rows, const int vectors)
{
    const struct sl_gemm *g = t->g;
    const int groups = sl_int8_groups(g->k, g->int8_group);
    const struct sl_int8_group *of_rows = g->int8_groups + t->row * groups + group;
    vec of_columns[FEW_SUMS];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++)
        of_columns[v] = vec_loadu(
            sl_int8_scales(g->packed, g->k, g->int8_group, t->col + v * LANES) + group * SL_PANEL);
#pragma GCC unroll 24
    for (int s = 0; s < rows * vectors; s++) {
        const int pair = s % vectors / 2, row = s / vectors;
        float *to = tile + ((pair * rows + row) * 2 + s % 2) * LANES;
        vec sum = __builtin_convertvector((ivec)sums[s], vec) *
                  vec_set(of_rows[row * groups].scale) * of_columns[s % vectors];
        if (group > 0)
            sum = vec_loadu(to) + sum;
        vec_storeu(to, sum);
    }
}

/* The sums of a tile become results. */
// NOLINTNEXTLINE(readability-non-const-parameter): b.sums must be writable, for other products
static inline __attribute__((always_inline)) void finish_tile(const struct tile *t, float *tile,
                                                              const int rows, const int vectors)
{
    struct sum_block b = {.sums = tile, .row = t->row, .rows = rows, .col = t->col, .scaled = true};
    for (int pair = 0; pair < vectors / 2 && b.col < t->g->n; pair++) {
        b.finished = 0;
        finish(t->g, &b, rows);
        b.sums += rows * SUM_COLUMNS;
        b.col += SUM_COLUMNS;
    }
}

/* `rows` and `vectors` are constants wherever this is inlined. Returns rows. */
static inline __attribute__((always_inline)) int multiply(const struct tile *t, const int rows,
                                                          const int vectors)
{
    const struct sl_gemm *g = t->g;
    const int8_t *x = (const int8_t *)g->x + (size_t)t->row * g->x_stride;
    const int groups = sl_int8_groups(g->k, g->int8_group);
    const char *columns[FEW_SUMS];
    float tile[SUMS_MAX * LANES] __attribute__((aligned(64)));
    sums4 sums[SUMS_MAX], w[FEW_SUMS];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++)
        columns[v] = sl_int8_column(g->packed, g->k, g->int8_group, t->col + v * LANES);
    for (int group = 0, at = 0; group < groups; group++) {
        const int wide = sl_min(g->int8_group, g->k - group * g->int8_group);
#pragma GCC unroll 24
        for (int s = 0; s < rows * vectors; s++)
            sums[s] = (sums4){0} -
                      DOT4_BIAS * g->int8_groups[(t->row + s / vectors) * groups + group].sum;
        for (int steps = sl_ceil_div(wide, SL_INT8_STEP); steps > 0; steps--) {
            for (int quad = 0; quad < SL_INT8_STEP / 4; quad++, x += 4, at += SL_INT8_STEP) {
#pragma GCC unroll 8
                for (int v = 0; v < vectors; v++)
                    w[v] = load4(columns[v] + at);
#pragma GCC unroll 24
                for (int s = 0; s < rows * vectors; s++)
                    sums[s] = dot4(sums[s], set4(x + (size_t)(s / vectors) * g->x_stride),
                                   w[s % vectors]);
            }
            at += SL_INT8_HALF; /* that of the other 16 columns */
        }
        add_group(t, tile, group, sums, rows, vectors);
    }
    finish_tile(t, tile, rows, vectors);
    return rows;
}

/* As many of the remaining rows, an even number, as one tile takes; returns how many. */
static int multiply_many(const struct tile *t, int rows)
{
    if (rows >= DOT4_ROWS)
        return multiply(t, DOT4_ROWS, TILE_VECTORS);
    if (DOT4_ROWS > 8 && rows >= 8)
        return multiply(t, 8, TILE_VECTORS);
    return rows >= 4 ? multiply(t, 4, TILE_VECTORS) : multiply(t, 2, TILE_VECTORS);
}

/* One row, or two, by as many columns as keep the units busy. */
static int multiply_few(struct tile t, int rows)
{
    const int columns = (rows == 2 ? FEW_SUMS / 2 : FEW_SUMS) * LANES;
    for (; t.col + columns <= t.g->n; t.col += columns)
        (void)(rows == 2 ? multiply(&t, 2, FEW_SUMS / 2) : multiply(&t, 1, FEW_SUMS));
    for (; t.col < t.g->n; t.col += TILE_VECTORS * LANES)
        (void)(rows == 2 ? multiply(&t, 2, TILE_VECTORS) : multiply(&t, 1, TILE_VECTORS));
    return rows;
}

static void int8_gemm(const struct sl_gemm *g)
{
    const int whole = g->m / 4 * 4;
    struct tile t = {.g = g};
    for (; t.col < g->n; t.col += TILE_VECTORS * LANES)
        for (t.row = 0; t.row < whole;)
            t.row += multiply_many(&t, whole - t.row);
    for (t.row = whole, t.col = 0; t.row < g->m;)
        t.row += multiply_few(t, g->m - t.row >= 2 ? 2 : 1);
}

void SL_LEVEL(int8)(struct sl_kernels *t)
{
    t->int8_bias = DOT4_BIAS;
    t->int8_group = SL_INT8_GROUP;
    t->quantize = quantize;
    t->int8_gemm = int8_gemm;
    t->int8_fuses_epilogue = true;
}
