/* avx2.c - fp32 matrix products, 8 floats at a time.
 *
 * B is packed as the reference packs it. Every element of a product is one chain of FMA in the
 * order of k, as in the reference, whatever the block it falls into. */
#include "kernels/avx2_math.h"
#include "kernels/bf16.h"
#include "kernels/gemm_panels.h"
#include "kernels/isa_levels.h"

#include <assert.h>
#include <string.h>

enum { LANES = 8, PANEL_VECTORS = SL_PANEL / LANES };

/* Sums kept in registers: 6 rows of half a panel, or 2 rows of a whole one. That leaves 4 of the 16
 * registers for x and B. */
enum { SUMS_MAX = 12 };

/* Stores finished sums, `width` per row. */
static void write_sums(const struct sl_gemm_tile *t, int rows, int width, const float *sums)
{
    for (int r = 0; r < rows; r++, sums += width)
        for (int c = 0; c < width && c < t->cols; c += LANES) {
            float *y = t->y + (size_t)r * t->y_stride + c;
            const int n = t->cols - c;
            const __m256 sum = _mm256_loadu_ps(sums + c);
            sl_store8(y, n, t->accumulate ? _mm256_add_ps(sl_load8(y, n), sum) : sum);
        }
}

/* `rows` and `vectors` are constants wherever this is inlined. Without the pragmas gcc 12 makes the
 * first loop a memset, and so keeps the sums in memory: half as fast. */
static inline __attribute__((always_inline)) void gemm_tile(const struct sl_gemm_tile *t,
                                                            const int rows, const int vectors)
{
    __m256 sums[SUMS_MAX], column[PANEL_VECTORS];
#pragma GCC unroll 12
    for (int s = 0; s < rows * vectors; s++)
        sums[s] = _mm256_setzero_ps();
    const float *b = t->panel;
    for (int i = 0; i < t->k; i++, b += SL_PANEL) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            column[v] = _mm256_loadu_ps(b + v * LANES);
#pragma GCC unroll 12
        for (int s = 0; s < rows * vectors; s++) {
            const size_t row = (size_t)(s / vectors) * t->x_stride;
            const __m256 x = _mm256_broadcast_ss(t->x + row + i);
            sums[s] = _mm256_fmadd_ps(x, column[s % vectors], sums[s]);
        }
    }
    float finished[SUMS_MAX * LANES];
#pragma GCC unroll 12
    for (int s = 0; s < rows * vectors; s++)
        _mm256_storeu_ps(finished + s * LANES, sums[s]);
    write_sums(t, rows, vectors * LANES, finished);
}

/* Both halves of a panel, one after the other. */
static inline __attribute__((always_inline)) void gemm_tile_halves(struct sl_gemm_tile t,
                                                                   const int rows)
{
    const int half = PANEL_VECTORS / 2;
    gemm_tile(&t, rows, half);
    t.panel += half * LANES;
    t.y += half * LANES;
    t.cols -= half * LANES;
    if (t.cols > 0)
        gemm_tile(&t, rows, half);
}

/* As many of the rows as one block takes; returns how many. Few rows take whole panels, since with
 * fewer than 8 sums under way each FMA waits for the one before. */
static int gemm_some_rows(const struct sl_gemm_tile *t, int rows)
{
    if (rows >= 6) {
        gemm_tile_halves(*t, 6);
        return 6;
    }
    if (rows >= 4) {
        gemm_tile_halves(*t, 4);
        return 4;
    }
    if (rows >= 2) {
        gemm_tile(t, 2, PANEL_VECTORS);
        return 2;
    }
    gemm_tile(t, 1, PANEL_VECTORS);
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
    float *y = p->y + (size_t)row * p->y_row + col;
    const float *x = p->x + (size_t)row * p->x_row, *b = p->b + col;
    const int cols = p->n - col, k = p->k;
    const size_t x_row = p->x_row, x_col = p->x_col, b_row = p->b_row;
    __m256 sums[8], column[2];
#pragma GCC unroll 8
    for (int s = 0; s < rows * vectors; s++) {
        const int at = s % vectors * LANES;
        const float *from = y + (size_t)(s / vectors) * p->y_row + at;
        sums[s] = p->accumulate ? sl_load8(from, cols - at) : _mm256_setzero_ps();
    }
    for (int i = 0; i < k; i++, x += x_col, b += b_row) {
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            column[v] = sl_load8(b + v * LANES, cols - v * LANES);
#pragma GCC unroll 8
        for (int s = 0; s < rows * vectors; s++) {
            const __m256 factor = _mm256_broadcast_ss(x + (size_t)(s / vectors) * x_row);
            sums[s] = _mm256_fmadd_ps(factor, column[s % vectors], sums[s]);
        }
    }
#pragma GCC unroll 8
    for (int s = 0; s < rows * vectors; s++) {
        const int at = s % vectors * LANES;
        sl_store8(y + (size_t)(s / vectors) * p->y_row + at, cols - at, sums[s]);
    }
}

