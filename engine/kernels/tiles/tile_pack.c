/* tile_pack.c - packed B and transposes of bf16 operands.
 *
 * Packed B is panels of SL_PANEL columns. A panel is, for each TILE_K rows of B, two tiles as
 * TDPBF16PS reads its third operand: 16 pairs of rows, each pair with 16 columns side by side,
 *     tile[i][j] = { B(2i, j), B(2i + 1, j) }.
 * Rows past k and columns past n are zero. */
#include "kernels/isa_levels.h"
#include "kernels/simd/level.h"
#include "kernels/tiles/bf16_vectors.h"

#include <assert.h>

static size_t pack_bytes(int k, int n)
{
    return sl_round_up((size_t)k, TILE_K) * sl_round_up((size_t)n, SL_PANEL) * sizeof(uint16_t);
}

/* n <= 32 elements from src + offset as bf16, then zeros. */
static __m512i load32(const void *src, enum sl_type type, size_t offset, int n)
{
    if (type == SL_BF16)
        return _mm512_maskz_loadu_epi16(vec_mask32(n), (const uint16_t *)src + offset);
    const float *x = (const float *)src + offset;
    const __m512 low = _mm512_maskz_loadu_ps(vec_mask(n), x);
    const __m512 high =
        n > 16 ? _mm512_maskz_loadu_ps(vec_mask(n - 16), x + 16) : _mm512_setzero_ps();
    return sl_to_bf16_32(low, high);
}

/* The source of B's elements, from row `row` and column `col` on. */
struct source {
    const void *src;
    enum sl_type type;
    size_t stride;
    int rows, cols; /* remaining from here */
    size_t offset;
};

/* Both tiles of a step from rows of B. */
static void pack_rows(uint16_t *tiles, const struct source *s)
{
    for (int i = 0; i < TILE_PAIRS; i++) {
        __m512i pair[2];
        for (int odd = 0; odd < 2; odd++) {
            const int row = 2 * i + odd;
            const size_t offset = s->offset + (size_t)row * s->stride;
            pair[odd] =
                row < s->rows ? load32(s->src, s->type, offset, s->cols) : _mm512_setzero_si512();
        }
        sl_pair_rows(pair[0], pair[1], tiles + i * TILE_K, tiles + (TILE_PAIRS + i) * TILE_K);
    }
}

/* Both tiles of a step from columns of B: rows of the source are columns here. */
static void pack_columns(uint16_t *tiles, const struct source *s)
{
    for (int tile = 0; tile < 2; tile++) {
        __m512i r[TILE_ROWS];
        for (int j = 0; j < TILE_ROWS; j++) {
            const int col = tile * TILE_ROWS + j;
            const size_t offset = s->offset + (size_t)col * s->stride;
            r[j] =
                col < s->cols ? load32(s->src, s->type, offset, s->rows) : _mm512_setzero_si512();
        }
        vec_transpose_words(r);
        for (int i = 0; i < TILE_PAIRS; i++)
            _mm512_storeu_si512(tiles + (tile * TILE_PAIRS + i) * TILE_K, r[i]);
    }
}

static void pack(void *packed, const void *src, enum sl_type type, size_t stride, bool transposed,
                 int k, int n, int n_first, int n_last)
{
    assert(n_first % SL_PANEL == 0);
    assert(n_last % SL_PANEL == 0 || n_last == n);
    const size_t depth = sl_round_up((size_t)k, TILE_K);
    /* Panels are the inner loop, so that the rows of a step are read once and in order. */
    for (int row = 0; row < k; row += TILE_K)
        for (int col = n_first; col < n_last; col += SL_PANEL) {
            uint16_t *tiles = (uint16_t *)packed + ((size_t)col * depth + (size_t)row * SL_PANEL);
            const size_t r = (size_t)row, c = (size_t)col;
            const struct source s = {
                .src = src,
                .type = type,
                .stride = stride,
                .rows = k - row,
                .cols = n_last - col,
                .offset = transposed ? c * stride + r : r * stride + c,
            };
            if (transposed)
                pack_columns(tiles, &s);
            else
                pack_rows(tiles, &s);
        }
}

/* 16 columns and 32 rows of x: each column becomes a row of 32. */
static void transpose_block(uint16_t *out, size_t out_stride, const uint16_t *x, size_t x_stride,
                            int rows, int cols, bool pad)
{
    __m512i r[TILE_PAIRS];
    const __mmask16 mask = vec_mask(cols);
    for (int i = 0; i < TILE_PAIRS; i++) {
        const uint16_t *even = x + (size_t)(2 * i) * x_stride;
        const __m256i zero = _mm256_setzero_si256();
        const __m256i a = 2 * i < rows ? _mm256_maskz_loadu_epi16(mask, even) : zero;
        const __m256i b = 2 * i + 1 < rows ? _mm256_maskz_loadu_epi16(mask, even + x_stride) : zero;
        r[i] = sl_pair16(a, b);
    }
    vec_transpose_words(r);
    const __mmask32 kept = pad ? vec_mask32(TILE_K) : vec_mask32(rows);
    for (int c = 0; c < TILE_ROWS && c < cols; c++)
        _mm512_mask_storeu_epi16(out + (size_t)c * out_stride, kept, r[c]);
}

static void transpose(void *out, size_t out_stride, const void *x, size_t x_stride, int rows,
                      int cols, bool pad)
{
    for (int c = 0; c < cols; c += TILE_ROWS)
        for (int r = 0; r < rows; r += TILE_K)
            transpose_block((uint16_t *)out + (size_t)c * out_stride + r, out_stride,
                            (const uint16_t *)x + (size_t)r * x_stride + c, x_stride, rows - r,
                            cols - c, pad);
}

/* Packed matrices are bf16 already. */
static bool never_compact(void *packed, int k, int n)
{
    (void)packed;
    (void)k;
    (void)n;
    return false;
}

void SL_LEVEL(pack)(struct sl_kernels *t)
{
    t->operand = SL_BF16;
    t->pack_bytes = pack_bytes;
    t->pack = pack;
    t->compact = never_compact;
    t->transpose = transpose;
}
