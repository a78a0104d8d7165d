/* avx2_rows.c - row slots, 8 floats at a time; the last few by mask. */
#include "kernels/avx2_math.h"
#include "kernels/isa_levels.h"

#include <assert.h>
#include <math.h>

enum { LANES = 8 };

/* Two sums in turn hide half of the latency of an addition; the order depends on n alone. */
static float dot(const float *x, const float *y, int n)
{
    __m256 even = _mm256_setzero_ps(), odd = even;
    for (int i = 0; i < n; i += 2 * LANES) {
        const int rest = n - i - LANES;
        even = _mm256_fmadd_ps(sl_load8(x + i, n - i), sl_load8(y + i, n - i), even);
        if (rest > 0)
            odd =
                _mm256_fmadd_ps(sl_load8(x + i + LANES, rest), sl_load8(y + i + LANES, rest), odd);
    }
    return sl_sum8(_mm256_add_ps(even, odd));
}

static float sum(const float *x, int n)
{
    __m256 total = _mm256_setzero_ps();
    for (int i = 0; i < n; i += LANES)
        total = _mm256_add_ps(total, sl_load8(x + i, n - i));
    return sl_sum8(total);
}

static void axpy(float *y, float a, const float *x, int n)
{
    const __m256 factor = _mm256_set1_ps(a);
    for (int i = 0; i < n; i += LANES)
        sl_store8(y + i, n - i,
                  _mm256_fmadd_ps(factor, sl_load8(x + i, n - i), sl_load8(y + i, n - i)));
}

static void scale(float *y, float a, const float *x, int n)
{
    const __m256 factor = _mm256_set1_ps(a);
    for (int i = 0; i < n; i += LANES)
        sl_store8(y + i, n - i, _mm256_mul_ps(factor, sl_load8(x + i, n - i)));
}

static void dropout(float *y, const float *x, struct sl_dropout d, uint32_t row_key, int first,
                    int n)
{
    assert(first % 2 == 0);
    assert(d.threshold < 65536);
    const __m256 factor = _mm256_set1_ps(d.scale);
    for (int i = 0; i < n; i += LANES) {
        const __m256 kept = sl_dropout_mask8(d.threshold, row_key, (uint32_t)(first + i));
        const __m256 v = _mm256_mul_ps(factor, sl_load8(x + i, n - i));
        sl_store8(y + i, n - i, _mm256_and_ps(kept, v));
    }
}

/* f(x) and f'(x); the compiler drops what is not used. */
static inline void activate8(__m256 x, enum sl_activation f, __m256 *y, __m256 *slope)
{
    const __m256 zero = _mm256_setzero_ps(), one = _mm256_set1_ps(1.0f);
    const struct sl_normal8 n = sl_normal8(sl_abs8(x));
    switch (f) {
    case SL_LINEAR:
        *y = x;
        *slope = one;
        return;
    case SL_RELU:
        *y = _mm256_max_ps(zero, x); /* a NaN stays */
        *slope = _mm256_and_ps(_mm256_cmp_ps(x, zero, _CMP_GT_OQ), one);
        return;
    case SL_GELU:
        *y = sl_gelu8(x, &n);
        *slope = sl_gelu_slope8(x, &n);
        return;
    }
    assert(false && "an activation without a formula");
}

static void activate(float *y, const float *x, enum sl_activation f, int n)
{
    for (int i = 0; i < n; i += LANES) {
        __m256 v, slope;
        activate8(sl_load8(x + i, n - i), f, &v, &slope);
        sl_store8(y + i, n - i, v);
    }
}

static void activate_with_slope(float *y, float *slope, const float *x, enum sl_activation f, int n)
{
    for (int i = 0; i < n; i += LANES) {
        __m256 v, s;
        activate8(sl_load8(x + i, n - i), f, &v, &s);
        sl_store8(y + i, n - i, v);
        sl_store8(slope + i, n - i, s);
    }
}

static void multiply_to_operands(void *out, const float *x, const void *by, int n)
{
    const float *b = by;
    for (int i = 0; i < n; i += LANES)
        sl_store8((float *)out + i, n - i,
                  _mm256_mul_ps(sl_load8(x + i, n - i), sl_load8(b + i, n - i)));
}

static void epilogue(const struct sl_epilogue *f)
{
    sl_epilogue_rows(sl_kernels_for(SL_ISA_AVX2), f);
}

static void sigmoid(float *y, const float *x, int n)
{
    for (int i = 0; i < n; i += LANES)
        sl_store8(y + i, n - i, sl_sigmoid8(sl_load8(x + i, n - i)));
}

static float maximum(const float *x, int n)
{
    const __m256 lowest = _mm256_set1_ps(-INFINITY);
    __m256 max = lowest;
    for (int i = 0; i < n; i += LANES) {
        const __m256 v =
            _mm256_blendv_ps(lowest, sl_load8(x + i, n - i), _mm256_castsi256_ps(sl_first8(n - i)));
        max = _mm256_max_ps(max, v);
    }
    return sl_max8(max);
}

static float softmax(float *x, int n)
{
    const float largest = maximum(x, n);
    const __m256 max = _mm256_set1_ps(largest);
    __m256 sums = _mm256_setzero_ps();
    for (int i = 0; i < n; i += LANES) {
        const __m256 e = sl_exp8(_mm256_sub_ps(sl_load8(x + i, n - i), max));
        sl_store8(x + i, n - i, e);
        sums = _mm256_add_ps(sums, sl_zero_past8(e, n - i));
    }
    const float total = sl_sum8(sums);
    scale(x, 1.0f / total, x, n);
    return largest + logf(total);
}

