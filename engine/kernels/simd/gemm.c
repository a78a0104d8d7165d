/* gemm.c - fp32 matrix products, with the sums of a tile of y in registers.
 *
 * B is packed as the reference packs it, or compact. Every element of a product is one chain of FMA
 * in the order of k, as in the reference, whatever the tile it falls into. */
#include "base/int_math.h"
#include "kernels/simd/level.h"
#include "kernels/simd/vec.h"

enum { LINE = 16 /* floats */ };

/* Without the pragmas gcc 12 makes a memset of the loop that clears the sums, and so keeps them in
 * memory: half as fast. */
enum { PANEL_VECTORS = SL_PANEL / LANES, SUMS_MAX = VEC_TILE_ROWS * VEC_TILE_VECTORS };

/* Some rows of x times some columns of a panel. */
struct tile {
    const float *x, *panel;
    float *y;
    size_t x_stride, y_stride;
    size_t ahead; /* floats to the next panel, if it is to be fetched into the cache; else 0 */
    int k, cols;
    bool accumulate;
};

/* Floats that `columns` of one row of a panel take. */
static inline __attribute__((always_inline)) int row_floats(int columns, const bool compact)
{
    return compact ? columns / 2 : columns;
}

static size_t panel_floats(const struct sl_gemm *g)
{
    return (size_t)g->k * (size_t)row_floats(SL_PANEL, g->compact);
}

/* Columns of one row of a panel; compact, `vectors` is even. */
static inline __attribute__((always_inline)) void load_columns(vec column[PANEL_VECTORS],
                                                               const float *b, const int vectors,
                                                               const bool compact)
{
    if (compact) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v += 2) {
            const uvec words = (uvec)vec_loadu(b + v / 2 * LANES);
            column[v] = (vec)(words << 16);
            column[v + 1] = (vec)(words & 0xffff0000u);
        }
        return;
    }
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++)
        column[v] = vec_loadu(b + v * LANES);
}

/* What follows `t` is constant wherever this is inlined. */
static inline __attribute__((always_inline)) void gemm_tile(const struct tile *t, const int rows,
                                                            const int vectors, const bool compact,
                                                            const bool fetches)
{
    vec sums[SUMS_MAX], column[PANEL_VECTORS];
#pragma GCC unroll 24
    for (int s = 0; s < rows * vectors; s++)
        sums[s] = vec_set(0.0f);
    const float *b = t->panel;
    for (int i = 0; i < t->k; i++, b += row_floats(SL_PANEL, compact)) {
        load_columns(column, b, vectors, compact);
        for (int at = 0; fetches && at < row_floats(vectors * LANES, compact); at += LINE)
            __builtin_prefetch(b + t->ahead + at, 0, 2);
#pragma GCC unroll 24
        for (int s = 0; s < rows * vectors; s++) {
            const vec x = vec_set(t->x[(size_t)(s / vectors) * t->x_stride + (size_t)i]);
            sums[s] = vec_fma(x, column[s % vectors], sums[s]);
        }
    }
#pragma GCC unroll 24
    for (int s = 0; s < rows * vectors; s++) {
        const int at = s % vectors * LANES, rest = t->cols - at;
        float *y = t->y + (size_t)(s / vectors) * t->y_stride + at;
        if (rest > 0)
            vec_store(y, rest, t->accumulate ? vec_add(vec_load(y, rest), sums[s]) : sums[s]);
    }
}

/* A whole panel, as many columns at a time as leave the sums of `rows` rows in registers. */
static inline __attribute__((always_inline)) int gemm_rows(struct tile t, const int rows,
                                                           const bool compact)
{
    const int most = SUMS_MAX / rows;
    const int vectors = sl_min(most >= 8 ? 8 : most >= 4 ? 4 : most >= 2 ? 2 : 1, PANEL_VECTORS);
    for (int v = 0; v < PANEL_VECTORS && t.cols > 0; v += vectors) {
        if (t.ahead)
            gemm_tile(&t, rows, vectors, compact, true);
        else
            gemm_tile(&t, rows, vectors, compact, false);
        t.panel += row_floats(vectors * LANES, compact);
        t.y += vectors * LANES;
        t.cols -= vectors * LANES;
    }
    return rows;
}

/* As many of the remaining rows as one tile takes; returns how many. */
static inline __attribute__((always_inline)) int gemm_some_rows(const struct tile *t, int rows,
                                                                const bool compact)
{
    if (rows >= VEC_TILE_ROWS)
        return gemm_rows(*t, VEC_TILE_ROWS, compact);
    if (VEC_TILE_ROWS > 8 && rows >= 8)
        return gemm_rows(*t, 8, compact);
    if (VEC_TILE_ROWS > 4 && rows >= 4)
        return gemm_rows(*t, 4, compact);
    return rows >= 2 ? gemm_rows(*t, 2, compact) : gemm_rows(*t, 1, compact);
}

enum { ROW_SUMS = PANEL_VECTORS < 8 ? 8 : PANEL_VECTORS, ROW_PANELS = ROW_SUMS / PANEL_VECTORS };

/* One row times ROW_PANELS whole panels. The sums of a single panel are too few to keep the units
 * busy, since each FMA waits for the one before. */
