/* avx512_rows.c - row slots, 16 floats at a time; the last few by mask. */
#include "kernels/avx512_math.h"
#include "kernels/isa_levels.h"

#include <assert.h>
#include <math.h>

enum { LANES = 16 };

/* Two sums in turn hide half of the latency of an addition; the order depends on n alone. */
static float dot(const float *x, const float *y, int n)
{
    __m512 even = _mm512_setzero_ps(), odd = even;
    for (int i = 0; i < n; i += 2 * LANES) {
        const __mmask16 a = sl_first16(n - i), b = sl_first16(n - i - LANES);
        even =
            _mm512_fmadd_ps(_mm512_maskz_loadu_ps(a, x + i), _mm512_maskz_loadu_ps(a, y + i), even);
        if (b)
            odd = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(b, x + i + LANES),
                                  _mm512_maskz_loadu_ps(b, y + i + LANES), odd);
    }
    return sl_sum16(_mm512_add_ps(even, odd));
}

static float sum(const float *x, int n)
{
    __m512 total = _mm512_setzero_ps();
    for (int i = 0; i < n; i += LANES)
        total = _mm512_add_ps(total, _mm512_maskz_loadu_ps(sl_first16(n - i), x + i));
    return sl_sum16(total);
}

static void axpy(float *y, float a, const float *x, int n)
{
    const __m512 factor = _mm512_set1_ps(a);
    for (int i = 0; i < n; i += LANES) {
        const __mmask16 mask = sl_first16(n - i);
        const __m512 old = _mm512_maskz_loadu_ps(mask, y + i);
        _mm512_mask_storeu_ps(y + i, mask,
                              _mm512_fmadd_ps(factor, _mm512_maskz_loadu_ps(mask, x + i), old));
    }
}

static void scale(float *y, float a, const float *x, int n)
{
    const __m512 factor = _mm512_set1_ps(a);
    for (int i = 0; i < n; i += LANES) {
        const __mmask16 mask = sl_first16(n - i);
        _mm512_mask_storeu_ps(y + i, mask,
                              _mm512_mul_ps(factor, _mm512_maskz_loadu_ps(mask, x + i)));
    }
}

static void dropout(float *y, const float *x, struct sl_dropout d, uint32_t row_key, int first,
                    int n)
{
    assert(first % 2 == 0);
    assert(d.threshold < 65536);
    const __m512 factor = _mm512_set1_ps(d.scale);
    for (int i = 0; i < n; i += 2 * LANES) {
        const __mmask32 kept = sl_dropout_mask32(d.threshold, row_key, (uint32_t)(first + i));
        for (int half = 0; half < 2 && i + half * LANES < n; half++) {
            const int at = i + half * LANES;
            const __mmask16 mask = sl_first16(n - at), keep = (__mmask16)(kept >> half * LANES);
            const __m512 v = _mm512_maskz_loadu_ps(mask, x + at);
            _mm512_mask_storeu_ps(y + at, mask, _mm512_maskz_mul_ps(keep, factor, v));
        }
    }
}

static void activate(float *y, const float *x, enum sl_activation f, int n)
{
    for (int i = 0; i < n; i += LANES) {
        const __mmask16 mask = sl_first16(n - i);
        __m512 v, slope;
        sl_activate16(_mm512_maskz_loadu_ps(mask, x + i), f, &v, &slope);
        _mm512_mask_storeu_ps(y + i, mask, v);
    }
}

static void activate_with_slope(float *y, float *slope, const float *x, enum sl_activation f, int n)
{
    for (int i = 0; i < n; i += LANES) {
        const __mmask16 mask = sl_first16(n - i);
        __m512 v, s;
        sl_activate16(_mm512_maskz_loadu_ps(mask, x + i), f, &v, &s);
        _mm512_mask_storeu_ps(y + i, mask, v);
        _mm512_mask_storeu_ps(slope + i, mask, s);
    }
}

static void multiply_to_operands(void *out, const float *x, const void *by, int n)
{
    const float *b = by;
    for (int i = 0; i < n; i += LANES) {
        const __mmask16 mask = sl_first16(n - i);
        const __m512 v = _mm512_maskz_loadu_ps(mask, x + i);
        const __m512 product = _mm512_mul_ps(v, _mm512_maskz_loadu_ps(mask, b + i));
        _mm512_mask_storeu_ps((float *)out + i, mask, product);
    }
}

static void epilogue(const struct sl_epilogue *f)
{
    sl_epilogue_rows(sl_kernels_for(SL_ISA_AVX512), f);
}

