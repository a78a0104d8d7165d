/* int8.c - packs matrices as int8, for all levels, and defines the int8 slots. */
#include "kernels/int8.h"

#include "base/int_math.h"
#include "kernels/bf16.h"
#include "kernels/isa_levels.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static float element(const void *x, enum sl_type type, int i)
{
    return type == SL_F32 ? ((const float *)x)[i] : sl_bf16_to_f32(((const uint16_t *)x)[i]);
}

/* The scale of a row and the factor before rounding, as sl_int8_scale. */
static float row_factor(struct sl_int8_row *row, const void *x, enum sl_type type, int n)
{
    float highest = 0.0f;
    bool is_finite = true;
    for (int i = 0; i < n; i++) {
        highest = fmaxf(highest, fabsf(element(x, type, i)));
        is_finite = is_finite && isfinite(element(x, type, i));
    }
    return sl_int8_scale(row, highest, is_finite);
}

/* To a whole number, nearest even; |x| < 2^22. Unlike rintf, a few instructions everywhere. */
static int8_t round_to_int8(float x)
{
    const float magic = 0x1.8p23f; /* leaves no bits for fractions */
    return (int8_t)((x + magic) - magic);
}

static void quantize(int8_t *out, struct sl_int8_row *row, const void *x, enum sl_type type, int n)
{
    const float factor = row_factor(row, x, type, n);
    row->sum = 0;
    memset(out, 0, sl_round_up((size_t)n, SL_INT8_STEP));
    for (int i = 0; factor > 0.0f && i < n; i++) {
        out[i] = round_to_int8(element(x, type, i) * factor);
        row->sum += out[i];
    }
}

static int32_t dot(const struct sl_gemm *g, const int8_t *x, int col)
{
    const char *column = sl_int8_column(g->packed, g->k, col);
    int32_t sum = 0;
    for (int i = 0; i < g->k; i++)
        sum += x[i] * (int8_t)column[sl_int8_offset((size_t)i)];
    return sum;
}

static void gemm(const struct sl_gemm *g)
{
    for (int row = 0; row < g->m; row++)
        for (int j = 0; j < g->n; j++) {
            const int32_t sum = dot(g, (const int8_t *)g->x + (size_t)row * g->x_stride, j);
            const float scale = *sl_int8_scales(g->packed, g->k, j);
            g->y[(size_t)row * g->y_stride + (size_t)j] =
                (float)sum * scale * g->int8_rows[row].scale;
        }
}

void sl_ref_int8(struct sl_kernels *t)
{
    t->int8_bias = 0;
    t->quantize = quantize;
    t->int8_gemm = gemm;
}

/* A row of W becomes a column of its panel. */
static float pack_column(unsigned char *to, const float *w, int k, unsigned bias)
{
    struct sl_int8_row row;
    const float factor = row_factor(&row, w, SL_F32, k);
    for (int i = 0; factor > 0.0f && i < k; i++)
        to[sl_int8_offset((size_t)i)] =
            (unsigned char)((unsigned)round_to_int8(w[i] * factor) + bias);
    return row.scale;
}

void sl_int8_pack(const struct sl_kernels *kernels, void *packed, const float *w, size_t stride,
                  int k, int n, int n_first, int n_last)
{
    assert(n_first % SL_PANEL == 0);
    assert(n_last % SL_PANEL == 0 || n_last == n);
    assert(k <= SL_INT8_DEPTH_MAX);
    const size_t panel_bytes = sl_int8_bytes(k, SL_PANEL);
    for (int col = n_first; col < n_last; col++) {
        unsigned char *panel = (unsigned char *)packed + (size_t)(col / SL_PANEL) * panel_bytes;
        float *scales = (float *)(void *)panel;
        if (col % SL_PANEL == 0) {
            memset(panel, (int)kernels->int8_bias, panel_bytes);
            memset(scales, 0, SL_PANEL * sizeof *scales);
        }
        const size_t at = (size_t)(sl_int8_column(packed, k, col) - (const char *)packed);
        scales[col % SL_PANEL] = pack_column((unsigned char *)packed + at, w + (size_t)col * stride,
                                             k, kernels->int8_bias);
    }
}
