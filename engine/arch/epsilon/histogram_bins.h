/* histogram_bins.h - shared by the ops with bins: tiles of rows, and the layout of a head's bins.
 *
 * Tiles start at the beginning of a segment, and their results are added in order. So sums over a
 * segment do not depend on the rest of the batch or on threads. */
#pragma once

#include "base/int_math.h"
#include "layers/layers.h"

enum { SL_TILE_ROWS = 64 };

/* Rows of one segment: of its keys, or of its queries. */
struct sl_tile {
    int segment, first, count;
};

struct sl_tiles {
    struct sl_tile *at;
    int32_t *first; /* of each segment, and one past the last tile */
    int count;
    int max; /* the maximum for this number of rows and segments; sizes memory */
};

/* rows: the `count` rows of the segments to divide; NULL: all. */
struct sl_tiles sl_tiles_create(struct sl_tape *t, const struct sl_segments *segments,
                                const struct sl_rows *rows, int count);

/* A row of bins holds for each head head_dim rows of keys, then as many of values; a column is a
 * bin. */
struct sl_bins_shape {
    int heads, head_dim, bins;
};

/* The first column of a head. */
static inline size_t sl_head_column(const struct sl_bins_shape *s, int head)
{
    return (size_t)head * (size_t)s->head_dim;
}

/* Floats of one head's bins. */
static inline size_t sl_bins_floats(const struct sl_bins_shape *s)
{
    return 2 * (size_t)s->head_dim * (size_t)s->bins;
}

/* The divisor of a bin's sums, given the sum of its assignments; empty bins become zeros. */
static inline float sl_bin_divisor(float assignments)
{
    return assignments + 1e-6f;
}

/* The size of a part of scratch memory, aligned for the next one. */
static inline size_t sl_aligned(size_t bytes)
{
    return sl_round_up(bytes, SL_ALIGN);
}

/* out (cols x rows) = x^T of rows x cols. */
void sl_transpose(float *out, const float *x, int rows, int cols);
