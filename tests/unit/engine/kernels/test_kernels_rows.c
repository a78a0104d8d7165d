/* test_kernels_rows.c - row slots and the optimiser of every level this machine has. */
#include "kernels/isa_levels.h"
#include "support/kernel_buffers.h"
#include "support/test.h"

#include <float.h>

/* ---- rows ----------------------------------------------------------------------------------- */

/* A slot that makes one row from one or two. */
struct row_case {
    const char *name;
    void (*run)(const struct sl_kernels *k, float *y, const float *x, const float *x2, int n);
    float magnitude, tolerance; /* of the inputs; of a result, times what it is made of */
};

static void run_axpy(const struct sl_kernels *k, float *y, const float *x, const float *x2, int n)
{
    memcpy(y, x2, (size_t)n * sizeof *y);
    k->axpy(y, 0.3f, x, n);
}

static void run_scale(const struct sl_kernels *k, float *y, const float *x, const float *x2, int n)
{
    (void)x2;
    k->scale(y, 0.3f, x, n);
}

static void run_dropout(const struct sl_kernels *k, float *y, const float *x, const float *x2,
                        int n)
{
    (void)x2;
    k->dropout(y, x, (struct sl_dropout){.threshold = 20000, .scale = 1.44f}, 77, 6, n);
}

static void run_sigmoid(const struct sl_kernels *k, float *y, const float *x, const float *x2,
                        int n)
{
    (void)x2;
    k->sigmoid(y, x, n);
}

/* Its lse is added to the first element, so that it is compared too. */
static void run_softmax(const struct sl_kernels *k, float *y, const float *x, const float *x2,
                        int n)
{
    (void)x2;
    memcpy(y, x, (size_t)n * sizeof *y);
    float lse;
    k->softmax(y, n, &lse);
    y[0] += lse;
}

/* Two heads, of which a few elements are not rotated, and what is left of n unchanged. */
static void run_rotate(const struct sl_kernels *k, float *y, const float *x, const float *x2, int n)
{
    const struct sl_rotation r = {
        .waves = x2, .half = n / 5, .head_dim = n / 2, .heads = 2, .back = n % 2};
    memcpy(y, x, (size_t)n * sizeof *y);
    k->rotate(y, y, &r);
}

static void run_dot(const struct sl_kernels *k, float *y, const float *x, const float *x2, int n)
{
    memset(y, 0, (size_t)n * sizeof *y);
    y[0] = k->dot(x, x2, n);
}

static void run_sum(const struct sl_kernels *k, float *y, const float *x, const float *x2, int n)
{
    (void)x2;
    memset(y, 0, (size_t)n * sizeof *y);
    y[0] = k->sum(x, n);
}

/* Tolerances: 0 where the contract is the same bits; else a few ulp (6e-8 each) of numbers up to
 * `magnitude`, and for sums of up to 70 numbers of their total. */
static const struct row_case row_cases[] = {
    {"axpy", run_axpy, 3.0f, 0.0f},         {"scale", run_scale, 3.0f, 0.0f},
    {"dropout", run_dropout, 3.0f, 0.0f},   {"sigmoid", run_sigmoid, 20.0f, 2e-7f},
    {"softmax", run_softmax, 20.0f, 4e-6f}, {"rotate", run_rotate, 3.0f, 2e-6f},
    {"dot", run_dot, 1.0f, 4e-6f},          {"sum", run_sum, 1.0f, 4e-6f},
};

static void row_is_near(const struct sl_kernels *k, const struct row_case *c, int n)
{
    const size_t bytes = (size_t)n * sizeof(float);
    float *x = input_make((size_t)n, 6, c->magnitude), *x2 = input_make((size_t)n, 7, c->magnitude);
    float *got = output_make(bytes), *want = output_make(bytes);
    /* A product that is rounded before it is added is half an ulp off. */
    const float tolerance = c->tolerance + (is_fused(k) ? 0.0f : 1e-7f * c->magnitude);
    c->run(k, got, x, x2, n);
    c->run(reference_kernels(), want, x, x2, n);
    cr_assert(output_guarded(got, bytes), "%s: %s of %d", k->name, c->name, n);
    for (int i = 0; i < n; i++)
        cr_assert(is_near(got[i], want[i], tolerance), "%s: %s[%d of %d] = %.9g, want %.9g",
                  k->name, c->name, i, n, (double)got[i], (double)want[i]);
    free(x);
    free(x2);
    output_free(got);
    output_free(want);
}