/* As many of the rows as one block takes; returns how many. */
static inline __attribute__((always_inline)) int multiply_some(const struct sl_small_gemm *p,
                                                               int row, int col, const int vectors)
{
    if (vectors == 1 && p->m - row >= 8) {
        multiply(p, row, col, 8, 1);
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

/* -------------------------------------------------------------------- transposes and packing */

/* An 8 x 8 transpose: swaps within pairs of rows, then pairs of pairs, then halves. */
static void transpose_8_by_8(float *out, size_t out_stride, const float *x, size_t x_stride)
{
    __m256 pairs[8], quads[8];
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++) {
        const __m256 even = _mm256_loadu_ps(x + 2 * i * x_stride);
        const __m256 odd = _mm256_loadu_ps(x + (2 * i + 1) * x_stride);
        pairs[2 * i] = _mm256_unpacklo_ps(even, odd);
        pairs[2 * i + 1] = _mm256_unpackhi_ps(even, odd);
    }
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++) {
        const __m256 left = pairs[i / 2 * 4 + i % 2], right = pairs[i / 2 * 4 + i % 2 + 2];
        quads[i / 2 * 4 + i % 2 * 2] = _mm256_shuffle_ps(left, right, 0x44);
        quads[i / 2 * 4 + i % 2 * 2 + 1] = _mm256_shuffle_ps(left, right, 0xEE);
    }
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++) {
        _mm256_storeu_ps(out + i * out_stride,
                         _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x20));
        _mm256_storeu_ps(out + (i + 4) * out_stride,
                         _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x31));
    }
}

static void transpose(void *out, size_t out_stride, const void *x, size_t x_stride, int rows,
                      int cols, bool pad)
{
    (void)pad;
    const size_t whole_rows = (size_t)rows / LANES * LANES,
                 whole_cols = (size_t)cols / LANES * LANES;
    const float *from = x;
    float *to = out;
    for (size_t c = 0; c < whole_cols; c += LANES)
        for (size_t r = 0; r < whole_rows; r += LANES)
            transpose_8_by_8(to + c * out_stride + r, out_stride, from + r * x_stride + c,
                             x_stride);
    for (size_t c = 0; c < (size_t)cols; c++)
        for (size_t r = c < whole_cols ? whole_rows : 0; r < (size_t)rows; r++)
            to[c * out_stride + r] = from[r * x_stride + c];
}

/* Packs a panel from rows of B, of which `cols` columns exist. */
static void pack_rows(float *panel, const float *src, size_t stride, int k, int cols)
{
    for (int i = 0; i < k; i++, panel += SL_PANEL, src += stride)
        for (int c = 0; c < SL_PANEL; c += LANES) {
            const __m256 row = c < cols ? sl_load8(src + c, cols - c) : _mm256_setzero_ps();
            _mm256_storeu_ps(panel + c, row);
        }
}

/* One column of a panel from one of B, whose elements are `step` apart. */
static void pack_column(float *panel, const void *src, enum sl_type type, size_t step, int k)
{
    const uint16_t *half = src;
    const float *whole = src;
    for (size_t i = 0; i < (size_t)k; i++)
        panel[i * SL_PANEL] = type == SL_F32 ? whole[i * step] : sl_bf16_to_f32(half[i * step]);
}

static void pack(void *packed, const void *src, enum sl_type type, size_t stride, bool transposed,
                 int k, int n, int n_first, int n_last)
{
    assert(n_first % SL_PANEL == 0);
    assert(n_last % SL_PANEL == 0 || n_last == n);
    const size_t across = transposed ? stride : 1, along = transposed ? 1 : stride;
    for (int col = n_first; col < n_last; col += SL_PANEL) {
        float *panel = (float *)packed + (size_t)col * (size_t)k;
        const int cols = n_last - col < SL_PANEL ? n_last - col : SL_PANEL;
        if (type == SL_F32 && !transposed) {
            pack_rows(panel, (const float *)src + col, stride, k, cols);
            continue;
        }
        if (cols < SL_PANEL)
            memset(panel, 0, (size_t)k * SL_PANEL * sizeof *panel);
        for (int j = 0; j < cols; j++) {
            const size_t offset = (size_t)(col + j) * across * sl_type_bytes(type);
            pack_column(panel + j, (const char *)src + offset, type, along, k);
        }
    }
}

void sl_kernels_avx2(struct sl_kernels *t)
{
    sl_avx2_rows(t);
    sl_avx2_gather(t);
    t->pack = pack;
    t->gemm = gemm;
    t->small_gemm = small_gemm;
    t->transpose = transpose;
}
