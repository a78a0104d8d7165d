/* reference.c - the definition of every kernel in plain C; the other levels are tested against it.
 *
 * All of kernels/ is compiled with -ffp-contract=off. Where two levels promise the same bits, fused
 * multiply-adds are written as fmaf. In a matrix product every element is one chain of fmaf in the
 * order of k, so the fp32 levels agree to the bit. Sums without such a promise are in double. */
#include "base/bf16.h"
#include "base/int_math.h"
#include "kernels/isa_levels.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------------------ matrix products */

/* B as panels of SL_PANEL columns, each k x SL_PANEL, the last filled up with zeros. */
static size_t pack_bytes(int k, int n)
{
    const size_t panels = (size_t)sl_ceil_div(n, SL_PANEL);
    return panels * SL_PANEL * (size_t)k * sizeof(float);
}

static float element(const void *src, enum sl_type type, size_t i)
{
    return type == SL_F32 ? ((const float *)src)[i] : sl_bf16_to_f32(((const uint16_t *)src)[i]);
}

static float *packed_at(float *packed, int k, int row, int col)
{
    const size_t panel = (size_t)(col / SL_PANEL);
    return packed + (panel * (size_t)k + (size_t)row) * SL_PANEL + col % SL_PANEL;
}

static void pack(void *packed, const void *src, enum sl_type type, size_t stride, bool transposed,
                 int k, int n, int n_first, int n_last)
{
    assert(n_first % SL_PANEL == 0);
    assert(n_last % SL_PANEL == 0 || n_last == n);
    const int padded = sl_ceil_div(n_last, SL_PANEL) * SL_PANEL;
    for (int i = 0; i < k; i++)
        for (int j = n_first; j < padded; j++) {
            const size_t at =
                transposed ? (size_t)j * stride + (size_t)i : (size_t)i * stride + (size_t)j;
            *packed_at(packed, k, i, j) = j < n_last ? element(src, type, at) : 0.0f;
        }
}

/* Columns one after another. */
static bool compact(void *packed, int k, int n)
{
    const size_t count = pack_bytes(k, n) / sizeof(float);
    const float *from = packed;
    uint16_t *to = packed;
    for (size_t i = 0; i < count; i++)
        if (sl_bf16_to_f32(sl_bf16_of(from[i])) != from[i])
            return false;
    for (size_t i = 0; i < count; i++)
        to[i] = sl_bf16_of(from[i]);
    return true;
}

static void gemm(const struct sl_gemm *g)
{
    for (int row = 0; row < g->m; row++) {
        const float *x = (const float *)g->x + (size_t)row * g->x_stride;
        float *y = g->y + (size_t)row * g->y_stride;
        for (int j = 0; j < g->n; j++) {
            const size_t column =
                (size_t)(j / SL_PANEL) * (size_t)g->k * SL_PANEL + (size_t)(j % SL_PANEL);
            float sum = 0.0f;
            for (int i = 0; i < g->k; i++)
                sum = fmaf(x[i],
                           element(g->packed, g->compact ? SL_BF16 : SL_F32,
                                   column + (size_t)i * SL_PANEL),
                           sum);
            y[j] = g->accumulate ? y[j] + sum : sum;
        }
    }
}

/* fp32 operand rows have no padding, so `pad` has nothing to do. */
static void transpose(void *out, size_t out_stride, const void *x, size_t x_stride, int rows,
                      int cols, bool pad)
{
    (void)pad;
    const float *in = x;
    float *o = out;
    for (int c = 0; c < cols; c++)
        for (int r = 0; r < rows; r++)
            o[(size_t)c * out_stride + (size_t)r] = in[(size_t)r * x_stride + (size_t)c];
}

static void small_gemm(const struct sl_small_gemm *p)
{
    for (int i = 0; i < p->m; i++)
        for (int j = 0; j < p->n; j++) {
            const float *x = p->x + (size_t)i * p->x_row, *b = p->b + j;
            float *y = p->y + (size_t)i * p->y_row + j, sum = p->accumulate ? *y : 0.0f;
            for (int l = 0; l < p->k; l++)
                sum = fmaf(x[(size_t)l * p->x_col], b[(size_t)l * p->b_row], sum);
            *y = sum;
        }
}

