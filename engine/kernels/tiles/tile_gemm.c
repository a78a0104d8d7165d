/* tile_gemm.c - matrix products of bf16 and int8 in the tiles of AMX.
 *
 * Tiles 0 to 3 hold sums. 32 rows of x at a time are multiplied by one panel of B as 2 x 2 tiles;
 * 16 rows or fewer by two panels as 1 x 4, so that four independent sums are always in flight (a
 * TDPBF16PS takes 16 cycles to issue and 52 to finish). Both add products in the order of k. Tiles
 * are configured to the rows that exist, so no others are computed.
 *
 * A block of 2 x 2 tiles is stored and finished (bias, activation, rounding) while the next one is
 * computed, some rows at a time between its products: the vector units are idle then. Its two lower
 * tiles are stored after the first products of the next two upper ones, which need not wait. */
#include "kernels/simd/finish.h"
#include "kernels/simd/level.h"
#include "kernels/tiles/tiles.h"

/* Rows of a block, and in how many parts it is finished. */
enum { BLOCK = 2 * TILE_ROWS, PARTS = 8 };

/* Rows of x that are multiplied by one panel before the next. So few stay in the L1 cache, while B
 * comes from L2 again for each; if B does not fit there, it is read less often. */
enum { ROWS_NEAR = BLOCK, ROWS_FAR = 256, NEAR_BYTES = 1 << 20 };

/* A strip of rows of x that is multiplied by all of B. Elements are of two bytes, as those of bf16;
 * two of int8 are one. */
struct strip {
    const uint16_t *x;
    int row, rows;
    size_t row_bytes;     /* of x, from one row to the next */
    int steps;            /* TILE_K elements each */
    size_t scales, panel; /* elements: before the tiles of a panel, and of all of it */
    float *sums;          /* room for a block */
    struct sum_block block;
};

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

/* int8 is constant wherever these are inlined. */
static inline __attribute__((always_inline)) void upper(struct sl_tile_pair x,
                                                        struct sl_tile_pair b, const bool int8)
{
    if (int8)
        sl_int8_multiply_upper(x, b);
    else
        sl_tiles_multiply_upper(x, b);
}

static inline __attribute__((always_inline)) void lower(struct sl_tile_pair x,
                                                        struct sl_tile_pair b, const bool int8)
{
    if (int8)
        sl_int8_multiply_lower(x, b);
    else
        sl_tiles_multiply_lower(x, b);
}

static inline __attribute__((always_inline)) void across(struct sl_tile_pair x,
                                                         struct sl_tile_pair b,
                                                         struct sl_tile_pair next, const bool int8)
{
    if (int8)
        sl_int8_multiply_flat(x, b, next);
    else
        sl_tiles_multiply_flat(x, b, next);
}

/* The first products of a block, and on their way the sums of the one before to memory. */
static inline __attribute__((always_inline)) void first_step(const struct sum_block *before,
                                                             struct sl_tile_pair x,
                                                             struct sl_tile_pair b, const bool int8)
{
    const size_t bytes = before->stride * sizeof(float);
    if (before->rows)
        sl_tiles_store_upper(before->sums, LANES, bytes);
    sl_tiles_zero_upper();
    upper(x, b, int8);
    if (before->rows)
        sl_tiles_store_lower(before->sums + TILE_ROWS * before->stride, LANES, bytes);
    sl_tiles_zero_lower();
    lower(x, b, int8);
    sl_tiles_fence();
}

/* A block of a strip whose sums are stored next: where they belong, if they are results and those
 * stay in the cache. */
static struct sum_block block_at(const struct sl_gemm *g, const struct strip *s, int row, int col)
{
    struct sum_block b = {.sums = s->sums,
                          .stride = SL_PANEL,
                          .row = s->row + row,
                          .rows = sl_min(s->rows - row, BLOCK),
                          .col = col};
    const bool near = (size_t)g->m * g->y_stride * sizeof *g->y <= NEAR_BYTES;
    if (!near || g->epilogue || g->accumulate || g->int8_groups || col + SL_PANEL > g->n)
        return b;
    b.sums = g->y + (size_t)b.row * g->y_stride + col;
    b.stride = g->y_stride;
    b.finished = b.rows;
    return b;
}

/* Rows `row` to `row` + 32 of a strip times one panel. The sums stay in tiles 0 to 3. */
static inline __attribute__((always_inline)) void square(const struct sl_gemm *g, struct strip *s,
                                                         int row, const uint16_t *panel, int col,
                                                         const bool int8)
{
    struct sl_tile_pair x = {.first = s->x + (size_t)row * s->row_bytes / sizeof *s->x,
                             .bytes = s->row_bytes};
    x.second = x.first + TILE_ROWS * s->row_bytes / sizeof *s->x;
    const bool fetches = g->is_far && row == 0;
    const int every = sl_ceil_div(s->steps, PARTS), each = sl_ceil_div(BLOCK * every, s->steps);
    first_step(&s->block, x, panel_step(panel), int8);
    for (int i = 1, due = every, rows = each; i < s->steps; i++) {
        panel += 2 * TILE_ELEMENTS;
        x.first += TILE_K;
        x.second += TILE_K;
        if (fetches)
            fetch_ahead(panel);
        upper(x, panel_step(panel), int8);
        lower(x, panel_step(panel), int8);
        if (i < due)
            continue;
        finish(g, &s->block, rows);
        due += every;
        rows += each;
    }
    finish(g, &s->block, BLOCK);
    s->block = block_at(g, s, row, col);
}

