/* tiles.h - products of tiles: 16 rows of 16 pairs of bf16, times 16 pairs of rows of 16 columns.
 *
 * AMX has them in registers. Without it they are VDPBF16PS and memory, with the same interface. A
 * kernel configures the tiles, uses them and releases them before it returns, so any thread may
 * call it at any time. */
#pragma once

#include "kernels/tiles/bf16_vectors.h"

/* An operand: two tiles, whose rows are `bytes` apart. */
struct sl_tile_pair {
    const uint16_t *first, *second;
    size_t bytes;
};

#ifdef __AMX_TILE__
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

static inline void sl_tiles_load(const struct sl_tile_config *config)
{
    sl_tiles_fence();
    _tile_loadconfig(config);
}

/* Tiles 0 .. 3 sums, 4 and 5 left operands, 6 and 7 right operands: `above` rows of the first left
 * operand, `below` of the second. A tile has at least one row. */
static inline void sl_tiles_configure(int above, int below)
{
    struct sl_tile_config c = {.palette = 1};
    const int a = above > 0 ? above : 1, b = below > 0 ? below : 1;
    const int rows[8] = {a, a, b, b, a, b, TILE_PAIRS, TILE_PAIRS};
    for (int t = 0; t < 8; t++) {
        c.rows[t] = (uint8_t)rows[t];
        c.row_bytes[t] = TILE_BYTES;
    }
    sl_tiles_load(&c);
}

/* Tiles 0 .. 3 sums and 4 the left operand, of `rows` rows; 5 .. 7 right operands. */
static inline void sl_tiles_configure_flat(int rows)
{
    struct sl_tile_config c = {.palette = 1};
    for (int t = 0; t < 8; t++) {
        c.rows[t] = (uint8_t)(t < 5 ? rows : TILE_PAIRS);
        c.row_bytes[t] = TILE_BYTES;
    }
    sl_tiles_load(&c);
}

static inline void sl_tiles_release(void)
{
    _tile_release();
}

/* The tile unit powers down after about 400 ns without work and needs 250 ns to wake up (measured
 * on Sapphire Rapids, where that was half of the time of attention). A dummy product between rows
 * of vector work keeps it awake; one before the first row wakes it in time. It overwrites tile
 * 0. */
static inline void sl_tiles_stay_awake(void)
{
    _tile_dpbf16ps(0, 4, 6);
}

/* The upper half of a block is tiles 0 and 1, the lower half tiles 2 and 3. */
static inline void sl_tiles_zero_upper(void)
{
    _tile_zero(0);
    _tile_zero(1);
}

static inline void sl_tiles_zero_lower(void)
{
    _tile_zero(2);
    _tile_zero(3);
}

/* upper: the upper half += the first 16 rows of the left operand times 32 columns of the right one,
 * which stay loaded for the lower half. flat: tiles 0 .. 3 += the first tile of the left operand
 * times 64 columns. Tiles of int8 have 64 in a row instead of 32, of the same bytes. */
#define SL_TILE_PRODUCTS(upper, lower, flat, multiply)                                             \
    static inline __attribute__((always_inline)) void upper(struct sl_tile_pair left,              \
                                                            struct sl_tile_pair right)             \
    {                                                                                              \
        _tile_loadd(4, left.first, left.bytes);                                                    \
        _tile_loadd(6, right.first, right.bytes);                                                  \
        multiply(0, 4, 6);                                                                         \
        _tile_loadd(7, right.second, right.bytes);                                                 \
        multiply(1, 4, 7);                                                                         \
    }                                                                                              \
    static inline __attribute__((always_inline)) void lower(struct sl_tile_pair left,              \
                                                            struct sl_tile_pair right)             \
    {                                                                                              \
        (void)right;                                                                               \
        _tile_loadd(5, left.second, left.bytes);                                                   \
        multiply(2, 5, 6);                                                                         \
        multiply(3, 5, 7);                                                                         \
    }                                                                                              \
    static inline __attribute__((always_inline)) void flat(                                        \
        struct sl_tile_pair left, struct sl_tile_pair right, struct sl_tile_pair rightmost)        \
    {                                                                                              \
        _tile_loadd(4, left.first, left.bytes);                                                    \
        _tile_loadd(5, right.first, right.bytes);                                                  \
        multiply(0, 4, 5);                                                                         \
        _tile_loadd(6, right.second, right.bytes);                                                 \
        multiply(1, 4, 6);                                                                         \
        _tile_loadd(7, rightmost.first, rightmost.bytes);                                          \
        multiply(2, 4, 7);                                                                         \
        _tile_loadd(5, rightmost.second, rightmost.bytes);                                         \
        multiply(3, 4, 5);                                                                         \
    }

SL_TILE_PRODUCTS(sl_tiles_multiply_upper, sl_tiles_multiply_lower, sl_tiles_multiply_flat,
                 _tile_dpbf16ps)
SL_TILE_PRODUCTS(sl_int8_multiply_upper, sl_int8_multiply_lower, sl_int8_multiply_flat,
                 _tile_dpbssd)

/* Two tiles to rows `bytes` apart; `right` is the distance, in floats, of the second. */
static inline __attribute__((always_inline)) void sl_tiles_store_upper(float *to, size_t right,
                                                                       size_t bytes)
{
    _tile_stored(0, to, bytes);
    _tile_stored(1, to + right, bytes);
}

static inline __attribute__((always_inline)) void sl_tiles_store_lower(float *to, size_t right,
                                                                       size_t bytes)
{
    _tile_stored(2, to, bytes);
    _tile_stored(3, to + right, bytes);
}