static void rows_are_near(const struct sl_kernels *k)
{
    for (size_t c = 0; c < sizeof row_cases / sizeof *row_cases; c++)
        for (int n = 1; n <= 70; n++)
            row_is_near(k, &row_cases[c], n);
}

Test(rows, are_the_reference)
{
    for_each_isa(rows_are_near);
}

/* Of values and of slopes; 0 where the contract is the same bits. */
static const struct {
    const char *name;
    enum sl_activation f;
    float magnitude, tolerance, slope_tolerance;
} activations[] = {
    {"linear", SL_LINEAR, 3.0f, 0.0f, 0.0f}, {"relu", SL_RELU, 3.0f, 0.0f, 0.0f},
    {"gelu", SL_GELU, 6.0f, 6e-7f, 2e-6f},   {"gelu_tanh", SL_GELU_TANH, 6.0f, 1e-6f, 2e-6f},
    {"silu", SL_SILU, 20.0f, 4e-6f, 2e-6f},  {"tanh", SL_TANH, 3.0f, 3e-7f, 6e-7f},
};

static void activates(const struct sl_kernels *k, size_t c, int n)
{
    const size_t bytes = (size_t)n * sizeof(float);
    float *x = input_make((size_t)n, 6, activations[c].magnitude);
    float *y = output_make(bytes), *want = output_make(bytes);
    float *slope = output_make(bytes), *want_slope = output_make(bytes);
    k->activate_with_slope(y, slope, x, activations[c].f, n);
    reference_kernels()->activate_with_slope(want, want_slope, x, activations[c].f, n);
    cr_assert(output_guarded(y, bytes), "%s: %s of %d", k->name, activations[c].name, n);
    cr_assert(output_guarded(slope, bytes), "%s: %s of %d", k->name, activations[c].name, n);
    for (int i = 0; i < n; i++) {
        cr_assert(is_near(y[i], want[i], activations[c].tolerance), "%s: %s(%.9g) = %.9g, not %.9g",
                  k->name, activations[c].name, (double)x[i], (double)y[i], (double)want[i]);
        cr_assert(is_near(slope[i], want_slope[i], activations[c].slope_tolerance),
                  "%s: %s'(%.9g) = %.9g, not %.9g", k->name, activations[c].name, (double)x[i],
                  (double)slope[i], (double)want_slope[i]);
    }
    free(x);
    for (size_t i = 0; i < 4; i++)
        output_free((float *[]){y, want, slope, want_slope}[i]);
}

static void activations_are_near(const struct sl_kernels *k)
{
    for (size_t c = 0; c < sizeof activations / sizeof *activations; c++)
        for (int n = 1; n <= 70; n++)
            activates(k, c, n);
}

Test(rows, activations_are_the_reference)
{
    for_each_isa(activations_are_near);
}

static void works_in_place(const struct sl_kernels *k)
{
    for (int n = 1; n <= 70; n += 3) {
        float *x = input_make((size_t)n, 8, 3.0f), *y = output_make((size_t)n * sizeof *y),
              slope[70];
        k->activate_with_slope(y, slope, x, SL_GELU, n);
        k->sigmoid(y, y, n);
        k->scale(y, 2.0f, y, n);
        k->activate_with_slope(x, slope, x, SL_GELU, n);
        k->sigmoid(x, x, n);
        k->scale(x, 2.0f, x, n);
        cr_assert_eq(memcmp(x, y, (size_t)n * sizeof *y), 0, "%s: in place", k->name);
        free(x);
        output_free(y);
    }
}

Test(rows, may_be_changed_in_place)
{
    for_each_isa(works_in_place);
}

/* Of several rows, with a stride: the bits of each alone, and nothing between them is touched. */
static void softmax_of_rows_is_that_of_each(const struct sl_kernels *k)
{
    enum { STRIDE = 72, COUNT = 7 };

    for (int n = 1; n <= 70; n++) {
        float *got = input_make(STRIDE * COUNT, 8, 20.0f),
              *want = input_make(STRIDE * COUNT, 8, 20.0f);
        got[STRIDE] = want[STRIDE] = INFINITY;
        got[2 * STRIDE] = want[2 * STRIDE] = NAN;
        k->softmax_rows(got, STRIDE, COUNT, n);
        for (int r = 0; r < COUNT; r++)
            k->softmax(want + r * STRIDE, n, NULL);
        cr_assert_eq(memcmp(got, want, STRIDE * COUNT * sizeof *got), 0, "%s: %d", k->name, n);
        free(got);
        free(want);
    }
}

