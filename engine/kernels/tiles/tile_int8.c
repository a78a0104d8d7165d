/* tile_int8.c - int8 matrix products in tiles, as those of bf16: 32 rows of x by one panel at a
 * time, 16 or fewer by two. Only AMX has them; the other level keeps the products of AVX-512. */
#include "kernels/int8.h"
#include "kernels/simd/level.h"
#include "kernels/tiles/tiles.h"

#ifdef __AMX_INT8__

/* 17 to 32 rows of x by one panel. */
static void multiply_square(const struct sl_int8_gemm *g, const int8_t *x, const int8_t *panel)
{
    const int8_t *below = x + TILE_ROWS * g->x_stride;
    sl_tiles_zero();
    for (int i = 0; i < g->k; i += SL_INT8_STEP, panel += 2 * SL_INT8_HALF) {
        _tile_loadd(6, panel, TILE_BYTES);
        _tile_loadd(4, x + i, g->x_stride);
        _tile_dpbssd(0, 4, 6);
        _tile_loadd(7, panel + SL_INT8_HALF, TILE_BYTES);
        _tile_dpbssd(1, 4, 7);
        _tile_loadd(5, below + i, g->x_stride);
        _tile_dpbssd(2, 5, 6);
        _tile_dpbssd(3, 5, 7);
    }
}

/* Up to 16 rows of x by two panels. */
static void multiply_flat(const struct sl_int8_gemm *g, const int8_t *x, const int8_t *left,
                          const int8_t *right)
{
    sl_tiles_zero();
    for (int i = 0; i < g->k; i += SL_INT8_STEP) {
        _tile_loadd(4, x + i, g->x_stride);
        _tile_loadd(6, left, TILE_BYTES);
        _tile_dpbssd(0, 4, 6);
        _tile_loadd(7, left + SL_INT8_HALF, TILE_BYTES);
        _tile_dpbssd(1, 4, 7);
        _tile_loadd(6, right, TILE_BYTES);
        _tile_dpbssd(2, 4, 6);
        _tile_loadd(7, right + SL_INT8_HALF, TILE_BYTES);
        _tile_dpbssd(3, 4, 7);
        left += 2 * SL_INT8_HALF;
        right += 2 * SL_INT8_HALF;
    }
}

/* Finished sums of some rows and one panel, int32 in memory of floats, to y. */
static void write_sums(const struct sl_int8_gemm *g, int row, int rows, int col, const float *sums)
{
    const float *scales = sl_int8_scales(g->packed, g->k, col);
    const __m512 left = _mm512_loadu_ps(scales), right = _mm512_loadu_ps(scales + 16);
    const __mmask16 first = vec_mask(g->n - col), second = vec_mask(g->n - col - 16);
    for (int r = row; r < row + rows; r++, sums += SL_PANEL) {
        float *y = g->y + (size_t)r * g->y_stride + col;
        const __m512 scale = _mm512_set1_ps(g->rows[r].scale);
        const __m512 a = _mm512_cvtepi32_ps(_mm512_load_si512(sums)) * left * scale;
        const __m512 b = _mm512_cvtepi32_ps(_mm512_load_si512(sums + 16)) * right * scale;
        _mm512_mask_storeu_ps(y, first, a);
        if (second)
            _mm512_mask_storeu_ps(y + 16, second, b);
    }
}

static const int8_t *panel_at(const struct sl_int8_gemm *g, int col)
{
    return (const int8_t *)sl_int8_column(g->packed, g->k, col);
}

static void square(const struct sl_int8_gemm *g, int row, int rows, int col)
{
    float sums[2 * TILE_ROWS * SL_PANEL] __attribute__((aligned(64)));
    multiply_square(g, g->x + (size_t)row * g->x_stride, panel_at(g, col));
    sl_tiles_store(sums, 16, TILE_ROWS * SL_PANEL, SL_PANEL * sizeof *sums);
    sl_tiles_fence();
    write_sums(g, row, rows, col, sums);
}

/* A single last panel is computed twice and written once. */
static void flat(const struct sl_int8_gemm *g, int row, int rows, int col)
{
    const int next = col + SL_PANEL < g->n ? col + SL_PANEL : col;
    float sums[2][TILE_ROWS * SL_PANEL] __attribute__((aligned(64)));
    multiply_flat(g, g->x + (size_t)row * g->x_stride, panel_at(g, col), panel_at(g, next));
    sl_tiles_store(sums[0], 16, TILE_ROWS * SL_PANEL, SL_PANEL * sizeof(float));
    sl_tiles_fence();
    write_sums(g, row, rows, col, sums[0]);
    if (next > col)
        write_sums(g, row, rows, next, sums[1]);
}

static void gemm(const struct sl_int8_gemm *g)
{
    const int whole = g->m / 32 * 32, rest = g->m - whole;
    if (whole)
        sl_tiles_configure(TILE_ROWS, TILE_ROWS);
    for (int col = 0; whole && col < g->n; col += SL_PANEL)
        for (int row = 0; row < whole; row += 32)
            square(g, row, 32, col);
    if (rest > TILE_ROWS)
        sl_tiles_configure(TILE_ROWS, rest - TILE_ROWS);
    else if (rest)
        sl_tiles_configure(rest, rest);
    for (int col = 0; rest > TILE_ROWS && col < g->n; col += SL_PANEL)
        square(g, whole, rest, col);
    for (int col = 0; rest && rest <= TILE_ROWS && col < g->n; col += 2 * SL_PANEL)
        flat(g, whole, rest, col);
    sl_tiles_release();
}
#endif

void SL_LEVEL(int8)(struct sl_kernels *t)
{
#ifdef __AMX_INT8__
    t->int8_gemm = gemm;
#else
    (void)t;
#endif
}