/* The reverse. */
static inline void sl_tiles_reload(const float *from, size_t right, size_t below, size_t bytes)
{
    _tile_loadd(0, from, bytes);
    _tile_loadd(1, from + right, bytes);
    _tile_loadd(2, from + below, bytes);
    _tile_loadd(3, from + below + right, bytes);
}
#else
static _Thread_local struct {
    __m512 sums[4][TILE_ROWS];
    int rows[2]; /* of tiles 0 and 1, and of 2 and 3 */
} sl_tiles;

static inline void sl_tiles_fence(void)
{
}

static inline void sl_tiles_configure(int above, int below)
{
    sl_tiles.rows[0] = above > 0 ? above : 0;
    sl_tiles.rows[1] = below > 0 ? below : 0;
}

static inline void sl_tiles_release(void)
{
}

static inline void sl_tiles_stay_awake(void)
{
}

static inline void sl_zero_half(int tile)
{
    for (int r = 0; r < sl_tiles.rows[tile / 2]; r++)
        sl_tiles.sums[tile][r] = sl_tiles.sums[tile + 1][r] = _mm512_setzero_ps();
}

static inline void sl_tiles_zero_upper(void)
{
    sl_zero_half(0);
}

static inline void sl_tiles_zero_lower(void)
{
    sl_zero_half(2);
}

/* Some rows, a constant, of two tiles side by side. */
static inline __attribute__((always_inline)) void sl_multiply_rows(
    __m512 *left_sums, __m512 *right_sums, const unsigned char *left, size_t bytes,
    struct sl_tile_pair right, const int rows)
{
    const size_t pair = right.bytes / sizeof *right.first;
    __m512 sums[2 * 8];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        sums[2 * r] = left_sums[r];
        sums[2 * r + 1] = right_sums[r];
    }
    for (size_t i = 0; i < TILE_PAIRS; i++, left += 4) {
        const __m512bh a = (__m512bh)_mm512_loadu_si512(right.first + i * pair);
        const __m512bh b = (__m512bh)_mm512_loadu_si512(right.second + i * pair);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            int both;
            memcpy(&both, left + (size_t)r * bytes, sizeof both);
            const __m512bh factor = (__m512bh)_mm512_set1_epi32(both);
            sums[2 * r] = _mm512_dpbf16_ps(sums[2 * r], factor, a);
            sums[2 * r + 1] = _mm512_dpbf16_ps(sums[2 * r + 1], factor, b);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        left_sums[r] = sums[2 * r];
        right_sums[r] = sums[2 * r + 1];
    }
}

/* Tiles `tile` and the next += a left tile times two right ones. */
static inline void sl_multiply_half(int tile, const uint16_t *left, size_t bytes,
                                    struct sl_tile_pair right)
{
    const int rows = sl_tiles.rows[tile / 2];
    const unsigned char *x = (const unsigned char *)left;
    __m512 *a = sl_tiles.sums[tile], *b = sl_tiles.sums[tile + 1];
    int r = 0;
    for (; r + 8 <= rows; r += 8)
        sl_multiply_rows(a + r, b + r, x + (size_t)r * bytes, bytes, right, 8);
    for (; r + 4 <= rows; r += 4)
        sl_multiply_rows(a + r, b + r, x + (size_t)r * bytes, bytes, right, 4);
    for (; r < rows; r++)
        sl_multiply_rows(a + r, b + r, x + (size_t)r * bytes, bytes, right, 1);
}

static inline void sl_tiles_multiply_upper(struct sl_tile_pair left, struct sl_tile_pair right)
{
    sl_multiply_half(0, left.first, left.bytes, right);
}

static inline void sl_tiles_multiply_lower(struct sl_tile_pair left, struct sl_tile_pair right)
{
    sl_multiply_half(2, left.second, left.bytes, right);
}

static inline void sl_store_half(int tile, float *to, size_t right, size_t bytes)
{
    for (size_t r = 0; r < (size_t)sl_tiles.rows[tile / 2]; r++) {
        _mm512_storeu_ps(to + r * bytes / sizeof *to, sl_tiles.sums[tile][r]);
        _mm512_storeu_ps(to + right + r * bytes / sizeof *to, sl_tiles.sums[tile + 1][r]);
    }
}

static inline void sl_tiles_store_upper(float *to, size_t right, size_t bytes)
{
    sl_store_half(0, to, right, bytes);
}

static inline void sl_tiles_store_lower(float *to, size_t right, size_t bytes)
{
    sl_store_half(2, to, right, bytes);
}

static inline void sl_tiles_reload(const float *from, size_t right, size_t below, size_t bytes)
{
    for (size_t t = 0; t < 4; t++)
        for (size_t r = 0; r < (size_t)sl_tiles.rows[t / 2]; r++)
            sl_tiles.sums[t][r] =
                _mm512_loadu_ps(from + t / 2 * below + t % 2 * right + r * bytes / sizeof *from);
}
#endif

static inline void sl_tiles_zero(void)
{
    sl_tiles_zero_upper();
    sl_tiles_zero_lower();
}

/* Tiles 0 .. 3 += 32 rows of the left operand times 32 columns of the right one. */
static inline __attribute__((always_inline)) void sl_tiles_multiply(struct sl_tile_pair left,
                                                                    struct sl_tile_pair right)
{
    sl_tiles_multiply_upper(left, right);
    sl_tiles_multiply_lower(left, right);
}

/* Tiles 0 .. 3; `below` is the distance, in floats, of tile 2 from tile 0. */
static inline __attribute__((always_inline)) void sl_tiles_store(float *to, size_t right,
                                                                 size_t below, size_t bytes)
{
    sl_tiles_store_upper(to, right, bytes);
    sl_tiles_store_lower(to + below, right, bytes);
}