Test(rows, softmax_of_several)
{
    for_each_isa(softmax_of_rows_is_that_of_each);
}

/* The fits, over their whole range and against double: erf within 3e-7 means Phi within 1.5e-7, and
 * gelu = x Phi(x) adds its own rounding. e^-t is p_1 / p_0 of softmax(0, -t). */
static void functions_are_exact(const struct sl_kernels *k)
{
    for (int i = -6000; i < 6000; i++) {
        const float x = 0x1p-9f * (float)i;
        const double d = (double)x, phi = 0.5 * erfc(-d * M_SQRT1_2);
        const double slope = phi + d * exp(-0.5 * d * d) / sqrt(2.0 * M_PI);
        float y, dy, p[2] = {0.0f, x < 0.0f ? 7.0f * x : 0.0f};
        k->activate_with_slope(&y, &dy, &x, SL_GELU, 1);
        cr_assert_float_eq((double)y, d * phi, 1.5e-7 * fmax(1.0, fabs(d)), "%s: gelu(%g)", k->name,
                           d);
        cr_assert_float_eq((double)dy, slope, 4e-7, "%s: gelu'(%g)", k->name, d);
        k->softmax(p, 2, NULL);
        const double want = x < 0.0f ? exp(7.0 * d) : 1.0;
        cr_assert_float_eq((double)p[1] / (double)p[0], want,
                           2.0 * (double)FLT_EPSILON * want + 1e-38, "%s: exp(%g)", k->name,
                           7.0 * d);
    }
}

Test(rows, functions_are_as_exact_as_they_say)
{
    for_each_isa(functions_are_exact);
}

static void extremes_survive(const struct sl_kernels *k)
{
    float x[4] = {-300.0f, 300.0f, NAN, 0.0f}, y[4], slope[4];
    k->sigmoid(y, x, 4);
    cr_assert(y[0] >= 0.0f && y[0] < 1e-37f && is_near(y[1], 1.0f, 0.0f) && isnan(y[2]));
    k->activate_with_slope(y, slope, x, SL_GELU, 4);
    cr_assert(is_near(y[0], 0.0f, 0.0f) && is_near(y[1], 300.0f, 0.0f) && isnan(y[2]));
    k->activate_with_slope(y, slope, x, SL_RELU, 4);
    cr_assert(is_near(y[0], 0.0f, 0.0f) && is_near(y[1], 300.0f, 0.0f) && isnan(y[2]));
    k->activate_with_slope(y, slope, x, SL_GELU_TANH, 4);
    cr_assert(is_near(y[0], 0.0f, 1e-30f) && is_near(y[1], 300.0f, 0.0f) && isnan(y[2]));
    k->activate_with_slope(y, slope, x, SL_SILU, 4);
    cr_assert(is_near(y[0], 0.0f, 1e-30f) && is_near(y[1], 300.0f, 0.0f) && isnan(y[2]));
    k->activate_with_slope(y, slope, x, SL_TANH, 4);
    cr_assert(is_near(y[0], -1.0f, 0.0f) && is_near(y[1], 1.0f, 0.0f) && isnan(y[2]));
    float s[3] = {-1e30f, 1e30f, 0.0f};
    float lse;
    k->softmax(s, 3, &lse);
    cr_assert(is_near(lse, 1e30f, 0.0f));
    cr_assert(is_near(s[0], 0.0f, 0.0f) && is_near(s[1], 1.0f, 0.0f));
    k->softmax(x, 4, NULL);
    cr_assert(isnan(x[0]) && isnan(x[3]), "%s: softmax hides a NaN", k->name);
}

Test(rows, extremes_and_nan_survive)
{
    for_each_isa(extremes_survive);
}

enum { SEGMENT = 64 }; /* a multiple of 32, so that padding comes last */

/* Steps of `epilogue` that are worth telling apart. */
struct epilogue_case {
    bool bias, out, slope;
    enum sl_activation activation;
    uint32_t threshold;
};

static const struct epilogue_case epilogue_cases[] = {
    {true, false, false, SL_LINEAR, 0},    {true, true, false, SL_GELU, 0},
    {true, true, true, SL_GELU, 9000},     {false, true, true, SL_RELU, 0},
    {true, false, true, SL_LINEAR, 20000}, {false, true, false, SL_LINEAR, 20000},
};

