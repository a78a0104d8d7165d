/* histogram_bins.h - what the ops with bins share: how rows are cut into tiles, and how the bins
 * of a head
 * lie.
 *
 * A segment is cut from its own beginning, and what its tiles give is added up in their order: the
 * sums over a segment do not depend on what else is in the batch, nor on who computed them. */
#pragma once

#include "arch/epsilon/epsilon.h"
#include "base/int_util.h"

enum { SL_TILE_ROWS = 64 };

/* Rows of one segment: of its keys, or of its queries. */
struct sl_tile {
    int segment, first, count;
};

struct sl_tiles {
    struct sl_tile *at;
    int32_t *first; /* of each segment, and one past the last tile */
    int count;
    int max; /* that any cut of as many rows into as many segments gives: sizes memory */
};

/* rows: those of the segments that are cut, by number (`count` of them); NULL: all. */
struct sl_tiles sl_tiles_cut(struct sl_tape *t, const struct sl_segments *segments,
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

/* What the sums in a bin are divided by, given the sum of its shares: empty bins hold zeros. */
static inline float sl_bin_mass(float assignments)
{
    return assignments + 1e-6f;
}

/* Bytes of a segment of scratch memory, when another follows. */
static inline size_t sl_aligned(size_t bytes)
{
    return sl_round_up(bytes, SL_ALIGN);
}

/* out (cols x rows) = x^T of rows x cols. */
void sl_transpose(float *out, const float *x, int rows, int cols);
