/* bf16_gemm.c - matrix products of bf16 without AMX: a VDPBF16PS adds the products of a pair of
 * elements to each of 16 sums.
 *
 * Some rows of x times some panels of B at a time, as many as there are registers for their sums,
 * which stay there over all of k: B is read once for these rows, and no product waits for the one
 * before. Every sum adds its products in the order of k, whatever the number of rows: the bits of a
 * row do not depend on the rows beside it. */
#include "kernels/simd/finish.h"
#include "kernels/simd/level.h"
#include "kernels/tiles/bf16_vectors.h"

/* Rows that are multiplied by all of B before the next, so that they stay in the L2 cache. */
enum { STRIP_ROWS = 96 };

/* Panels that all rows of a strip are multiplied by before the next. */
enum { CHUNK_PANELS = 4 };

enum { PAIR = 2, SUMS_MOST = 12 * SL_PANEL, PANELS_MOST = 4 };

struct product {
    const struct sl_gemm *g;
    const uint16_t *x, *b; /* a row, and a panel */
    size_t panel;          /* elements of each */
    int row, col, steps;
};

/* Sums of `rows` rows, each SL_PANEL floats for every panel: those of the first panel, then those
 * of the next. What is called const is known wherever this is inlined. */
static inline __attribute__((always_inline)) void multiply(const struct product *p, float *sums,
                                                           const int rows, const int panels)
{
    __m512 s[2 * SUMS_MOST / SL_PANEL];
    const size_t stride = p->g->x_stride;
    const uint16_t *x = p->x, *b = p->b;
    for (int i = 0; i < 2 * rows * panels; i++)
        s[i] = _mm512_setzero_ps();
    for (int step = 0; step < p->steps; step++, b += TILE_ELEMENTS)
        for (int pair = 0; pair < TILE_PAIRS; pair++, x += PAIR, b += TILE_BYTES / sizeof *b) {
            __m512bh column[2 * PANELS_MOST];
#pragma GCC unroll 8
            for (int half = 0; half < 2 * panels; half++)
                column[half] = (__m512bh)_mm512_loadu_si512(b + (size_t)(half / 2) * p->panel +
                                                            (size_t)(half % 2) * TILE_ELEMENTS);
#pragma GCC unroll 12
            for (int r = 0; r < rows; r++) {
                int both;
                memcpy(&both, x + (size_t)r * stride, sizeof both);
                const __m512bh factor = (__m512bh)_mm512_set1_epi32(both);
#pragma GCC unroll 8
                for (int half = 0; half < 2 * panels; half++)
                    s[half * rows + r] = _mm512_dpbf16_ps(s[half * rows + r], factor, column[half]);
            }
        }
#pragma GCC unroll 8
    for (int half = 0; half < 2 * panels; half++)
#pragma GCC unroll 12
        for (int r = 0; r < rows; r++)
            _mm512_storeu_ps(sums + (size_t)((half / 2 * rows + r) * SL_PANEL + half % 2 * LANES),
                             s[half * rows + r]);
}

static inline __attribute__((always_inline)) void block(const struct product *p, const int rows,
                                                        const int panels)
{
    float sums[SUMS_MOST] __attribute__((aligned(64)));
    multiply(p, sums, rows, panels);
    for (int i = 0; i < panels; i++) {
        struct sum_block b = {.sums = sums + (size_t)(i * rows) * SL_PANEL,
                              .row = p->row,
                              .rows = rows,
                              .col = p->col + i * SL_PANEL};
        finish(p->g, &b, rows);
    }
}

/* `rows` rows times a chunk of panels, `panels` at a time. Returns rows. */
static inline __attribute__((always_inline)) int chunk(struct product p, int count, const int rows,
                                                       const int panels)
{
    for (; count >= panels; count -= panels) {
        block(&p, rows, panels);
        p.b += (size_t)panels * p.panel;
        p.col += panels * SL_PANEL;
    }
    for (; count > 0; count--) {
        block(&p, rows, 1);
        p.b += p.panel;
        p.col += SL_PANEL;
    }
    return rows;
}

/* Returns how many of the rows that are left were multiplied. */
static int rows_of_chunk(const struct product *p, int count, int left)
{
    if (left >= 12)
        return chunk(*p, count, 12, 1);
    if (left >= 8)
        return chunk(*p, count, 8, 1);
    if (left >= 4)
        return chunk(*p, count, 4, 2);
    return left >= 2 ? chunk(*p, count, 2, 4) : chunk(*p, count, 1, 4);
}

static void strip(struct product p, int rows)
{
    const int panels = sl_ceil_div(p.g->n, SL_PANEL), first_row = p.row;
    const uint16_t *first = p.x;
    for (int panel = 0; panel < panels; panel += CHUNK_PANELS) {
        const int count = sl_min(panels - panel, CHUNK_PANELS);
        for (int row = 0; row < rows;) {
            p.row = first_row + row;
            p.x = first + (size_t)row * p.g->x_stride;
            row += rows_of_chunk(&p, count, rows - row);
        }
        p.b += (size_t)count * p.panel;
        p.col += count * SL_PANEL;
    }
}

static void gemm(const struct sl_gemm *g)
{
    struct product p = {.g = g, .b = g->packed, .steps = sl_ceil_div(g->k, TILE_K)};
    p.panel = (size_t)p.steps * 2 * TILE_ELEMENTS;
    for (; p.row < g->m; p.row += STRIP_ROWS) {
        p.x = (const uint16_t *)g->x + (size_t)p.row * g->x_stride;
        strip(p, sl_min(g->m - p.row, STRIP_ROWS));
    }
}

void SL_LEVEL(gemm)(struct sl_kernels *t)
{
    t->fuses_epilogue = true;
    t->gemm = gemm;
}
