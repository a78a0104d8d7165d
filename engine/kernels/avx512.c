/* avx512.c - fp32 matrix products, 16 floats at a time, and the AVX-512 table.
 *
 * B is packed as the reference packs it. Every element of a product is one chain of FMA in the
 * order of k, as in the reference, whatever the block it falls into. */
#include "kernels/avx512_math.h"
#include "kernels/gemm_panels.h"
#include "kernels/isa_levels.h"

#include <assert.h>

enum { LANES = 16 };

/* Rows of x times one panel, sums in registers: 12 rows x 2 vectors fill 24 of the 32. */
enum { ROWS_MAX = 12 };

static inline __attribute__((always_inline)) void write_row(const struct sl_gemm_tile *t, int r,
                                                            __m512 left, __m512 right)
{
    float *y = t->y + (size_t)r * t->y_stride;
    const __mmask16 a = sl_first16(t->cols), b = sl_first16(t->cols - LANES);
    if (t->accumulate) {
        left = _mm512_add_ps(_mm512_maskz_loadu_ps(a, y), left);
        right = b ? _mm512_add_ps(_mm512_maskz_loadu_ps(b, y + LANES), right) : right;
    }
    _mm512_mask_storeu_ps(y, a, left);
    if (b)
        _mm512_mask_storeu_ps(y + LANES, b, right);
}

/* `rows` is a constant wherever this is inlined, so the sums live in registers; without the pragmas
 * gcc 12 makes the first loop a memset and keeps them in memory. */
static inline __attribute__((always_inline)) void gemm_tile(const struct sl_gemm_tile *t,
                                                            const int rows)
{
    __m512 left[ROWS_MAX], right[ROWS_MAX];
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++)
        left[r] = right[r] = _mm512_setzero_ps();
    const float *b = t->panel;
    for (int i = 0; i < t->k; i++, b += SL_PANEL) {
        const __m512 b_left = _mm512_loadu_ps(b), b_right = _mm512_loadu_ps(b + LANES);
#pragma GCC unroll 12
        for (int r = 0; r < rows; r++) {
            const __m512 x = _mm512_set1_ps(t->x[(size_t)r * t->x_stride + (size_t)i]);
            left[r] = _mm512_fmadd_ps(x, b_left, left[r]);
            right[r] = _mm512_fmadd_ps(x, b_right, right[r]);
        }
    }
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++)
        write_row(t, r, left[r], right[r]);
}

/* As many of the rows as one block takes; returns how many. */
static int gemm_some_rows(const struct sl_gemm_tile *t, int rows)
{
    if (rows >= 12) {
        gemm_tile(t, 12);
        return 12;
    }
    if (rows >= 8) {
        gemm_tile(t, 8);
        return 8;
    }
    if (rows >= 4) {
        gemm_tile(t, 4);
        return 4;
    }
    if (rows >= 2) {
        gemm_tile(t, 2);
        return 2;
    }
    gemm_tile(t, 1);
    return 1;
}

static void gemm(const struct sl_gemm *g)
{
    sl_gemm_panels(g, gemm_some_rows);
}

/* The product of unpacked matrices: `rows` rows and one or two vectors of columns of y at a
 * time. */
static inline __attribute__((always_inline)) void multiply(const struct sl_small_gemm *p, int row,
                                                           int col, const int rows,
                                                           const int vectors)
{
    const __mmask16 masks[2] = {sl_first16(p->n - col), sl_first16(p->n - col - LANES)};
    float *y = p->y + (size_t)row * p->y_row + col;
    const float *x = p->x + (size_t)row * p->x_row, *b = p->b + col;
    __m512 sums[16], column[2];
#pragma GCC unroll 16
    for (int s = 0; s < rows * vectors; s++) {
        const float *from = y + (size_t)(s / vectors) * p->y_row + s % vectors * LANES;
        sums[s] =
            p->accumulate ? _mm512_maskz_loadu_ps(masks[s % vectors], from) : _mm512_setzero_ps();
    }
    for (int i = 0; i < p->k; i++, x += p->x_col, b += p->b_row) {
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            column[v] = _mm512_maskz_loadu_ps(masks[v], b + v * LANES);
#pragma GCC unroll 16
        for (int s = 0; s < rows * vectors; s++) {
            const __m512 factor = _mm512_set1_ps(x[(size_t)(s / vectors) * p->x_row]);
            sums[s] = _mm512_fmadd_ps(factor, column[s % vectors], sums[s]);
        }
    }
#pragma GCC unroll 16
    for (int s = 0; s < rows * vectors; s++)
        _mm512_mask_storeu_ps(y + (size_t)(s / vectors) * p->y_row + s % vectors * LANES,
                              masks[s % vectors], sums[s]);
}

/* As many of the rows as one block takes; returns how many. */
static inline __attribute__((always_inline)) int multiply_some(const struct sl_small_gemm *p,
                                                               int row, int col, const int vectors)
{
    if (p->m - row >= 8) {
        multiply(p, row, col, 8, vectors);
        return 8;
    }
    if (p->m - row >= 4) {
        multiply(p, row, col, 4, vectors);
        return 4;
    }
    if (p->m - row >= 2) {
        multiply(p, row, col, 2, vectors);
        return 2;
    }
    multiply(p, row, col, 1, vectors);
    return 1;
}

static void small_gemm(const struct sl_small_gemm *p)
{
    for (int col = 0; col < p->n; col += 2 * LANES)
        for (int row = 0; row < p->m;)
            row +=
                p->n - col > LANES ? multiply_some(p, row, col, 2) : multiply_some(p, row, col, 1);
}

void sl_kernels_avx512(struct sl_kernels *t)
{
    sl_avx512_rows(t);
    sl_avx512_gather(t);
    t->gemm = gemm;
    t->small_gemm = small_gemm;
}
