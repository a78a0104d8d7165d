/* amx_gemm.c - bf16 matrix products in tiles.
 *
 * Tiles 0 to 3 hold sums. 32 rows of x at a time are multiplied by one panel of B as 2 x 2 tiles;
 * 16 rows or fewer by two panels as 1 x 4, so that four independent sums are always in flight (a
 * TDPBF16PS takes 16 cycles to issue and 52 to finish). Both add products in the order of k. Tiles
 * are configured to the rows that exist, so no others are computed. */
#include "base/int_math.h"
#include "kernels/amx.h"
#include "kernels/amx_tiles.h"

#include <assert.h>

/* Rows of x multiplied by one panel before the next: they and two panels fit into L2. */
enum { ROWS_MAX = 256 };

/* A strip of rows of x that is multiplied by all of B. */
struct strip {
    const uint16_t *x;
    float *y;
    int rows, row_bytes; /* of x, from one row to the next */
    int steps;           /* TILE_K products each */
};

static void configure(int rows_above, int rows_below)
{
    struct sl_tile_config c = {.palette = 1};
    const int pattern[8] = {rows_above, rows_above, rows_below, rows_below,
                            rows_above, rows_below, TILE_PAIRS, TILE_PAIRS};
    for (int t = 0; t < 8; t++) {
        c.rows[t] = (uint8_t)pattern[t];
        c.row_bytes[t] = TILE_BYTES;
    }
    sl_tiles_configure(&c);
}

/* Sums of 16 rows at most: tiles 0 .. 3, x in tile 4, B in tiles 5 .. 7. */
static void configure_flat(int rows)
{
    struct sl_tile_config c = {.palette = 1};
    for (int t = 0; t < 8; t++) {
        c.rows[t] = (uint8_t)(t < 5 ? rows : TILE_PAIRS);
        c.row_bytes[t] = TILE_BYTES;
    }
    sl_tiles_configure(&c);
}

/* Stores finished sums (16 or 32 wide, SL_PANEL apart) to y. */
static void write_sums(const struct sl_gemm *g, float *y, const float *sums, int rows, int cols)
{
    const __mmask16 left = vec_mask(cols), right = vec_mask(cols - 16);
    for (int r = 0; r < rows; r++, y += g->y_stride, sums += SL_PANEL) {
        __m512 a = _mm512_load_ps(sums), b = _mm512_load_ps(sums + 16);
        if (g->accumulate) {
            a = _mm512_add_ps(_mm512_maskz_loadu_ps(left, y), a);
            b = right ? _mm512_add_ps(_mm512_maskz_loadu_ps(right, y + 16), b) : b;
        }
        _mm512_mask_storeu_ps(y, left, a);
        if (right)
            _mm512_mask_storeu_ps(y + 16, right, b);
    }
}

/* Prefetches the tiles of B two steps ahead. Past the last panel this is useless but harmless. */
static void fetch_ahead(const uint16_t *panel)
{
    enum { STEP = 2 * 512, LINE = 32 };

    for (int i = 0; i < STEP; i += LINE)
        _mm_prefetch((const char *)(panel + 2 * STEP + i), _MM_HINT_T1);
}

/* Tiles 0 .. 3 = 17 to 32 rows of x times one panel. */
static void multiply_square(const struct strip *s, const uint16_t *x, const uint16_t *panel,
                            bool is_far)
{
    const uint16_t *below = x + (size_t)TILE_ROWS * (size_t)s->row_bytes / sizeof *x;
    const size_t stride = (size_t)s->row_bytes;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int i = 0; i < s->steps; i++, x += TILE_K, below += TILE_K, panel += 2 * 512) {
        if (is_far)
            fetch_ahead(panel);
        _tile_loadd(6, panel, TILE_BYTES);
        _tile_loadd(4, x, stride);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, panel + 512, TILE_BYTES);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(5, below, stride);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
}