/* `epilogue` in steps, a segment at a time. */
static void epilogue_segment(const struct sl_kernels *k, const struct sl_epilogue *f, int at, int n)
{
    float slope[SEGMENT], *y = f->products + at;
    const size_t offset = (size_t)at * sl_type_bytes(k->operand);
    if (f->bias)
        k->axpy(y, 1.0f, f->bias + at, n);
    k->activate_with_slope(y, slope, y, f->activation, n);
    if (f->dropout.threshold) {
        k->dropout(y, y, f->dropout, f->row_key, f->first + at, n);
        k->dropout(slope, slope, f->dropout, f->row_key, f->first + at, n);
    }
    if (f->slope)
        k->to_operands((char *)f->slope + offset, slope, n);
    if (f->out)
        k->to_operands((char *)f->out + offset, y, n);
}

static void epilogue_in_steps(const struct sl_kernels *k, const struct sl_epilogue *f)
{
    for (int at = 0; at < f->n; at += SEGMENT)
        epilogue_segment(k, f, at, f->n - at < SEGMENT ? f->n - at : SEGMENT);
}

/* Whether these are the same bits; those of a GELU as exact as bf16 needs it may be one higher or
 * lower. */
static bool same_operands(const struct sl_kernels *k, enum sl_activation f, const void *a,
                          const void *b, size_t bytes)
{
    if (k->operand == SL_F32 || f != SL_GELU)
        return memcmp(a, b, bytes) == 0;
    const uint16_t *x = a, *y = b;
    for (size_t i = 0; i < bytes / sizeof *x; i++)
        if (abs(x[i] - y[i]) > 1)
            return false;
    return true;
}

/* The fused steps give the bits of the steps one by one, and leave what is around them alone. */
static void epilogue_is_its_steps(const struct sl_kernels *k, const struct epilogue_case *c, int n)
{
    const size_t bytes = sl_operand_stride(k, n) * sl_type_bytes(k->operand), count = (size_t)n;
    float *x = input_make(count, 20, 3.0f), *bias = input_make(count, 21, 1.0f);
    float *y[2];
    unsigned char *out[2], *slope[2];
    for (int i = 0; i < 2; i++) {
        y[i] = memcpy(output_make(count * sizeof(float)), x, count * sizeof(float));
        out[i] = output_make(bytes);
        slope[i] = output_make(bytes);
        struct sl_epilogue f = {.products = y[i],
                                .out = c->out ? out[i] : NULL,
                                .slope = c->slope ? slope[i] : NULL,
                                .bias = c->bias ? bias : NULL,
                                .activation = c->activation,
                                .dropout = {c->threshold, 1.25f},
                                .row_key = 99,
                                .first = 64,
                                .n = n};
        if (i == 0)
            epilogue_in_steps(k, &f);
        else
            k->epilogue(&f);
        cr_assert(output_guarded(out[i], bytes) && output_guarded(slope[i], bytes) &&
                  output_guarded(y[i], count * sizeof(float)));
    }
    const int which = (int)(c - epilogue_cases);
    cr_assert(c->out || memcmp(y[0], y[1], count * sizeof(float)) == 0, "%s: y, case %d, n %d",
              k->name, which, n);
    cr_assert(same_operands(k, c->activation, out[0], out[1], bytes), "%s: out, case %d, n %d",
              k->name, which, n);
    cr_assert(memcmp(slope[0], slope[1], bytes) == 0, "%s: slope, case %d, n %d", k->name, which,
              n);
    for (int i = 0; i < 2; i++) {
        output_free(y[i]);
        output_free(out[i]);
        output_free(slope[i]);
    }
    free(x);
    free(bias);
}

static void epilogues_all(const struct sl_kernels *k)
{
    for (size_t c = 0; c < sizeof epilogue_cases / sizeof epilogue_cases[0]; c++)
        for (int n = 1; n <= 140; n += 7)
            epilogue_is_its_steps(k, &epilogue_cases[c], n);
}

Test(rows, epilogue_gives_the_bits_of_its_steps)
{
    for_each_isa(epilogues_all);
}