static void copy(void *out, const void *x, int n)
{
    memcpy(out, x, (size_t)n * sizeof(float));
}

static void to_operands(void *out, const float *x, int n)
{
    copy(out, x, n);
}

static void from_operands(float *out, const void *operands, int n)
{
    copy(out, operands, n);
}

/* ----------------------------------------------------------------------------------------- rows */

static float dot(const float *x, const float *y, int n)
{
    double total = 0.0;
    for (int i = 0; i < n; i++)
        total += (double)x[i] * (double)y[i];
    return (float)total;
}

static float sum(const float *x, int n)
{
    double total = 0.0;
    for (int i = 0; i < n; i++)
        total += (double)x[i];
    return (float)total;
}

static void axpy(float *y, float a, const float *x, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = fmaf(a, x[i], y[i]);
}

static void scale(float *y, float a, const float *x, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = a * x[i];
}

/* The 32-bit finaliser of MurmurHash3. */
static uint32_t hash32(uint32_t h)
{
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

static float dropped(float x, struct sl_dropout d, uint32_t row_key, int column)
{
    const uint32_t c = (uint32_t)column, word = hash32(row_key ^ c / 2 * 0x9E3779B9u);
    const uint32_t half = c % 2 ? word >> 16 : word & 0xffff;
    return half >= d.threshold ? d.scale * x : 0.0f;
}

static void dropout(float *y, const float *x, struct sl_dropout d, uint32_t row_key, int first,
                    int n)
{
    for (int i = 0; i < n; i++)
        y[i] = dropped(x[i], d, row_key, first + i);
}

/* Phi(x), the normal distribution; erfc keeps the lower tail exact. */
static double normal_cdf(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2);
}

static double normal_density(double x)
{
    return 0.5 * M_SQRT1_2 * M_2_SQRTPI * exp(-0.5 * x * x);
}

