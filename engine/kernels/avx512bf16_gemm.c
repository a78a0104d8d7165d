/* avx512bf16_gemm.c - bf16 matrix products with VDPBF16PS, with the sums of a tile of y in
 * registers.
 *
 * B is packed as tiles need it (avx512bf16_pack.c): a vector is a pair of rows of 16 columns. Each
 * element is one chain of such instructions in the order of k, whatever the tile it falls into. */
#include "kernels/avx512bf16.h"

enum { SUMS_MAX = 24, PANEL_VECTORS = 2 };

/* Some rows of x times one panel. */
struct tile {
    const uint16_t *x, *panel;
    float *y;
    size_t x_stride, y_stride;
    int steps, cols;
    bool accumulate;
};

/* `rows` is a constant wherever this is inlined. */
static inline __attribute__((always_inline)) int multiply(const struct tile *t, const int rows)
{
    __m512 sums[SUMS_MAX];
#pragma GCC unroll 24
    for (int s = 0; s < rows * PANEL_VECTORS; s++)
        sums[s] = _mm512_setzero_ps();
    const uint16_t *b = t->panel, *x = t->x;
    for (int step = 0; step < t->steps; step++, b += TILE_PAIRS * TILE_K)
        for (int pair = 0; pair < TILE_PAIRS; pair++, b += TILE_K, x += 2) {
            const __m512bh left = (__m512bh)_mm512_loadu_si512(b);
            const __m512bh right = (__m512bh)_mm512_loadu_si512(b + TILE_PAIRS * TILE_K);
#pragma GCC unroll 12
            for (int r = 0; r < rows; r++) {
                int32_t both;
                memcpy(&both, x + (size_t)r * t->x_stride, sizeof both);
                const __m512bh factor = (__m512bh)_mm512_set1_epi32(both);
                sums[2 * r] = _mm512_dpbf16_ps(sums[2 * r], factor, left);
                sums[2 * r + 1] = _mm512_dpbf16_ps(sums[2 * r + 1], factor, right);
            }
        }
#pragma GCC unroll 24
    for (int s = 0; s < rows * PANEL_VECTORS; s++) {
        const int at = s % PANEL_VECTORS * LANES, rest = t->cols - at;
        float *y = t->y + (size_t)(s / PANEL_VECTORS) * t->y_stride + at;
        if (rest > 0)
            vec_store(y, rest, t->accumulate ? vec_add(vec_load(y, rest), sums[s]) : sums[s]);
    }
    return rows;
}

/* As many of the remaining rows as one tile takes; returns how many. */
static int multiply_some(const struct tile *t, int rows)
{
    if (rows >= 12)
        return multiply(t, 12);
    if (rows >= 8)
        return multiply(t, 8);
    if (rows >= 4)
        return multiply(t, 4);
    return rows >= 2 ? multiply(t, 2) : multiply(t, 1);
}

void sl_bf16_gemm(const struct sl_gemm *g)
{
    const size_t steps = (size_t)sl_ceil_div(g->k, TILE_K);
    for (int col = 0; col < g->n; col += SL_PANEL)
        for (int row = 0; row < g->m;) {
            const struct tile t = {
                .x = (const uint16_t *)g->x + (size_t)row * g->x_stride,
                .panel = (const uint16_t *)g->packed + (size_t)col * steps * TILE_K,
                .y = g->y + (size_t)row * g->y_stride + col,
                .x_stride = g->x_stride,
                .y_stride = g->y_stride,
                .steps = (int)steps,
                .cols = g->n - col,
                .accumulate = g->accumulate,
            };
            row += multiply_some(&t, g->m - row);
        }
}
