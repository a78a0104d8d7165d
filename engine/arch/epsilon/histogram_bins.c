/* histogram_bins.c - tiles of rows and small transposes, for the histogram ops. */
#include "arch/epsilon/histogram_bins.h"

struct sl_tiles sl_tiles_create(struct sl_tape *t, const struct sl_segments *segments,
                                const struct sl_rows *rows, int count)
{
    struct sl_tiles tiles = {.max = count / SL_TILE_ROWS + segments->count};
    tiles.at = sl_tape_struct(t, (size_t)tiles.max, sizeof *tiles.at);
    tiles.first = sl_tape_struct(t, (size_t)segments->count + 1, sizeof *tiles.first);
    int row = 0;
    for (int s = 0; s < segments->count; s++) {
        int end = segments->first[s + 1], last = row;
        tiles.first[s] = tiles.count;
        while (last < count && sl_rows_at(rows, last) < end)
            last++;
        for (; row < last; row += SL_TILE_ROWS) {
            int rest = last - row < SL_TILE_ROWS ? last - row : SL_TILE_ROWS;
            tiles.at[tiles.count++] = (struct sl_tile){s, row, rest};
        }
        row = last;
    }
    tiles.first[segments->count] = tiles.count;
    assert(row == count);
    assert(tiles.count <= tiles.max);
    return tiles;
}

void sl_transpose(float *out, const float *x, int rows, int cols)
{
    for (int c = 0; c < cols; c++)
        for (int r = 0; r < rows; r++)
            out[(size_t)c * (size_t)rows + (size_t)r] = x[(size_t)r * (size_t)cols + (size_t)c];
}
