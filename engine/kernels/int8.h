/* int8.h - internal to kernels/: how rows are scaled, and how packed matrices of int8 lie.
 *
 * A packed B is panels of SL_PANEL columns. A panel is, for each group of rows of B, a float per
 * column, its scale; then for each
 * SL_INT8_STEP rows of B two halves of 16 columns as TDPBSSD reads its third operand: 16 quads of
 * rows, each quad with 16 columns side by side,
 *     half[i][j] = { B(4i, j), B(4i + 1, j), B(4i + 2, j), B(4i + 3, j) },
 * all of them int8_bias higher. Rows past k and columns past n are zero. */
#pragma once

#include "kernels/kernels.h"

#include <math.h>

enum {
    SL_INT8_HALF = 16 * SL_INT8_STEP, /* bytes of 16 columns of a step */
    SL_INT8_GROUP = 64                /* columns of a group, but with tiles */
};

/* Sets the scale. Returns the factor to multiply by before rounding, or 0 if all become zeros: of
 * numbers so small that the factor might overflow, or with NaN or infinity. */
static inline float sl_int8_scale(float *scale, float highest, bool is_finite)
{
    const bool counts = is_finite && highest >= 0x1p-100f;
    *scale = counts ? highest / 127.0f : is_finite ? 0.0f : NAN;
    return counts ? 127.0f / highest : 0.0f;
}

/* The panel of a column. */
static inline const char *sl_int8_panel(const void *packed, int k, int group, int col)
{
    return (const char *)packed + sl_int8_bytes(k, col / SL_PANEL * SL_PANEL, group);
}

/* The scales of the first group from a column on; those of the next are SL_PANEL floats further. */
static inline const float *sl_int8_scales(const void *packed, int k, int group, int col)
{
    return (const float *)(const void *)sl_int8_panel(packed, k, group, col) + col % SL_PANEL;
}

/* The first 4 elements of a column. */
static inline const char *sl_int8_column(const void *packed, int k, int group, int col)
{
    const size_t scales = (size_t)sl_int8_groups(k, group) * SL_PANEL * sizeof(float);
    const int at = col % SL_PANEL / 16 * SL_INT8_HALF + col % 16 * 4;
    return sl_int8_panel(packed, k, group, col) + scales + at;
}

/* Where row i of B is in a column, in bytes from its first element. */
static inline size_t sl_int8_offset(size_t i)
{
    return i / SL_INT8_STEP * (2 * SL_INT8_HALF) + i % SL_INT8_STEP / 4 * SL_INT8_STEP + i % 4;
}