static void moments(const float *x, int n, float epsilon, float stats[2])
{
    const float mean = sum(x, n) / (float)n;
    const __m256 means = _mm256_set1_ps(mean);
    __m256 squares = _mm256_setzero_ps();
    for (int i = 0; i < n; i += LANES) {
        const __m256 d = sl_zero_past8(_mm256_sub_ps(sl_load8(x + i, n - i), means), n - i);
        squares = _mm256_fmadd_ps(d, d, squares);
    }
    stats[0] = mean;
    stats[1] = 1.0f / sqrtf(sl_sum8(squares) / (float)n + epsilon);
}

static __m256 normalised(const float *x, int n, const float stats[2])
{
    const __m256 from_mean = _mm256_sub_ps(sl_load8(x, n), _mm256_set1_ps(stats[0]));
    return _mm256_mul_ps(from_mean, _mm256_set1_ps(stats[1]));
}

static void layernorm_f32(float *y, const float *x, const float *weight, const float *bias,
                          float epsilon, int n, float stats[2])
{
    moments(x, n, epsilon, stats);
    for (int i = 0; i < n; i += LANES)
        sl_store8(y + i, n - i,
                  _mm256_fmadd_ps(normalised(x + i, n - i, stats), sl_load8(weight + i, n - i),
                                  sl_load8(bias + i, n - i)));
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
    __m256 us = _mm256_setzero_ps(), uxs = us;
    for (int i = 0; i < n; i += LANES) {
        const __m256 d = sl_load8(dy + i, n - i), xhat = normalised(x + i, n - i, stats);
        const __m256 u = _mm256_mul_ps(d, sl_load8(weight + i, n - i));
        us = _mm256_add_ps(us, u);
        uxs = _mm256_fmadd_ps(u, xhat, uxs);
        sl_store8(dweight + i, n - i, _mm256_fmadd_ps(d, xhat, sl_load8(dweight + i, n - i)));
        sl_store8(dbias + i, n - i, _mm256_add_ps(d, sl_load8(dbias + i, n - i)));
    }
    means[0] = sl_sum8(us) / (float)n;
    means[1] = sl_sum8(uxs) / (float)n;
}

static void layernorm_backward(float *dx, bool overwrite, const float *dy, const float *x,
                               const float *weight, const float stats[2], float *dweight,
                               float *dbias, int n)
{
    float means[2];
    slope_means(dy, x, weight, stats, dweight, dbias, n, means);
    const __m256 inverse = _mm256_set1_ps(stats[1]);
    const __m256 u_mean = _mm256_set1_ps(means[0]), ux_mean = _mm256_set1_ps(means[1]);
    for (int i = 0; i < n; i += LANES) {
        const __m256 xhat = normalised(x + i, n - i, stats);
        const __m256 u = _mm256_mul_ps(sl_load8(dy + i, n - i), sl_load8(weight + i, n - i));
        __m256 slope = _mm256_fnmadd_ps(xhat, ux_mean, _mm256_sub_ps(u, u_mean));
        slope = _mm256_mul_ps(slope, inverse);
        if (!overwrite)
            slope = _mm256_add_ps(slope, sl_load8(dx + i, n - i));
        sl_store8(dx + i, n - i, slope);
    }
}

static void softmax_backward(const struct sl_softmax_backward *s)
{
    const float *e = s->e;
    const __m256 rate = _mm256_set1_ps(s->rate), mean = _mm256_set1_ps(s->mean);
    for (int j = 0; j < s->n; j += LANES) {
        const int k = s->n - j;
        const __m256 w = _mm256_mul_ps(rate, sl_load8(s->w + j, k));
        const __m256 p = _mm256_mul_ps(w, sl_load8(e + j, k));
        const __m256 slope = _mm256_mul_ps(p, _mm256_sub_ps(sl_load8(s->dp + j, k), mean));
        const __m256 ds = s->overwrite ? slope : _mm256_add_ps(sl_load8(s->ds + j, k), slope);
        sl_store8(s->ds + j, k, ds);
        sl_store8(s->db + j, k, _mm256_add_ps(sl_load8(s->db + j, k), slope));
    }
}

/* The same operations in the same order as the reference, so the same bits. */
static void adamw(float *w, float *m, float *v, const float *g, const struct sl_adamw *a, int n)
{
    const __m256 b1 = _mm256_set1_ps(a->b1), rest1 = _mm256_set1_ps(1.0f - a->b1);
    const __m256 b2 = _mm256_set1_ps(a->b2), rest2 = _mm256_set1_ps(1.0f - a->b2);
    const __m256 keep = _mm256_set1_ps(1.0f - a->decay), rate = _mm256_set1_ps(a->rate);
    for (int i = 0; i < n; i += LANES) {
        const int k = n - i;
        const __m256 grad = _mm256_mul_ps(sl_load8(g + i, k), _mm256_set1_ps(a->grad_scale));
        const __m256 m_new = _mm256_fmadd_ps(b1, sl_load8(m + i, k), _mm256_mul_ps(rest1, grad));
        const __m256 v_new = _mm256_fmadd_ps(b2, sl_load8(v + i, k),
                                             _mm256_mul_ps(rest2, _mm256_mul_ps(grad, grad)));
        const __m256 root = _mm256_sqrt_ps(_mm256_div_ps(v_new, _mm256_set1_ps(a->correction2)));
        const __m256 step = _mm256_div_ps(_mm256_mul_ps(rate, m_new),
                                          _mm256_add_ps(root, _mm256_set1_ps(a->epsilon)));
        sl_store8(m + i, k, m_new);
        sl_store8(v + i, k, v_new);
        sl_store8(w + i, k, _mm256_fmsub_ps(sl_load8(w + i, k), keep, step));
    }
}

void sl_avx2_rows(struct sl_kernels *t)
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