static void sigmoid(float *y, const float *x, int n)
{
    for (int i = 0; i < n; i += LANES) {
        const __mmask16 mask = sl_first16(n - i);
        _mm512_mask_storeu_ps(y + i, mask, sl_sigmoid16(_mm512_maskz_loadu_ps(mask, x + i)));
    }
}

static float maximum(const float *x, int n)
{
    const __m512 lowest = _mm512_set1_ps(-INFINITY);
    __m512 max = lowest;
    for (int i = 0; i < n; i += LANES)
        max = _mm512_max_ps(max, _mm512_mask_loadu_ps(lowest, sl_first16(n - i), x + i));
    return sl_max16(max);
}

static float softmax(float *x, int n)
{
    const float largest = maximum(x, n);
    const __m512 max = _mm512_set1_ps(largest);
    __m512 sums = _mm512_setzero_ps();
    for (int i = 0; i < n; i += LANES) {
        const __mmask16 mask = sl_first16(n - i);
        const __m512 e = sl_exp16(_mm512_sub_ps(_mm512_maskz_loadu_ps(mask, x + i), max));
        _mm512_mask_storeu_ps(x + i, mask, e);
        sums = _mm512_mask_add_ps(sums, mask, sums, e);
    }
    const float total = sl_sum16(sums);
    scale(x, 1.0f / total, x, n);
    return largest + logf(total);
}

void sl_avx512_moments(const float *x, int n, float epsilon, float stats[2])
{
    const float mean = sum(x, n) / (float)n;
    const __m512 means = _mm512_set1_ps(mean);
    __m512 squares = _mm512_setzero_ps();
    for (int i = 0; i < n; i += LANES) {
        const __mmask16 mask = sl_first16(n - i);
        const __m512 d = _mm512_sub_ps(_mm512_maskz_loadu_ps(mask, x + i), means);
        squares = _mm512_mask3_fmadd_ps(d, d, squares, mask);
    }
    stats[0] = mean;
    stats[1] = 1.0f / sqrtf(sl_sum16(squares) / (float)n + epsilon);
}

static void layernorm_f32(float *y, const float *x, const float *weight, const float *bias,
                          float epsilon, int n, float stats[2])
{
    sl_avx512_moments(x, n, epsilon, stats);
    const __m512 mean = _mm512_set1_ps(stats[0]), inverse = _mm512_set1_ps(stats[1]);
    for (int i = 0; i < n; i += LANES) {
        const __mmask16 mask = sl_first16(n - i);
        const __m512 d = _mm512_sub_ps(_mm512_maskz_loadu_ps(mask, x + i), mean);
        const __m512 g = _mm512_maskz_loadu_ps(mask, weight + i);
        const __m512 s = _mm512_maskz_loadu_ps(mask, bias + i);
        _mm512_mask_storeu_ps(y + i, mask, _mm512_fmadd_ps(_mm512_mul_ps(d, inverse), g, s));
    }
}

static void layernorm(void *y, const float *x, const float *weight, const float *bias,
                      float epsilon, int n, float stats[2])
{
    layernorm_f32(y, x, weight, bias, epsilon, n, stats);
}

/* mean(u) and mean(u xhat) with u = weight dy; dweight and dbias on the way. */
static void slope_means(const float *dy, const float *x, const float *weight, const float stats[2],
                        float *dweight, float *dbias, int n, float means[2])
{
    const __m512 mean = _mm512_set1_ps(stats[0]), inverse = _mm512_set1_ps(stats[1]);
    __m512 us = _mm512_setzero_ps(), uxs = us;
    for (int i = 0; i < n; i += LANES) {
        const __mmask16 mask = sl_first16(n - i);
        const __m512 d = _mm512_maskz_loadu_ps(mask, dy + i);
        const __m512 from_mean = _mm512_sub_ps(_mm512_maskz_loadu_ps(mask, x + i), mean);
        const __m512 xhat = _mm512_mul_ps(from_mean, inverse);
        const __m512 u = _mm512_mul_ps(d, _mm512_maskz_loadu_ps(mask, weight + i));
        us = _mm512_add_ps(us, u);
        uxs = _mm512_fmadd_ps(u, xhat, uxs);
        const __m512 dg = _mm512_fmadd_ps(d, xhat, _mm512_maskz_loadu_ps(mask, dweight + i));
        _mm512_mask_storeu_ps(dweight + i, mask, dg);
        const __m512 ds = _mm512_add_ps(d, _mm512_maskz_loadu_ps(mask, dbias + i));
        _mm512_mask_storeu_ps(dbias + i, mask, ds);
    }
    means[0] = sl_sum16(us) / (float)n;
    means[1] = sl_sum16(uxs) / (float)n;
}

