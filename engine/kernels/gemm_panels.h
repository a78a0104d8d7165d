/* gemm_panels.h - loops of a matrix product over the panels of B, for levels that keep sums in
 * registers. */
#pragma once

#include "kernels/kernels.h"

/* The product of some rows of x and some columns of a panel. */
struct sl_gemm_tile {
    const float *x, *panel;
    float *y;
    size_t x_stride, y_stride;
    int k, cols;
    bool accumulate;
};

/* `gemm_some_rows` computes as many of the remaining rows as its registers hold, and returns their
 * number. */
static inline __attribute__((always_inline)) void sl_gemm_panels(
    const struct sl_gemm *g, int (*gemm_some_rows)(const struct sl_gemm_tile *t, int rows))
{
    const size_t panel_floats = (size_t)g->k * SL_PANEL;
    for (int col = 0; col < g->n; col += SL_PANEL)
        for (int row = 0; row < g->m;) {
            const struct sl_gemm_tile t = {
                .x = (const float *)g->x + (size_t)row * g->x_stride,
                .panel = (const float *)g->packed + (size_t)(col / SL_PANEL) * panel_floats,
                .y = g->y + (size_t)row * g->y_stride + col,
                .x_stride = g->x_stride,
                .y_stride = g->y_stride,
                .k = g->k,
                .cols = g->n - col,
                .accumulate = g->accumulate,
            };
            row += gemm_some_rows(&t, g->m - row);
        }
}