static inline __attribute__((always_inline)) void gemm_one_row(const struct sl_gemm *g, int col,
                                                               const bool compact)
{
    const size_t next_panel = panel_floats(g);
    const float *x = g->x, *b = (const float *)g->packed + (size_t)(col / SL_PANEL) * next_panel;
    vec sums[ROW_SUMS], column[PANEL_VECTORS];
#pragma GCC unroll 8
    for (size_t s = 0; s < ROW_SUMS; s++)
        sums[s] = vec_set(0.0f);
    for (int i = 0; i < g->k; i++, b += row_floats(SL_PANEL, compact)) {
        const vec factor = vec_set(x[i]);
#pragma GCC unroll 8
        for (size_t p = 0; p < ROW_PANELS; p++) {
            load_columns(column, b + p * next_panel, PANEL_VECTORS, compact);
#pragma GCC unroll 8
            for (size_t v = 0; v < PANEL_VECTORS; v++)
                sums[p * PANEL_VECTORS + v] =
                    vec_fma(factor, column[v], sums[p * PANEL_VECTORS + v]);
        }
    }
    float *y = g->y + col;
#pragma GCC unroll 8
    for (size_t s = 0; s < ROW_SUMS; s++, y += LANES)
        vec_storeu(y, g->accumulate ? vec_add(vec_loadu(y), sums[s]) : sums[s]);
}

static inline __attribute__((always_inline)) void gemm_any(const struct sl_gemm *g,
                                                           const bool compact)
{
    const size_t next_panel = panel_floats(g);
    int first = 0;
    for (; g->m == 1 && first + ROW_PANELS * SL_PANEL <= g->n; first += ROW_PANELS * SL_PANEL)
        gemm_one_row(g, first, compact);
    for (int col = first; col < g->n; col += SL_PANEL)
        for (int row = 0; row < g->m;) {
            const struct tile t = {
                .x = (const float *)g->x + (size_t)row * g->x_stride,
                .panel = (const float *)g->packed + (size_t)(col / SL_PANEL) * next_panel,
                .y = g->y + (size_t)row * g->y_stride + col,
                .x_stride = g->x_stride,
                .y_stride = g->y_stride,
                .ahead = row == 0 ? next_panel : 0,
                .k = g->k,
                .cols = g->n - col,
                .accumulate = g->accumulate,
            };
            row += gemm_some_rows(&t, g->m - row, compact);
        }
}

static void gemm(const struct sl_gemm *g)
{
    if (g->compact)
        gemm_any(g, true);
    else
        gemm_any(g, false);
}

/* -- compact matrices: 32 columns in 16 words, as two vectors at a time unpack them ------------ */

static bool is_bf16(const uint32_t *x, size_t n)
{
    uint32_t lower = 0;
    for (size_t i = 0; i < n; i++)
        lower |= x[i] & 0xffffu;
    return lower == 0;
}

/* Word by word in place: a row is written no further than it was read. */
static bool compact(void *packed, int k, int n)
{
    const size_t rows = (size_t)k * (size_t)sl_ceil_div(n, SL_PANEL);
    const uint32_t *from = packed;
    uint32_t *to = packed;
    if (!is_bf16(from, rows * SL_PANEL))
        return false;
    for (size_t r = 0; r < rows; r++, from += SL_PANEL) {
        uint32_t row[SL_PANEL];
        memcpy(row, from, sizeof row);
        for (int i = 0; i < SL_PANEL / 2; i++, to++) {
            const int low = i / LANES * 2 * LANES + i % LANES;
            *to = row[low] >> 16 | row[low + LANES];
        }
    }
    return true;
}

/* The product of unpacked matrices: `rows` rows and one or two vectors of columns of y at a
 * time. */
static inline __attribute__((always_inline)) int multiply(const struct sl_small_gemm *p, int row,
                                                          int col, const int rows,
                                                          const int vectors)
{
    float *y = p->y + (size_t)row * p->y_row + col;
    const float *x = p->x + (size_t)row * p->x_row, *b = p->b + col;
    const int cols = p->n - col, k = p->k;
    const size_t x_row = p->x_row, x_col = p->x_col, b_row = p->b_row;
    vec sums[16], column[2];
#pragma GCC unroll 16
    for (int s = 0; s < rows * vectors; s++) {
        const int at = s % vectors * LANES;
        const float *from = y + (size_t)(s / vectors) * p->y_row + at;
        sums[s] = p->accumulate ? vec_load(from, cols - at) : vec_set(0.0f);
    }
    for (int i = 0; i < k; i++, x += x_col, b += b_row) {
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            column[v] = vec_load(b + v * LANES, cols - v * LANES);
#pragma GCC unroll 16
        for (int s = 0; s < rows * vectors; s++)
            sums[s] =
                vec_fma(vec_set(x[(size_t)(s / vectors) * x_row]), column[s % vectors], sums[s]);
    }
#pragma GCC unroll 16
    for (int s = 0; s < rows * vectors; s++) {
        const int at = s % vectors * LANES;
        vec_store(y + (size_t)(s / vectors) * p->y_row + at, cols - at, sums[s]);
    }
    return rows;
}

/* As many of the rows as one block takes; returns how many. */
static inline __attribute__((always_inline)) int multiply_some(const struct sl_small_gemm *p,
                                                               int row, int col, const int vectors)
{
    const int rows = p->m - row;
    if (rows >= 8 && 8 * vectors < VEC_REGISTERS * 3 / 4)
        return multiply(p, row, col, 8, vectors);
    if (rows >= 4)
        return multiply(p, row, col, 4, vectors);
    return rows >= 2 ? multiply(p, row, col, 2, vectors) : multiply(p, row, col, 1, vectors);
}

static void small_gemm(const struct sl_small_gemm *p)
{
    for (int col = 0; col < p->n; col += 2 * LANES)
        for (int row = 0; row < p->m;)
            row +=
                p->n - col > LANES ? multiply_some(p, row, col, 2) : multiply_some(p, row, col, 1);
}

void SL_LEVEL(gemm)(struct sl_kernels *t)
{
    t->gemm = gemm;
    t->compact = compact;
    t->compact_lanes = LANES;
    t->small_gemm = small_gemm;
}