static void layernorm_backward(float *dx, bool overwrite, const float *dy, const float *x,
                               const float *weight, const float stats[2], float *dweight,
                               float *dbias, int n)
{
    float means[2];
    slope_means(dy, x, weight, stats, dweight, dbias, n, means);
    const __m512 mean = _mm512_set1_ps(stats[0]), inverse = _mm512_set1_ps(stats[1]);
    const __m512 u_mean = _mm512_set1_ps(means[0]), ux_mean = _mm512_set1_ps(means[1]);
    for (int i = 0; i < n; i += LANES) {
        const __mmask16 mask = sl_first16(n - i);
        const __m512 from_mean = _mm512_sub_ps(_mm512_maskz_loadu_ps(mask, x + i), mean);
        const __m512 xhat = _mm512_mul_ps(from_mean, inverse);
        const __m512 u = _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, dy + i),
                                       _mm512_maskz_loadu_ps(mask, weight + i));
        __m512 slope = _mm512_fnmadd_ps(xhat, ux_mean, _mm512_sub_ps(u, u_mean));
        slope = _mm512_mul_ps(slope, inverse);
        if (!overwrite)
            slope = _mm512_add_ps(slope, _mm512_maskz_loadu_ps(mask, dx + i));
        _mm512_mask_storeu_ps(dx + i, mask, slope);
    }
}

static void softmax_backward(const struct sl_softmax_backward *s)
{
    const float *e = s->e;
    for (int j = 0; j < s->n; j += LANES) {
        const __mmask16 mask = sl_first16(s->n - j);
        sl_softmax_backward16(s, j, mask, _mm512_maskz_loadu_ps(mask, e + j));
    }
}

/* The same operations in the same order as the reference, so the same bits. */
static void adamw(float *w, float *m, float *v, const float *g, const struct sl_adamw *a, int n)
{
    const __m512 b1 = _mm512_set1_ps(a->b1), rest1 = _mm512_set1_ps(1.0f - a->b1);
    const __m512 b2 = _mm512_set1_ps(a->b2), rest2 = _mm512_set1_ps(1.0f - a->b2);
    const __m512 keep = _mm512_set1_ps(1.0f - a->decay), rate = _mm512_set1_ps(a->rate);
    for (int i = 0; i < n; i += LANES) {
        const __mmask16 k = sl_first16(n - i);
        const __m512 grad =
            _mm512_mul_ps(_mm512_maskz_loadu_ps(k, g + i), _mm512_set1_ps(a->grad_scale));
        const __m512 m_new =
            _mm512_fmadd_ps(b1, _mm512_maskz_loadu_ps(k, m + i), _mm512_mul_ps(rest1, grad));
        const __m512 v_new = _mm512_fmadd_ps(b2, _mm512_maskz_loadu_ps(k, v + i),
                                             _mm512_mul_ps(rest2, _mm512_mul_ps(grad, grad)));
        const __m512 root = _mm512_sqrt_ps(_mm512_div_ps(v_new, _mm512_set1_ps(a->correction2)));
        const __m512 step = _mm512_div_ps(_mm512_mul_ps(rate, m_new),
                                          _mm512_add_ps(root, _mm512_set1_ps(a->epsilon)));
        _mm512_mask_storeu_ps(m + i, k, m_new);
        _mm512_mask_storeu_ps(v + i, k, v_new);
        _mm512_mask_storeu_ps(w + i, k,
                              _mm512_fmsub_ps(_mm512_maskz_loadu_ps(k, w + i), keep, step));
    }
}

void sl_avx512_rows(struct sl_kernels *t)
{
    t->dot = dot;
    t->sum = sum;
    t->axpy = axpy;
    t->scale = scale;
    t->dropout = dropout;
    t->activate = activate;
    t->activate_with_slope = activate_with_slope;
    t->multiply_to_operands = multiply_to_operands;
    t->epilogue = epilogue;
    t->sigmoid = sigmoid;
    t->softmax = softmax;
    t->layernorm = layernorm;
    t->layernorm_f32 = layernorm_f32;
    t->layernorm_backward = layernorm_backward;
    t->softmax_backward = softmax_backward;
    t->adamw = adamw;
}
