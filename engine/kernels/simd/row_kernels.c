/* row_kernels.c - row slots, a vector at a time. */
#include "kernels/simd/level.h"
#include "kernels/simd/operands.h"
#include "kernels/simd/vec_math.h"

#include <assert.h>
#include <math.h>

/* Two sums in turn hide half of the latency of an addition; the order depends on n alone. */
static float dot(const float *x, const float *y, int n)
{
    vec even = vec_set(0.0f), odd = even;
    for (int i = 0; i < n; i += 2 * LANES) {
        const int rest = n - i - LANES;
        even = vec_fma(vec_load(x + i, n - i), vec_load(y + i, n - i), even);
        if (rest > 0)
            odd = vec_fma(vec_load(x + i + LANES, rest), vec_load(y + i + LANES, rest), odd);
    }
    return vec_sum(even + odd);
}

static float sum(const float *x, int n)
{
    return vec_sum_row(x, n);
}

static void axpy(float *y, float a, const float *x, int n)
{
    const vec factor = vec_set(a);
    for (int i = 0; i < n; i += LANES)
        vec_store(y + i, n - i, vec_fma(factor, vec_load(x + i, n - i), vec_load(y + i, n - i)));
}

static void scale(float *y, float a, const float *x, int n)
{
    const vec factor = vec_set(a);
    for (int i = 0; i < n; i += LANES)
        vec_store(y + i, n - i, factor * vec_load(x + i, n - i));
}

static struct vec_pair scaled(struct vec_pair v, float a)
{
    return (struct vec_pair){vec_set(a) * v.low, vec_set(a) * v.high};
}

static void dropout(float *y, const float *x, struct sl_dropout d, uint32_t row_key, int first,
                    int n)
{
    assert(first % 2 == 0);
    assert(d.threshold < 65536);
    for (int i = 0; i < n; i += 2 * LANES) {
        const uvec words = vec_dropout_words(row_key, (uint32_t)(first + i));
        const struct vec_pair v = scaled(vec_load_pair(x + i, n - i), d.scale);
        vec_store_pair(y + i, n - i, vec_drop(v, words, d.threshold));
    }
}

static void activate_with_slope(float *y, float *slope, const float *x, enum sl_activation f, int n)
{
    for (int i = 0; i < n; i += LANES) {
        vec v, s;
        vec_activate(vec_load(x + i, n - i), f, &v, &s);
        vec_store(y + i, n - i, v);
        vec_store(slope + i, n - i, s);
    }
}

static void to_operands(void *out, const float *x, int n)
{
    for (int i = 0; i < n; i += 2 * LANES)
        operand_store_pair((operand *)out + i, n - i, vec_load_pair(x + i, n - i));
}

static void from_operands(float *out, const void *operands, int n)
{
    for (int i = 0; i < n; i += LANES)
        vec_store(out + i, n - i, operand_load((const operand *)operands + i, n - i));
}

static void multiply_to_operands(void *out, const float *x, const void *by, int n)
{
    for (int i = 0; i < n; i += 2 * LANES) {
        const operand *b = (const operand *)by + i;
        const int rest = n - i - LANES;
        struct vec_pair v = vec_load_pair(x + i, n - i);
        v.low *= operand_load(b, n - i);
        if (rest > 0)
            v.high *= operand_load(b + LANES, rest);
        operand_store_pair((operand *)out + i, n - i, v);
    }
}

/* `slopes`, a constant: whether f->slope is set. */
static inline __attribute__((always_inline)) void epilogue_of(const struct sl_epilogue *f,
                                                              const bool slopes)
{
    const struct sl_dropout d = f->dropout;
    for (int i = 0; i < f->n; i += 2 * LANES) {
        const int n = f->n - i;
        struct vec_pair v = vec_load_pair(f->products + i, n), y, slope;
        if (f->bias) {
            const struct vec_pair bias = vec_load_pair(f->bias + i, n);
            v = (struct vec_pair){v.low + bias.low, v.high + bias.high};
        }
        vec_activate(v.low, f->activation, &y.low, &slope.low);
        vec_activate(v.high, f->activation, &y.high, &slope.high);
        if (f->out)
            y = operand_activate(v, f->activation);
        if (d.threshold) {
            const uvec words = vec_dropout_words(f->row_key, (uint32_t)(f->first + i));
            y = vec_drop(scaled(y, d.scale), words, d.threshold);
            slope = vec_drop(scaled(slope, d.scale), words, d.threshold);
        }
        if (f->out)
            operand_store_pair((operand *)f->out + i, n, y);
        else
            vec_store_pair(f->products + i, n, y);
        if (slopes)
            operand_store_pair((operand *)f->slope + i, n, slope);
    }
}

static void epilogue(const struct sl_epilogue *f)
{
    if (f->slope)
        epilogue_of(f, true);
    else
        epilogue_of(f, false);
}