/* As operands, GELU is what bf16 makes of it, but for a twentieth of its rounding, or 2e-5. */
static void gelu_operands_are_near(const struct sl_kernels *k)
{
    for (int i = -8000; k->operand == SL_BF16 && i <= 8000; i++) {
        const double d = (double)i / 1000.0, want = d * 0.5 * erfc(-d * M_SQRT1_2);
        float x = (float)d, y[32];
        uint16_t out[32];
        k->epilogue(
            &(struct sl_epilogue){.products = &x, .out = out, .activation = SL_GELU, .n = 1});
        k->from_operands(y, out, 1);
        const double rounding = ldexp(1.0, ilogb(fabs(want) + 1e-30) - 8);
        cr_assert_float_eq((double)y[0], want, rounding + fmin(2e-5, 0.05 * rounding + 4e-6),
                           "%s: gelu(%g) = %g, want %g", k->name, d, (double)y[0], want);
    }
}

Test(rows, gelu_as_an_operand_is_as_exact_as_its_rounding)
{
    for_each_isa(gelu_operands_are_near);
}

static void multiplies_into_operands(const struct sl_kernels *k)
{
    for (int n = 1; n <= 70; n += 3) {
        const size_t count = (size_t)n, bytes = sl_operand_stride(k, n) * sl_type_bytes(k->operand);
        float *x = input_make(count, 22, 2.0f), *by = input_make(count, 23, 2.0f), wide[128];
        unsigned char *out = output_make(bytes), *want = output_make(bytes);
        void *operands = operands_make(k, by, 1, n);
        k->multiply_to_operands(out, x, operands, n);
        k->from_operands(wide, operands, n);
        for (int i = 0; i < n; i++)
            wide[i] *= x[i];
        k->to_operands(want, wide, n);
        cr_assert(output_guarded(out, bytes));
        cr_assert(memcmp(out, want, bytes) == 0, "%s: %d", k->name, n);
        output_free(out);
        output_free(want);
        free(operands);
        free(x);
        free(by);
    }
}

Test(rows, products_are_rounded_once)
{
    for_each_isa(multiplies_into_operands);
}

/* A row of operands holds these numbers, then zeros. bf16 rounds them to 8 bits. */
static void operands_are_near(const struct sl_kernels *k, const char *name, const unsigned char *y,
                              const float *want, int n, float room)
{
    const size_t count = (size_t)n, bytes = sl_operand_stride(k, n) * sl_type_bytes(k->operand);
    const float coarse = k->operand == SL_BF16 ? 0x1p-8f : 0.0f;
    float *wide = output_make(count * sizeof *wide);
    cr_assert(output_guarded(y, bytes), "%s: %s of %d", k->name, name, n);
    for (size_t i = count * sl_type_bytes(k->operand); i < bytes; i++)
        cr_assert_eq(y[i], 0, "%s: padding of %s", k->name, name);
    k->from_operands(wide, y, n);
    for (int i = 0; i < n; i++)
        cr_assert(is_near(wide[i], want[i], room + coarse * fabsf(want[i])),
                  "%s: %s[%d of %d] = %.9g, want %.9g", k->name, name, i, n, (double)wide[i],
                  (double)want[i]);
    output_free(wide);
}

/* Layer norm, without a bias, and of the root mean square. */
static struct sl_norm_row norm_of(int variant, const float *weight, const float *bias, int n)
{
    return (struct sl_norm_row){.weight = weight,
                                .bias = variant == 0 ? bias : NULL,
                                .epsilon = 1e-5f,
                                .rms = variant == 2,
                                .n = n};
}

enum { NORM_VARIANTS = 3 };

static void norms(const struct sl_kernels *k, int variant, int n)
{
    const size_t count = (size_t)n, bytes = sl_operand_stride(k, n) * sl_type_bytes(k->operand);
    float *x = input_make(count, 9, 2.0f), *weight = input_make(count, 10, 1.0f);
    float *bias = input_make(count, 11, 1.0f);
    const struct sl_norm_row norm = norm_of(variant, weight, bias, n);
    float *want = output_make(count * sizeof *want), stats[2], want_stats[2];
    unsigned char *y = output_make(bytes);
    for (int i = 0; i < n; i++)
        x[i] += 3.0f;
    k->normalize(y, x, &norm, stats);
    reference_kernels()->normalize(want, x, &norm, want_stats);
    /* x is near 3 and the variance near 1, but may be small for small n: then 1 / sqrt(1e-5)
     * = 316 magnifies the last bit of x. */
    const float room = 316.0f * 4e-7f;
    operands_are_near(k, "normalize", y, want, n, room);
    cr_assert(is_near(stats[0], want_stats[0], 1e-6f));
    cr_assert(is_near(stats[1], want_stats[1], 1e-4f * want_stats[1]));
    float *whole = output_make(count * sizeof *whole), again[2];
    memcpy(whole, x, count * sizeof *whole);
    k->normalize_f32(whole, whole, &norm, again);
    cr_assert(output_guarded((unsigned char *)whole, count * sizeof *whole), "%s: %d", k->name, n);
    cr_assert(memcmp(stats, again, sizeof stats) == 0);
    for (int i = 0; i < n; i++)
        cr_assert(is_near(whole[i], want[i], room), "%s: %d: normalize_f32[%d of %d]", k->name,
                  variant, i, n);
    output_free(whole);
    free(x);
    free(weight);
    free(bias);
    output_free(want);
    output_free(y);
}

