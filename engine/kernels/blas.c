/* blas.c - matrix products through OpenBLAS, for processors without a table of their own.
 *
 * The only file that includes <cblas.h>. OpenBLAS does not promise row independence: its choice of
 * a kernel depends on the shape of the call. So every call here has the same number of rows (padded
 * with zeros), and columns and k are divided at the same places. OpenBLAS is limited to one thread:
 * rows are split by our own pool. */
#include "base/int_util.h"
#include "kernels/bf16.h"
#include "kernels/isa_levels.h"

#include <assert.h>
#include <cblas.h>
#include <string.h>

/* One call computes ROWS x COLS and adds K_STEP products. With more than 8 rows the Haswell kernels
 * (which Zen uses too) add in a different order for some rows, as test_kernels shows. */
enum { ROWS = 8, COLS = 128, K_STEP = 512 };

/* B^T, row by row: each column of B is k contiguous floats, in panels of SL_PANEL columns. */
static size_t pack_bytes(int k, int n)
{
    const size_t panels = (size_t)sl_ceil_div(n, SL_PANEL);
    return panels * SL_PANEL * (size_t)k * sizeof(float);
}

static float element(const void *src, enum sl_type type, size_t i)
{
    return type == SL_F32 ? ((const float *)src)[i] : sl_bf16_to_f32(((const uint16_t *)src)[i]);
}

static void pack(void *packed, const void *src, enum sl_type type, size_t stride, bool transposed,
                 int k, int n, int n_first, int n_last)
{
    assert(n_first % SL_PANEL == 0);
    assert(n_last % SL_PANEL == 0 || n_last == n);
    const size_t across = transposed ? stride : 1, along = transposed ? 1 : stride;
    const int padded = sl_ceil_div(n_last, SL_PANEL) * SL_PANEL;
    for (int j = n_first; j < padded; j++) {
        float *column = (float *)packed + (size_t)j * (size_t)k;
        for (int i = 0; i < k; i++)
            column[i] =
                j < n_last ? element(src, type, (size_t)j * across + (size_t)i * along) : 0.0f;
    }
}

/* y (ROWS x COLS) = the product of `rows` rows of x with `cols` columns of B. */
static void gemm_block(const struct sl_gemm *g, int row, int rows, int col, int cols, float *y)
{
    float filled[ROWS * K_STEP];
    for (int first = 0; first < g->k; first += K_STEP) {
        const int step = g->k - first < K_STEP ? g->k - first : K_STEP;
        const float *x = (const float *)g->x + (size_t)row * g->x_stride + first;
        const float *b = (const float *)g->packed + (size_t)col * (size_t)g->k + first;
        int x_stride = (int)g->x_stride;
        if (rows < ROWS) {
            for (int r = 0; r < ROWS; r++)
                if (r < rows)
                    memcpy(filled + r * K_STEP, x + (size_t)r * g->x_stride,
                           (size_t)step * sizeof *x);
                else
                    memset(filled + r * K_STEP, 0, (size_t)step * sizeof *x);
            x = filled;
            x_stride = K_STEP;
        }
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, ROWS, cols, step, 1.0f, x, x_stride, b,
                    g->k, first ? 1.0f : 0.0f, y, COLS);
    }
}

static void write_row(float *y, const float *sums, int cols, bool accumulate)
{
    for (int c = 0; c < cols; c++)
        y[c] = accumulate ? y[c] + sums[c] : sums[c];
}

static void gemm(const struct sl_gemm *g)
{
    assert(g->k > 0);
    float y[ROWS * COLS];
    const int padded = sl_ceil_div(g->n, SL_PANEL) * SL_PANEL;
    for (int col = 0; col < g->n; col += COLS) {
        const int width = padded - col < COLS ? padded - col : COLS;
        const int cols = sl_min(g->n - col, width);
        for (int row = 0; row < g->m; row += ROWS) {
            const int rows = g->m - row < ROWS ? g->m - row : ROWS;
            gemm_block(g, row, rows, col, width, y);
            for (int r = 0; r < rows; r++)
                write_row(g->y + (size_t)(row + r) * g->y_stride + col, y + r * COLS, cols,
                          g->accumulate);
        }
    }
}

void sl_kernels_blas(struct sl_kernels *t)
{
    openblas_set_num_threads(1);
    t->pack_bytes = pack_bytes;
    t->pack = pack;
    t->gemm = gemm;
}
