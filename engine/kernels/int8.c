/* int8.c - packs matrices as int8, for all levels, and defines the int8 slots. */
#include "kernels/int8.h"

#include "base/bf16.h"
#include "base/int_math.h"
#include "kernels/isa_levels.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static float element(const void *x, enum sl_type type, int i)
{
    return type == SL_F32 ? ((const float *)x)[i] : sl_bf16_to_f32(((const uint16_t *)x)[i]);
}

/* The scale of n numbers and the factor before rounding, as sl_int8_scale. */
static float factor_of(float *scale, const void *x, enum sl_type type, int n)
{
    float highest = 0.0f;
    bool is_finite = true;
    for (int i = 0; i < n; i++) {
        highest = fmaxf(highest, fabsf(element(x, type, i)));
        is_finite = is_finite && isfinite(element(x, type, i));
    }
    return sl_int8_scale(scale, highest, is_finite);
}

/* To a whole number, nearest even; |x| < 2^22. Unlike rintf, a few instructions everywhere. */
static int8_t round_to_int8(float x)
{
    const float magic = 0x1.8p23f; /* leaves no bits for fractions */
    return (int8_t)((x + magic) - magic);
}

static void quantize_group(int8_t *out, struct sl_int8_group *to, const void *x, enum sl_type type,
                           int n)
{
    const float factor = factor_of(&to->scale, x, type, n);
    to->sum = 0;
    memset(out, 0, sl_round_up((size_t)n, SL_INT8_STEP));
    for (int i = 0; factor > 0.0f && i < n; i++) {
        out[i] = round_to_int8(element(x, type, i) * factor);
        to->sum += out[i];
    }
}

static void quantize(int8_t *out, struct sl_int8_group *groups, const void *x, enum sl_type type,
                     int n, int group)
{
    for (int at = 0; at < n; at += group)
        quantize_group(out + at, groups++, (const char *)x + (size_t)at * sl_type_bytes(type), type,
                       sl_min(group, n - at));
}

/* Of columns first .. last of x. */
static int32_t dot(const struct sl_gemm *g, const int8_t *x, int col, int first, int last)
{
    const char *column = sl_int8_column(g->packed, g->k, g->int8_group, col);
    int32_t sum = 0;
    for (int i = first; i < last; i++)
        sum += x[i] * (int8_t)column[sl_int8_offset((size_t)i)];
    return sum;
}

static float product(const struct sl_gemm *g, int row, int col)
{
    const int groups = sl_int8_groups(g->k, g->int8_group);
    const int8_t *x = (const int8_t *)g->x + (size_t)row * g->x_stride;
    const float *scales = sl_int8_scales(g->packed, g->k, g->int8_group, col);
    float sum = 0.0f;
    for (int i = 0, at = 0; i < groups; i++, at += g->int8_group) {
        const int32_t part = dot(g, x, col, at, sl_min(at + g->int8_group, g->k));
        const float scaled =
            (float)part * g->int8_groups[row * groups + i].scale * scales[i * SL_PANEL];
        sum = i == 0 ? scaled : sum + scaled;
    }
    return sum;
}

static void gemm(const struct sl_gemm *g)
{
    for (int row = 0; row < g->m; row++)
        for (int j = 0; j < g->n; j++)
            g->y[(size_t)row * g->y_stride + (size_t)j] = product(g, row, j);
}

void sl_ref_int8(struct sl_kernels *t)
{
    t->int8_bias = 0;
    t->int8_group = SL_INT8_GROUP;
    t->quantize = quantize;
    t->int8_gemm = gemm;
}

/* A group of a row of W becomes a part of a column. Returns its scale. */
static float pack_group(unsigned char *to, const float *w, int first, int last, unsigned bias)
{
    float scale;
    const float factor = factor_of(&scale, w + first, SL_F32, last - first);
    for (int i = first; factor > 0.0f && i < last; i++)
        to[sl_int8_offset((size_t)i)] =
            (unsigned char)((unsigned)round_to_int8(w[i] * factor) + bias);
    return scale;
}

/* A row of W becomes a column of its panel. */
static void pack_column(const struct sl_kernels *kernels, char *panel, int col, const float *w,
                        int k)
{
    const int group = kernels->int8_group, at = col % SL_PANEL;
    float *scales = (float *)(void *)panel + at;
    unsigned char *to =
        (unsigned char *)panel + (sl_int8_column(panel, k, group, at) - (const char *)panel);
    for (int first = 0; first < k; first += group, scales += SL_PANEL)
        *scales = pack_group(to, w, first, sl_min(first + group, k), kernels->int8_bias);
}

void sl_int8_pack(const struct sl_kernels *kernels, void *packed, const float *w, size_t stride,
                  int k, int n, int n_first, int n_last)
{
    assert(n_first % SL_PANEL == 0);
    assert(n_last % SL_PANEL == 0 || n_last == n);
    assert(k <= SL_INT8_DEPTH_MAX);
    const size_t panel_bytes = sl_int8_bytes(k, SL_PANEL, kernels->int8_group);
    const int groups = sl_int8_groups(k, kernels->int8_group);
    for (int col = n_first; col < n_last; col++) {
        char *panel = (char *)packed + (size_t)(col / SL_PANEL) * panel_bytes;
        if (col % SL_PANEL == 0) {
            memset(panel, (int)kernels->int8_bias, panel_bytes);
            memset(panel, 0, (size_t)groups * SL_PANEL * sizeof(float));
        }
        pack_column(kernels, panel, col, w + (size_t)col * stride, k);
    }
}