static double logistic(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

/* The argument of tanh in the approximation of GELU, doubled: (1 + tanh(u / 2)) / 2 = logistic(u).
 * And its derivative. */
static double gelu_tanh_argument(double x)
{
    return 2.0 * M_SQRT2 / sqrt(M_PI) * (x + 0.044715 * x * x * x);
}

static double gelu_tanh_argument_slope(double x)
{
    return 2.0 * M_SQRT2 / sqrt(M_PI) * (1.0 + 3.0 * 0.044715 * x * x);
}

static float activate_one(float x, enum sl_activation f)
{
    const double d = (double)x;
    switch (f) {
    case SL_LINEAR: return x;
    case SL_RELU: return x < 0.0f ? 0.0f : x; /* so that a NaN stays one */
    case SL_GELU: return (float)(d * normal_cdf(d));
    case SL_GELU_TANH: return (float)(d * logistic(gelu_tanh_argument(d)));
    case SL_SILU: return (float)(d * logistic(d));
    case SL_TANH: return (float)tanh(d);
    }
    assert(false && "an activation without a formula");
    return x;
}

/* Of x logistic(u), with u' = slope. */
static float logistic_slope(double x, double u, double slope)
{
    const double p = logistic(u);
    return (float)(p + x * p * (1.0 - p) * slope);
}

static float slope_one(float x, enum sl_activation f)
{
    const double d = (double)x;
    switch (f) {
    case SL_LINEAR: return 1.0f;
    case SL_RELU: return x > 0.0f ? 1.0f : 0.0f;
    case SL_GELU: return (float)(normal_cdf(d) + d * normal_density(d));
    case SL_GELU_TANH: return logistic_slope(d, gelu_tanh_argument(d), gelu_tanh_argument_slope(d));
    case SL_SILU: return logistic_slope(d, d, 1.0);
    case SL_TANH: return (float)(1.0 - tanh(d) * tanh(d));
    }
    assert(false && "an activation without a slope");
    return 1.0f;
}

static void activate_with_slope(float *y, float *slope, const float *x, enum sl_activation f, int n)
{
    for (int i = 0; i < n; i++) {
        slope[i] = slope_one(x[i], f);
        y[i] = activate_one(x[i], f);
    }
}

static void multiply_to_operands(void *out, const float *x, const void *by, int n)
{
    float *o = out;
    const float *b = by;
    for (int i = 0; i < n; i++)
        o[i] = x[i] * b[i];
}

static void epilogue(const struct sl_epilogue *f)
{
    for (int i = 0; i < f->n; i++) {
        const float v = f->bias ? f->products[i] + f->bias[i] : f->products[i];
        float y = activate_one(v, f->activation), slope = slope_one(v, f->activation);
        if (f->dropout.threshold) {
            y = dropped(y, f->dropout, f->row_key, f->first + i);
            slope = dropped(slope, f->dropout, f->row_key, f->first + i);
        }
        *(f->out ? (float *)f->out + i : f->products + i) = y;
        if (f->slope)
            ((float *)f->slope)[i] = slope;
    }
}

static void sigmoid(float *y, const float *x, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 1.0f / (1.0f + expf(-x[i]));
}

static void softmax(float *x, int n, float *log_sum)
{
    float max = x[0];
    for (int i = 1; i < n; i++)
        max = x[i] > max ? x[i] : max;
    double total = 0.0;
    for (int i = 0; i < n; i++) {
        x[i] = expf(x[i] - max);
        total += (double)x[i];
    }
    scale(x, (float)(1.0 / total), x, n);
    // cppcheck-suppress invalidFunctionArg; n > 0, so one term is 1
    if (log_sum)
        *log_sum = max + (float)log(total);
}

static void softmax_rows(float *x, size_t stride, int rows, int n)
{
    for (int r = 0; r < rows; r++)
        softmax(x + (size_t)r * stride, n, NULL);
}

static void normalize_f32(float *y, const float *x, const struct sl_norm_row *norm, float stats[2])
{
    const int n = norm->n;
    double total = 0.0, squares = 0.0;
    for (int i = 0; i < n && !norm->rms; i++)
        total += (double)x[i];
    const double mean = total / n;
    for (int i = 0; i < n; i++)
        squares += ((double)x[i] - mean) * ((double)x[i] - mean);
    const double inverse = 1.0 / sqrt(squares / n + (double)norm->epsilon);
    for (int i = 0; i < n; i++)
        y[i] = (float)(((double)x[i] - mean) * inverse) * norm->weight[i] +
               (norm->bias ? norm->bias[i] : 0.0f);
    stats[0] = (float)mean;
    stats[1] = (float)inverse;
}

static void normalize(void *y, const float *x, const struct sl_norm_row *norm, float stats[2])
{
    normalize_f32(y, x, norm, stats);
}

static void centernorm(void *y, const float *x, const float *weight, const float *bias, float scale,
                       int n)
{
    const float mean = sum(x, n) / (float)n;
    float *out = y;
    for (int i = 0; i < n; i++)
        out[i] = weight[i] * (scale * (x[i] - mean)) + bias[i];
}

/* With xhat = (x - mean) inverse and u = weight dy:
 *     dx = inverse (u - mean(u) - xhat mean(u xhat))      without mean(u) when rms */
static void normalize_backward(const struct sl_norm_row *norm, const struct sl_norm_gradient *g)
{
    const float mean = g->stats[0], inverse = g->stats[1];
    double u_total = 0.0, ux_total = 0.0;
    for (int i = 0; i < norm->n; i++) {
        const float xhat = (g->x[i] - mean) * inverse, u = norm->weight[i] * g->dy[i];
        u_total += norm->rms ? 0.0 : (double)u;
        ux_total += (double)u * (double)xhat;
        g->dweight[i] += g->dy[i] * xhat;
        if (g->dbias)
            g->dbias[i] += g->dy[i];
    }
    const float u_mean = (float)(u_total / norm->n), ux_mean = (float)(ux_total / norm->n);
    for (int i = 0; i < norm->n; i++) {
        const float xhat = (g->x[i] - mean) * inverse;
        const float slope = inverse * (norm->weight[i] * g->dy[i] - u_mean - xhat * ux_mean);
        g->dx[i] = g->overwrite ? slope : g->dx[i] + slope;
    }
}

static void rotate(float *y, const float *x, const struct sl_rotation *r)
{
    const int half = r->half, rotated = 2 * half;
    for (int head = 0; head < r->heads; head++, x += r->head_dim, y += r->head_dim) {
        for (int j = 0; j < half; j++) {
            const float cosine = r->waves[j],
                        sine = r->back ? -r->waves[j + half] : r->waves[j + half];
            const float first = x[j], second = x[j + half];
            y[j] = first * cosine - second * sine;
            y[j + half] = second * cosine + first * sine;
        }
        memmove(y + rotated, x + rotated, (size_t)(r->head_dim - rotated) * sizeof *y);
    }
}

/* ------------------------------------------------------------------------------------ attention */

static void gather_dot(float *out, float a, const float *x, const void *rows,
                       const struct sl_row_list *l)
{
    for (int j = 0; j < l->n; j++)
        out[j] = a * dot(x, (const float *)rows + sl_row_offset(l, j), l->width);
}

static void gather_sum(float *out, const float *a, const void *rows, const struct sl_row_list *l)
{
    memset(out, 0, (size_t)l->width * sizeof *out);
    for (int j = 0; j < l->n; j++)
        axpy(out, a[j], (const float *)rows + sl_row_offset(l, j), l->width);
}

static void gather_sum_bf16(float *out, const float *a, const void *rows,
                            const struct sl_row_list *l)
{
    memset(out, 0, (size_t)l->width * sizeof *out);
    for (int j = 0; j < l->n; j++)
        for (int c = 0; c < l->width; c++)
            out[c] = fmaf(a[j], element(rows, SL_BF16, sl_row_offset(l, j) + (size_t)c), out[c]);
}

static void scatter_axpy(float *rows, const float *a, const float *x, const struct sl_row_list *l)
{
    for (int j = 0; j < l->n; j++)
        axpy(rows + sl_row_offset(l, j), a[j], x, l->width);
}

static void softmax_backward(const struct sl_softmax_backward *s)
{
    const float *e = s->e;
    for (int j = 0; j < s->n; j++) {
        const float p = s->rate * s->w[j] * e[j], slope = p * (s->dp[j] - s->mean);
        s->ds[j] = s->overwrite ? slope : s->ds[j] + slope;
        s->db[j] += slope;
    }
}

/* -------------------------------------------------------------------------------- the optimiser */

static void adamw(float *w, float *m, float *v, const float *g, const struct sl_adamw *a, int n)
{
    const float rest1 = 1.0f - a->b1, rest2 = 1.0f - a->b2, keep = 1.0f - a->decay;
    for (int i = 0; i < n; i++) {
        const float grad = g[i] * a->grad_scale;
        m[i] = fmaf(a->b1, m[i], rest1 * grad);
        v[i] = fmaf(a->b2, v[i], rest2 * (grad * grad));
        const float step = a->rate * m[i] / (sqrtf(v[i] / a->correction2) + a->epsilon);
        w[i] = fmaf(w[i], keep, -step);
    }
}

void sl_ref_kernels(struct sl_kernels *t)
{
    *t = (struct sl_kernels){
        .operand = SL_F32,
        .pack_bytes = pack_bytes,
        .pack = pack,
        .compact = compact,
        .compact_lanes = 1,
        .gemm = gemm,
        .transpose = transpose,
        .small_gemm = small_gemm,
        .to_operands = to_operands,
        .from_operands = from_operands,
        .dot = dot,
        .sum = sum,
        .axpy = axpy,
        .scale = scale,
        .dropout = dropout,
        .activate_with_slope = activate_with_slope,
        .multiply_to_operands = multiply_to_operands,
        .epilogue = epilogue,
        .sigmoid = sigmoid,
        .softmax = softmax,
        .softmax_rows = softmax_rows,
        .normalize = normalize,
        .normalize_f32 = normalize_f32,
        .centernorm = centernorm,
        .normalize_backward = normalize_backward,
        .rotate = rotate,
        .gather_dot = gather_dot,
        .gather_sum = gather_sum,
        .gather_sum_bf16 = gather_sum_bf16,
        .scatter_axpy = scatter_axpy,
        .attention_scratch = sl_attention_rows_scratch,
        .attention = sl_attention_rows,
        .attention_backward = sl_attention_rows_backward,
        .softmax_backward = softmax_backward,
        .adamw = adamw,
    };
    sl_ref_int8(t);
}
