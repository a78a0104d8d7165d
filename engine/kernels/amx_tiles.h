/* amx_tiles.h - the tile registers: their configuration, and workarounds for gcc.
 *
 * A kernel sets the configuration it needs, uses the tiles and releases them before it returns,
 * so any thread may call it at any time. */
#pragma once

#include "kernels/avx512bf16.h"

#include <immintrin.h>
#include <stdint.h>

enum { TILE_BYTES = 64, TILE_ELEMENTS = 512 };

/* What LDTILECFG reads: Intel SDM volume 1, table 18-2 (palette 1). */
struct sl_tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct sl_tile_config) == 64, "LDTILECFG reads 64 bytes");

/* gcc 12 believes that a tile load reads no memory and that LDTILECFG reads 8 bytes: so stores
 * before either must be forced out explicitly. */
static inline void sl_tiles_fence(void)
{
    __asm__ volatile("" ::: "memory");
}

static inline void sl_tiles_configure(const struct sl_tile_config *config)
{
    sl_tiles_fence();
    _tile_loadconfig(config);
}

/* The tile unit powers down after about 400 ns without work and needs 250 ns to wake up (measured
 * on Sapphire Rapids, where that was half of the time of attention). A dummy product between rows
 * of vector work keeps it awake; one before the first row wakes it in time. It overwrites tile
 * 0. */
static inline void sl_tiles_stay_awake(void)
{
    _tile_dpbf16ps(0, 4, 6);
}

/* Two rows of 32 bf16 as two rows of 16 pairs. Interleaving stays within 128-bit lanes, which takes
 * one instruction per row instead of four. So the columns are in the order of sl_lane_column, and
 * the code that reads the products restores their order. */
static inline void sl_pair_rows(__m512i even, __m512i odd, uint16_t *left, uint16_t *right)
{
    _mm512_storeu_si512(left, _mm512_unpacklo_epi16(even, odd));
    _mm512_storeu_si512(right, _mm512_unpackhi_epi16(even, odd));
}

/* The column that lane i of the left tile holds; the right tile holds the one 4 further. */
static inline int sl_lane_column(int i)
{
    return i / 4 * 8 + i % 4;
}