/* The block that no other follows. */
static void last_block(const struct sl_gemm *g, struct sum_block *b)
{
    sl_tiles_store(b->sums, LANES, TILE_ROWS * b->stride, b->stride * sizeof(float));
    sl_tiles_fence();
    finish(g, b, BLOCK);
    b->rows = 0;
}

/* Up to 16 rows of x times two panels. A single last panel is computed twice and written once. */
static inline __attribute__((always_inline)) void flat(const struct sl_gemm *g,
                                                       const struct strip *s, const uint16_t *panel,
                                                       int col, const bool int8)
{
    const uint16_t *next = g->n - col > SL_PANEL ? panel + s->panel : panel;
    struct sl_tile_pair x = {.first = s->x, .bytes = s->row_bytes};
    sl_tiles_zero();
    for (int i = 0; i < s->steps; i++, x.first += TILE_K) {
        const size_t at = (size_t)(2 * i) * TILE_ELEMENTS;
        across(x, panel_step(panel + at), panel_step(next + at), int8);
    }
    struct sum_block b = {.sums = s->sums, .row = s->row, .rows = s->rows, .col = col};
    sl_tiles_store(b.sums, LANES, TILE_ROWS * SL_PANEL, SL_PANEL * sizeof(float));
    sl_tiles_fence();
    finish(g, &b, BLOCK);
    b.sums += TILE_ROWS * SL_PANEL;
    b.col += SL_PANEL;
    b.finished = 0;
    if (b.col < g->n)
        finish(g, &b, BLOCK);
}

/* All columns of the rows that the tiles are configured for. */
static inline __attribute__((always_inline)) void run_strip(const struct sl_gemm *g,
                                                            struct strip *s, const bool int8)
{
    const uint16_t *panel = (const uint16_t *)g->packed + s->scales;
    const bool is_flat = s->rows <= TILE_ROWS;
    const int width = is_flat ? 2 * SL_PANEL : SL_PANEL;
    for (int col = 0; col < g->n; col += width, panel += s->panel * (size_t)(width / SL_PANEL)) {
        if (is_flat)
            flat(g, s, panel, col, int8);
        for (int row = 0; !is_flat && row < s->rows; row += BLOCK)
            square(g, s, row, panel, col, int8);
    }
}

static struct strip strip_of(const struct sl_gemm *g, const bool int8)
{
    struct strip s = {.row_bytes = int8 ? g->x_stride : g->x_stride * sizeof(uint16_t),
                      .steps = sl_ceil_div(g->k, int8 ? SL_INT8_STEP : TILE_K),
                      .scales = int8 ? SL_PANEL * sizeof(float) / sizeof(uint16_t) : 0};
    s.panel = s.scales + (size_t)s.steps * 2 * TILE_ELEMENTS;
    return s;
}

static inline __attribute__((always_inline)) void gemm_of(const struct sl_gemm *g, const bool int8)
{
    const int whole = g->m / BLOCK * BLOCK, rest = g->m - whole;
    float sums[BLOCK * SL_PANEL] __attribute__((aligned(64)));
    struct strip s = strip_of(g, int8);
    s.sums = sums;
    const size_t bytes = (size_t)s.steps * TILE_BYTES * (size_t)g->n;
    const int most = g->is_far || bytes > NEAR_BYTES ? ROWS_FAR : ROWS_NEAR;
    if (whole)
        sl_tiles_configure(TILE_ROWS, TILE_ROWS);
    for (; s.row < g->m; s.row += s.rows) {
        s.x = (const uint16_t *)g->x + (size_t)s.row * s.row_bytes / sizeof *s.x;
        s.rows = s.row < whole ? sl_min(whole - s.row, most) : rest;
        if (s.row == whole && s.block.rows)
            last_block(g, &s.block);
        if (s.row == whole && rest > TILE_ROWS)
            sl_tiles_configure(TILE_ROWS, rest - TILE_ROWS);
        else if (s.row == whole)
            sl_tiles_configure_flat(rest);
        run_strip(g, &s, int8);
    }
    if (s.block.rows)
        last_block(g, &s.block);
    sl_tiles_release();
}

static void gemm(const struct sl_gemm *g)
{
    gemm_of(g, false);
}

static void int8_gemm(const struct sl_gemm *g)
{
    assert(g->k <= g->int8_group); /* a tile adds up all products of a row */
    gemm_of(g, true);
}

void SL_LEVEL(gemm)(struct sl_kernels *t)
{
    t->fuses_epilogue = true;
    t->gemm = gemm;
    t->int8_bias = 0;
    t->int8_group = SL_INT8_DEPTH_MAX;
    t->int8_gemm = int8_gemm;
}