static void sigmoid(float *y, const float *x, int n)
{
    for (int i = 0; i < n; i += LANES)
        vec_store(y + i, n - i, vec_sigmoid(vec_load(x + i, n - i)));
}

static float maximum(const float *x, int n)
{
    const vec lowest = vec_set(-INFINITY);
    vec max = lowest;
    for (int i = 0; i < n; i += LANES)
        max = vec_max(max, vec_load_or(lowest, x + i, n - i));
    return vec_highest(max);
}

static void softmax(float *x, int n, float *log_sum)
{
    const float largest = maximum(x, n);
    const vec max = vec_set(largest);
    vec sums = vec_set(0.0f);
    for (int i = 0; i < n; i += LANES) {
        const vec e = vec_exp(vec_load(x + i, n - i) - max);
        vec_store(x + i, n - i, e);
        sums += vec_first(e, n - i);
    }
    const float total = vec_sum(sums);
    scale(x, 1.0f / total, x, n);
    if (log_sum)
        *log_sum = largest + logf(total);
}

/* A row that one register holds, or two. */
static inline __attribute__((always_inline)) void softmax_short(float *x, int n, const bool two)
{
    const vec lowest = vec_set(-INFINITY);
    vec max = vec_load_or(lowest, x, n);
    if (two)
        max = vec_max(max, vec_load_or(lowest, x + LANES, n - LANES));
    max = vec_set(vec_highest(max));
    struct vec_pair e = {vec_exp(vec_load(x, n) - max), vec_set(0.0f)};
    vec sums = vec_first(e.low, n);
    if (two) {
        e.high = vec_exp(vec_load(x + LANES, n - LANES) - max);
        sums += vec_first(e.high, n - LANES);
    }
    e = scaled(e, 1.0f / vec_sum(sums));
    vec_store(x, n, e.low);
    if (two)
        vec_store(x + LANES, n - LANES, e.high);
}

static void softmax_rows(float *x, size_t stride, int rows, int n)
{
    if (n <= LANES)
        for (int r = 0; r < rows; r++)
            softmax_short(x + (size_t)r * stride, n, false);
    else if (n <= 2 * LANES)
        for (int r = 0; r < rows; r++)
            softmax_short(x + (size_t)r * stride, n, true);
    else
        for (int r = 0; r < rows; r++)
            softmax(x + (size_t)r * stride, n, NULL);
}

static inline vec normalised(const float *x, int n, const float stats[2])
{
    return (vec_load(x, n) - vec_set(stats[0])) * vec_set(stats[1]);
}

/* The result of 2 LANES columns from column i on. */
static inline struct vec_pair norm_pair(const struct sl_norm_row *norm, const float *x, int i,
                                        const float stats[2])
{
    const int n = norm->n - i, rest = n - LANES;
    const float *weight = norm->weight + i, *bias = norm->bias ? norm->bias + i : NULL;
    const vec zero = vec_set(0.0f);
    struct vec_pair y = {
        vec_fma(normalised(x + i, n, stats), vec_load(weight, n), bias ? vec_load(bias, n) : zero),
        zero};
    if (rest > 0)
        y.high = vec_fma(normalised(x + i + LANES, rest, stats), vec_load(weight + LANES, rest),
                         bias ? vec_load(bias + LANES, rest) : zero);
    return y;
}

static void normalize_f32(float *y, const float *x, const struct sl_norm_row *norm, float stats[2])
{
    vec_moments(x, norm->n, norm->epsilon, norm->rms, stats);
    for (int i = 0; i < norm->n; i += 2 * LANES)
        vec_store_pair(y + i, norm->n - i, norm_pair(norm, x, i, stats));
}

static void normalize(void *y, const float *x, const struct sl_norm_row *norm, float stats[2])
{
    vec_moments(x, norm->n, norm->epsilon, norm->rms, stats);
    for (int i = 0; i < norm->n; i += 2 * LANES)
        operand_store_pair((operand *)y + i, norm->n - i, norm_pair(norm, x, i, stats));
}

static void centernorm(void *y, const float *x, const float *weight, const float *bias, float scale,
                       int n)
{
    const vec mean = vec_set(sum(x, n) / (float)n), factor = vec_set(scale);
    for (int i = 0; i < n; i += 2 * LANES) {
        const struct vec_pair v = vec_load_pair(x + i, n - i), w = vec_load_pair(weight + i, n - i);
        const struct vec_pair b = vec_load_pair(bias + i, n - i);
        operand_store_pair((operand *)y + i, n - i,
                           (struct vec_pair){w.low * (factor * (v.low - mean)) + b.low,
                                             w.high * (factor * (v.high - mean)) + b.high});
    }
}

