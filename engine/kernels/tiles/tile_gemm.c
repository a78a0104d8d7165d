/* tile_gemm.c - bf16 matrix products in tiles.
 *
 * Tiles 0 to 3 hold sums. 32 rows of x at a time are multiplied by one panel of B as 2 x 2 tiles;
 * 16 rows or fewer by two panels as 1 x 4, so that four independent sums are always in flight (a
 * TDPBF16PS takes 16 cycles to issue and 52 to finish). Both add products in the order of k. Tiles
 * are configured to the rows that exist, so no others are computed. */
#include "kernels/simd/level.h"
#include "kernels/tiles/tiles.h"

/* Rows of x multiplied by one panel before the next: they and two panels fit into L2. */
enum { ROWS_MAX = 256 };

/* A strip of rows of x that is multiplied by all of B. */
struct strip {
    const uint16_t *x;
    float *y;
    int rows, row_bytes; /* of x, from one row to the next */
    int steps;           /* TILE_K products each */
};

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
    enum { STEP = 2 * TILE_ELEMENTS, LINE = 32 };

    for (int i = 0; i < STEP; i += LINE)
        _mm_prefetch((const char *)(panel + 2 * STEP + i), _MM_HINT_T1);
}

static struct sl_tile_pair panel_step(const uint16_t *tiles)
{
    return (struct sl_tile_pair){tiles, tiles + TILE_ELEMENTS, TILE_BYTES};
}

/* Tiles 0 .. 3 = 17 to 32 rows of x times one panel. */
static void multiply_square(const struct strip *s, const uint16_t *x, const uint16_t *panel,
                            bool is_far)
{
    struct sl_tile_pair left = {.first = x, .bytes = (size_t)s->row_bytes};
    left.second = x + TILE_ROWS * left.bytes / sizeof *x;
    sl_tiles_zero();
    for (int i = 0; i < s->steps; i++, panel += 2 * TILE_ELEMENTS) {
        if (is_far)
            fetch_ahead(panel);
        sl_tiles_multiply(left, panel_step(panel));
        left.first += TILE_K;
        left.second += TILE_K;
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
    const size_t floats = direct ? g->y_stride : SL_PANEL;
    sl_tiles_store(to, 16, 16 * floats, floats * sizeof *y);
    sl_tiles_fence();
    if (!direct)
        write_sums(g, y, sums, rows, cols);
}

/* Up to 16 rows of x times two panels. A single last panel is computed twice and written once. */
static void flat(const struct sl_gemm *g, const struct strip *s, const uint16_t *panel, int col,
                 size_t panel_elements)
{
    const int cols = g->n - col;
    const uint16_t *next = cols > SL_PANEL ? panel + panel_elements : panel;
    struct sl_tile_pair x = {.first = s->x, .bytes = (size_t)s->row_bytes};
    sl_tiles_zero();
    for (int i = 0; i < s->steps; i++, x.first += TILE_K) {
        const size_t at = (size_t)(2 * i) * TILE_ELEMENTS;
        sl_tiles_multiply_flat(x, panel_step(panel + at), panel_step(next + at));
    }
    float sums[2][TILE_ROWS * SL_PANEL] __attribute__((aligned(64)));
    sl_tiles_store(sums[0], 16, TILE_ROWS * SL_PANEL, SL_PANEL * sizeof(float));
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

static void gemm(const struct sl_gemm *g)
{
    const int whole = g->m / 32 * 32, rest = g->m - whole;
    if (whole)
        sl_tiles_configure(TILE_ROWS, TILE_ROWS);
    for (int row = 0; row < whole; row += ROWS_MAX) {
        const int rows = whole - row < ROWS_MAX ? whole - row : ROWS_MAX;
        const struct strip s = strip_at(g, row, rows);
        run_strip(g, &s);
    }
    if (rest > TILE_ROWS)
        sl_tiles_configure(TILE_ROWS, rest - TILE_ROWS);
    else if (rest)
        sl_tiles_configure_flat(rest);
    if (rest) {
        const struct strip s = strip_at(g, whole, rest);
        run_strip(g, &s);
    }
    sl_tiles_release();
}

void SL_LEVEL(gemm)(struct sl_kernels *t)
{
    t->gemm = gemm;
}