static void norms_all_sizes(const struct sl_kernels *k)
{
    for (int variant = 0; variant < NORM_VARIANTS; variant++)
        for (int n = 1; n <= 70; n++)
            norms(k, variant, n);
}

Test(normalize, is_the_reference)
{
    for_each_isa(norms_all_sizes);
}

static void centers(const struct sl_kernels *k, int n)
{
    const size_t count = (size_t)n, bytes = sl_operand_stride(k, n) * sl_type_bytes(k->operand);
    float *x = input_make(count, 9, 2.0f), *weight = input_make(count, 10, 1.0f);
    float *bias = input_make(count, 11, 1.0f), *want = output_make(count * sizeof *want);
    unsigned char *y = output_make(bytes);
    k->centernorm(y, x, weight, bias, 1.25f, n);
    reference_kernels()->centernorm(want, x, weight, bias, 1.25f, n);
    operands_are_near(k, "centernorm", y, want, n, 2e-6f);
    free(x);
    free(weight);
    free(bias);
    output_free(want);
    output_free(y);
}

static void centers_all_sizes(const struct sl_kernels *k)
{
    for (int n = 1; n <= 70; n++)
        centers(k, n);
}

Test(centernorm, is_the_reference)
{
    for_each_isa(centers_all_sizes);
}

/* dx, dweight and dbias one after another, each n long, from the same starting values. */
static float *normalize_backward_of(const struct sl_kernels *k, int variant, int n, bool overwrite)
{
    const size_t count = (size_t)n;
    float *x = input_make(count, 12, 2.0f), *dy = input_make(count, 13, 1.0f);
    float *weight = input_make(count, 14, 1.0f), *out = output_make(3 * count * sizeof *out);
    float *start = input_make(3 * count, 15, 1.0f);
    const float stats[2] = {variant == 2 ? 0.0f : 0.1f, 0.9f};
    const struct sl_norm_row norm = norm_of(variant, weight, weight, n);
    memcpy(out, start, 3 * count * sizeof *out);
    k->normalize_backward(&norm,
                          &(struct sl_norm_gradient){.dy = dy,
                                                     .x = x,
                                                     .stats = stats,
                                                     .dx = out,
                                                     .dweight = out + n,
                                                     .dbias = norm.bias ? out + 2 * count : NULL,
                                                     .overwrite = overwrite});
    cr_assert(output_guarded(out, 3 * count * sizeof *out));
    free(x);
    free(dy);
    free(weight);
    free(start);
    return out;
}

static void norms_back_of(const struct sl_kernels *k, int variant, int n, bool overwrite)
{
    float *got = normalize_backward_of(k, variant, n, overwrite);
    float *want = normalize_backward_of(reference_kernels(), variant, n, overwrite);
    for (int i = 0; i < 3 * n; i++) /* numbers near 1: a few ulp */
        cr_assert(is_near(got[i], want[i], 2e-6f), "%s: %d: %d of %d: %.9g, want %.9g", k->name,
                  variant, i, n, (double)got[i], (double)want[i]);
    output_free(got);
    output_free(want);
}

static void norms_back(const struct sl_kernels *k)
{
    for (int variant = 0; variant < NORM_VARIANTS; variant++)
        for (int n = 1; n <= 70; n++)
            for (int overwrite = 0; overwrite < 2; overwrite++)
                norms_back_of(k, variant, n, overwrite);
}

Test(normalize, backward_is_the_reference)
{
    for_each_isa(norms_back);
}