/* mean(u) and mean(u xhat) with u = weight dy; dweight and dbias on the way. */
static void slope_means(const struct sl_norm_row *norm, const struct sl_norm_gradient *g,
                        float means[2])
{
    vec us = vec_set(0.0f), uxs = us;
    for (int i = 0; i < norm->n; i += LANES) {
        const int n = norm->n - i;
        const vec d = vec_load(g->dy + i, n), xhat = normalised(g->x + i, n, g->stats);
        const vec u = d * vec_load(norm->weight + i, n);
        us += u;
        uxs = vec_fma(u, xhat, uxs);
        vec_store(g->dweight + i, n, vec_fma(d, xhat, vec_load(g->dweight + i, n)));
        if (g->dbias)
            vec_store(g->dbias + i, n, d + vec_load(g->dbias + i, n));
    }
    means[0] = norm->rms ? 0.0f : vec_sum(us) / (float)norm->n;
    means[1] = vec_sum(uxs) / (float)norm->n;
}

static void normalize_backward(const struct sl_norm_row *norm, const struct sl_norm_gradient *g)
{
    float means[2];
    slope_means(norm, g, means);
    const vec inverse = vec_set(g->stats[1]), u_mean = vec_set(means[0]);
    const vec ux_mean = vec_set(means[1]);
    for (int i = 0; i < norm->n; i += LANES) {
        const int n = norm->n - i;
        const vec xhat = normalised(g->x + i, n, g->stats);
        const vec u = vec_load(g->dy + i, n) * vec_load(norm->weight + i, n);
        vec slope = vec_fnma(xhat, ux_mean, u - u_mean) * inverse;
        if (!g->overwrite)
            slope += vec_load(g->dx + i, n);
        vec_store(g->dx + i, n, slope);
    }
}

static void rotate(float *y, const float *x, const struct sl_rotation *r)
{
    const int half = r->half, rotated = 2 * half;
    const vec direction = vec_set(r->back ? -1.0f : 1.0f);
    for (int head = 0; head < r->heads; head++, x += r->head_dim, y += r->head_dim) {
        for (int j = 0; j < half; j += LANES) {
            const int n = half - j;
            const vec cosine = vec_load(r->waves + j, n);
            const vec sine = direction * vec_load(r->waves + half + j, n);
            const vec first = vec_load(x + j, n), second = vec_load(x + half + j, n);
            vec_store(y + j, n, vec_fnma(second, sine, first * cosine));
            vec_store(y + half + j, n, vec_fma(first, sine, second * cosine));
        }
        memmove(y + rotated, x + rotated, (size_t)(r->head_dim - rotated) * sizeof *y);
    }
}

static void softmax_backward(const struct sl_softmax_backward *s)
{
    const operand *e = s->e;
    const vec rate = vec_set(s->rate), mean = vec_set(s->mean);
    for (int j = 0; j < s->n; j += LANES) {
        const int k = s->n - j;
        const vec p = rate * vec_load(s->w + j, k) * operand_load(e + j, k);
        const vec slope = p * (vec_load(s->dp + j, k) - mean);
        vec_store(s->ds + j, k, s->overwrite ? slope : vec_add(vec_load(s->ds + j, k), slope));
        vec_store(s->db + j, k, vec_load(s->db + j, k) + slope);
    }
}

/* The reference's operations in the same order: the same bits where FMA is fused. */
static void adamw(float *w, float *m, float *v, const float *g, const struct sl_adamw *a, int n)
{
    const vec b1 = vec_set(a->b1), rest1 = vec_set(1.0f - a->b1);
    const vec b2 = vec_set(a->b2), rest2 = vec_set(1.0f - a->b2);
    const vec keep = vec_set(1.0f - a->decay), rate = vec_set(a->rate);
    for (int i = 0; i < n; i += LANES) {
        const int k = n - i;
        const vec grad = vec_load(g + i, k) * vec_set(a->grad_scale);
        const vec m_new = vec_fma(b1, vec_load(m + i, k), rest1 * grad);
        const vec v_new = vec_fma(b2, vec_load(v + i, k), rest2 * (grad * grad));
        const vec root = vec_sqrt(v_new / vec_set(a->correction2));
        const vec step = rate * m_new / (root + vec_set(a->epsilon));
        vec_store(m + i, k, m_new);
        vec_store(v + i, k, v_new);
        vec_store(w + i, k, vec_fma(vec_load(w + i, k), keep, -step));
    }
}

void SL_LEVEL(rows)(struct sl_kernels *t)
{
    t->dot = dot;
    t->sum = sum;
    t->axpy = axpy;
    t->scale = scale;
    t->dropout = dropout;
    t->activate_with_slope = activate_with_slope;
    t->to_operands = to_operands;
    t->from_operands = from_operands;
    t->multiply_to_operands = multiply_to_operands;
    t->epilogue = epilogue;
    t->sigmoid = sigmoid;
    t->softmax = softmax;
    t->softmax_rows = softmax_rows;
    t->normalize = normalize;
    t->normalize_f32 = normalize_f32;
    t->centernorm = centernorm;
    t->normalize_backward = normalize_backward;
    t->rotate = rotate;
    t->softmax_backward = softmax_backward;
    t->adamw = adamw;
}
