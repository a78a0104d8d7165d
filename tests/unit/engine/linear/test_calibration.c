/* test_calibration.c - calibration finds the numbers that labels were drawn with. */
#include "base/random.h"
#include "linear/calibration.h"
#include "support/test.h"

#include <math.h>

enum { TEXTS = 4000, CLASSES = 5 };

static float logits[TEXTS * CLASSES];
static int32_t rows[TEXTS];
static struct sl_label_lists labels;
static const struct sl_predictions all = {.logits = logits,
                                          .labels = &labels,
                                          .rows = rows,
                                          .count = TEXTS,
                                          .classes = CLASSES};

static double uniform(uint64_t index)
{
    return (double)(sl_random_bits(sl_random_key(1, "test"), index) >> 11) * 0x1p-53;
}

static const int32_t label_zero = 0;
static const struct sl_label_list some_label = {.ids = &label_zero, .count = 1};

/* Labels that occur as often as the calibration says. */
static void draw(const struct sl_calibration *truth)
{
    float p[CLASSES];
    struct sl_err err;
    sl_label_lists_release(&labels);
    for (int i = 0; i < TEXTS; i++) {
        float *z = logits + i * CLASSES;
        for (int c = 0; c < CLASSES; c++)
            z[c] = (float)(8.0 * uniform((uint64_t)(i * 10 + c)) - 5.0);
        (void)sl_calibrate(truth, z, CLASSES, some_label, p);
        double left = uniform((uint64_t)(i * 10 + 9));
        int32_t label = 0;
        rows[i] = i;
        while (label < CLASSES - 1 && (left -= (double)p[label]) > 0.0)
            label++;
        EXPECT_OK(sl_label_lists_add(&labels, &label, 1, &err), err);
    }
}

Test(calibration, finds_a_temperature)
{
    static const struct sl_calibration truth = {.temperature = 2.5};
    draw(&truth);
    struct sl_calibration c = sl_calibration_fit_temperature(&all);
    cr_expect_float_eq(c.temperature, 2.5, 0.2, "%g", c.temperature);
    cr_expect_eq(c.exponent, 0.0);
}

Test(calibration, finds_a_power_of_softplus)
{
    static const struct sl_calibration truth = {.temperature = 1.0, .shift = 2.0, .exponent = 1.5};
    draw(&truth);
    struct sl_calibration plain = sl_calibration_fit_temperature(&all),
                          c = sl_calibration_fit(&all);
    double least = sl_calibration_loss(&truth, &all), loss = sl_calibration_loss(&c, &all);
    cr_expect_gt(sl_calibration_loss(&plain, &all), least + 0.01, "a temperature does not fit");
    cr_expect_lt(loss, least + 0.002, "%g, not %g", loss, least);
}

/* Logits of any size give probabilities, in their order. */
Test(calibration, keeps_the_order)
{
    static const struct sl_calibration some[] = {
        {.temperature = 0.01},
        {.temperature = 1.0, .shift = -8.0, .exponent = 3.0},
        {.temperature = 0.5, .shift = 12.0, .exponent = 50.0}};
    static const float extreme[][CLASSES] = {
        {-1e4f, 1e4f, 0, 1, 2}, {5, 4, 3, 2, 1}, {-900, -901, -902, -903, -904}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            float p[CLASSES], sum = 0;
            double loss = sl_calibrate(&some[i], extreme[j], CLASSES, some_label, p);
            cr_expect(isfinite(loss), "%g", loss);
            for (int c = 0; c < CLASSES; c++) {
                sum += p[c];
                for (int d = 0; d < CLASSES; d++)
                    cr_expect(extreme[j][c] <= extreme[j][d] || p[c] >= p[d]);
            }
            cr_expect_float_eq(sum, 1.0f, 1e-5f);
        }
}

/* ---- independent labels ---------------------------------------------------------------------- */

static const struct sl_predictions independent = {.logits = logits,
                                                  .labels = &labels,
                                                  .rows = rows,
                                                  .count = TEXTS,
                                                  .classes = CLASSES,
                                                  .independent = true};

/* Each label occurs as often as sigmoid(z / temperature + shift) says, many together or none. */
static void draw_independent(const struct sl_calibration *truth)
{
    struct sl_err err;
    sl_label_lists_release(&labels);
    for (int i = 0; i < TEXTS; i++) {
        float *z = logits + i * CLASSES, p[CLASSES];
        int32_t ids[CLASSES];
        int count = 0;
        for (int c = 0; c < CLASSES; c++)
            z[c] = (float)(8.0 * uniform((uint64_t)(i * 10 + c)) - 5.0);
        (void)sl_calibrate(truth, z, CLASSES, (struct sl_label_list){0}, p);
        for (int32_t c = 0; c < CLASSES; c++)
            if (uniform((uint64_t)(100000 + i * 10 + c)) < (double)p[c])
                ids[count++] = c;
        rows[i] = i;
        EXPECT_OK(sl_label_lists_add(&labels, ids, count, &err), err);
    }
}

Test(calibration, finds_scale_and_offset_of_independent_labels)
{
    static const struct sl_calibration truth = {
        .temperature = 0.7, .shift = -1.5, .independent = true};
    draw_independent(&truth);
    const struct sl_calibration c = sl_calibration_fit(&independent);
    cr_expect(c.independent);
    cr_expect_float_eq(c.temperature, 0.7, 0.05, "%g", c.temperature);
    cr_expect_float_eq(c.shift, -1.5, 0.1, "%g", c.shift);
    cr_expect_leq(sl_calibration_loss(&c, &independent), sl_calibration_loss(&truth, &independent));
}

/* Where no mistake limits the scale, and where larger logits are wrong ones. */
Test(calibration, of_separable_and_of_useless_logits_is_finite)
{
    struct sl_err err;
    for (int sign = -1; sign <= 1; sign += 2) {
        sl_label_lists_release(&labels);
        for (int i = 0; i < TEXTS; i++) {
            const int32_t label = i % CLASSES;
            for (int c = 0; c < CLASSES; c++)
                logits[i * CLASSES + c] = (float)sign * (c == label ? 1.0f : -1.0f);
            rows[i] = i;
            EXPECT_OK(sl_label_lists_add(&labels, &label, 1, &err), err);
        }
        const struct sl_calibration c = sl_calibration_fit(&independent);
        const double loss = sl_calibration_loss(&c, &independent);
        cr_expect(isfinite(c.temperature) && c.temperature > 0.0 && isfinite(c.shift), "%g %g",
                  c.temperature, c.shift);
        cr_expect_lt(loss, sign > 0 ? 1e-3 : 2.6, "%g", loss);
    }
}