static void square(const struct sl_gemm *g, const struct strip *s, int row, const uint16_t *panel,
                   int col)
{
    const int rows = s->rows - row < 32 ? s->rows - row : 32;
    const int cols = g->n - col < SL_PANEL ? g->n - col : SL_PANEL;
    float *y = s->y + (size_t)row * g->y_stride + col;
    multiply_square(s, s->x + (size_t)row * (size_t)s->row_bytes / sizeof *s->x, panel,
                    g->is_far && row == 0);
    float sums[32 * SL_PANEL] __attribute__((aligned(64)));
    const bool direct = !g->accumulate && cols == SL_PANEL;
    float *to = direct ? y : sums;
    const size_t floats = direct ? g->y_stride : SL_PANEL, stride = floats * sizeof *y;
    _tile_stored(0, to, stride);
    _tile_stored(1, to + 16, stride);
    _tile_stored(2, to + 16 * floats, stride);
    _tile_stored(3, to + 16 * floats + 16, stride);
    sl_tiles_fence();
    if (!direct)
        write_sums(g, y, sums, rows, cols);
}

/* Tiles 0 .. 3 = up to 16 rows of x times two panels. */
static void multiply_flat(const struct strip *s, const uint16_t *left, const uint16_t *right)
{
    const uint16_t *x = s->x;
    const size_t stride = (size_t)s->row_bytes;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int i = 0; i < s->steps; i++, x += TILE_K, left += 2 * 512, right += 2 * 512) {
        _tile_loadd(4, x, stride);
        _tile_loadd(5, left, TILE_BYTES);
        _tile_dpbf16ps(0, 4, 5);
        _tile_loadd(6, left + 512, TILE_BYTES);
        _tile_dpbf16ps(1, 4, 6);
        _tile_loadd(7, right, TILE_BYTES);
        _tile_dpbf16ps(2, 4, 7);
        _tile_loadd(5, right + 512, TILE_BYTES);
        _tile_dpbf16ps(3, 4, 5);
    }
}

/* A single last panel is computed twice and written once. */
static void flat(const struct sl_gemm *g, const struct strip *s, const uint16_t *panel, int col,
                 size_t panel_elements)
{
    const int cols = g->n - col;
    multiply_flat(s, panel, cols > SL_PANEL ? panel + panel_elements : panel);
    float sums[2][TILE_ROWS * SL_PANEL] __attribute__((aligned(64)));
    _tile_stored(0, sums[0], SL_PANEL * sizeof(float));
    _tile_stored(1, sums[0] + 16, SL_PANEL * sizeof(float));
    _tile_stored(2, sums[1], SL_PANEL * sizeof(float));
    _tile_stored(3, sums[1] + 16, SL_PANEL * sizeof(float));
    sl_tiles_fence();
    write_sums(g, s->y + col, sums[0], s->rows, cols);
    if (cols > SL_PANEL)
        write_sums(g, s->y + col + SL_PANEL, sums[1], s->rows, cols - SL_PANEL);
}

/* All columns of the rows that the tiles are configured for. */
static void run_strip(const struct sl_gemm *g, const struct strip *s)
{
    const size_t panel_elements = (size_t)s->steps * TILE_K * SL_PANEL;
    const uint16_t *packed = g->packed;
    const int width = s->rows > TILE_ROWS ? SL_PANEL : 2 * SL_PANEL;
    for (int col = 0; col < g->n; col += width) {
        const uint16_t *panel = packed + (size_t)(col / SL_PANEL) * panel_elements;
        if (width == 2 * SL_PANEL) {
            flat(g, s, panel, col, panel_elements);
            continue;
        }
        for (int row = 0; row < s->rows; row += 32)
            square(g, s, row, panel, col);
    }
}

static struct strip strip_at(const struct sl_gemm *g, int row, int rows)
{
    return (struct strip){
        .x = (const uint16_t *)g->x + (size_t)row * g->x_stride,
        .y = g->y + (size_t)row * g->y_stride,
        .rows = rows,
        .row_bytes = (int)(g->x_stride * sizeof(uint16_t)),
        .steps = sl_ceil_div(g->k, TILE_K),
    };
}

void sl_amx_gemm(const struct sl_gemm *g)
{
    const int whole = g->m / 32 * 32, rest = g->m - whole;
    if (whole)
        configure(TILE_ROWS, TILE_ROWS);
    for (int row = 0; row < whole; row += ROWS_MAX) {
        const int rows = whole - row < ROWS_MAX ? whole - row : ROWS_MAX;
        const struct strip s = strip_at(g, row, rows);
        run_strip(g, &s);
    }
    if (rest > TILE_ROWS)
        configure(TILE_ROWS, rest - TILE_ROWS);
    else if (rest)
        configure_flat(rest);
    if (rest) {
        const struct strip s = strip_at(g, whole, rest);
        run_strip(g, &s);
    }
    _tile_release();
}
