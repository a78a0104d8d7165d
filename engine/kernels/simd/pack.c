/* pack.c - transposes, and packing of matrices as the reference packs them. */
#include "base/bf16.h"
#include "kernels/simd/level.h"
#include "kernels/simd/vec.h"

#include <assert.h>
#include <string.h>

/* LANES x LANES floats. */
static void transpose_block(float *out, size_t out_stride, const float *x, size_t x_stride)
{
    vec rows[LANES];
#pragma GCC unroll 16
    for (size_t i = 0; i < LANES; i++)
        rows[i] = vec_loadu(x + i * x_stride);
    vec_transpose(rows);
#pragma GCC unroll 16
    for (size_t i = 0; i < LANES; i++)
        vec_storeu(out + i * out_stride, rows[i]);
}

static void transpose(void *out, size_t out_stride, const void *x, size_t x_stride, int rows,
                      int cols, bool pad)
{
    (void)pad;
    const size_t whole_rows = (size_t)rows / LANES * LANES,
                 whole_cols = (size_t)cols / LANES * LANES;
    const float *from = x;
    float *to = out;
    for (size_t c = 0; c < whole_cols; c += LANES)
        for (size_t r = 0; r < whole_rows; r += LANES)
            transpose_block(to + c * out_stride + r, out_stride, from + r * x_stride + c, x_stride);
    for (size_t c = 0; c < (size_t)cols; c++)
        for (size_t r = c < whole_cols ? whole_rows : 0; r < (size_t)rows; r++)
            to[c * out_stride + r] = from[r * x_stride + c];
}

/* Packs a panel from rows of B, of which `cols` columns exist. */
static void pack_rows(float *panel, const float *src, size_t stride, int k, int cols)
{
    for (int i = 0; i < k; i++, panel += SL_PANEL, src += stride)
        for (int c = 0; c < SL_PANEL; c += LANES)
            vec_storeu(panel + c, c < cols ? vec_load(src + c, cols - c) : vec_set(0.0f));
}

/* Packs a panel from columns of B that are rows of src, LANES x LANES floats at a time. */
static void pack_columns(float *panel, const float *src, size_t stride, size_t k, size_t cols)
{
    const size_t whole_k = k / LANES * LANES, whole_cols = cols / LANES * LANES;
    for (size_t j = 0; j < whole_cols; j += LANES)
        for (size_t i = 0; i < whole_k; i += LANES)
            transpose_block(panel + i * SL_PANEL + j, SL_PANEL, src + j * stride + i, stride);
    for (size_t j = 0; j < cols; j++)
        for (size_t i = j < whole_cols ? whole_k : 0; i < k; i++)
            panel[i * SL_PANEL + j] = src[j * stride + i];
}

/* One column of a panel from one of B, whose elements are `step` apart. */
static void pack_column(float *panel, const void *src, enum sl_type type, size_t step, int k)
{
    const uint16_t *half = src;
    const float *whole = src;
    for (size_t i = 0; i < (size_t)k; i++)
        panel[i * SL_PANEL] = type == SL_F32 ? whole[i * step] : sl_bf16_to_f32(half[i * step]);
}

static void pack(void *packed, const void *src, enum sl_type type, size_t stride, bool transposed,
                 int k, int n, int n_first, int n_last)
{
    assert(n_first % SL_PANEL == 0);
    assert(n_last % SL_PANEL == 0 || n_last == n);
    const size_t across = transposed ? stride : 1, along = transposed ? 1 : stride;
    for (int col = n_first; col < n_last; col += SL_PANEL) {
        float *panel = (float *)packed + (size_t)col * (size_t)k;
        const int cols = n_last - col < SL_PANEL ? n_last - col : SL_PANEL;
        if (type == SL_F32 && !transposed) {
            pack_rows(panel, (const float *)src + col, stride, k, cols);
            continue;
        }
        if (cols < SL_PANEL)
            memset(panel, 0, (size_t)k * SL_PANEL * sizeof *panel);
        if (type == SL_F32) {
            pack_columns(panel, (const float *)src + (size_t)col * stride, stride, (size_t)k,
                         (size_t)cols);
            continue;
        }
        for (int j = 0; j < cols; j++) {
            const size_t offset = (size_t)(col + j) * across * sl_type_bytes(type);
            pack_column(panel + j, (const char *)src + offset, type, along, k);
        }
    }
}

void SL_LEVEL(pack)(struct sl_kernels *t)
{
    t->pack = pack;
    t->transpose = transpose;
}
