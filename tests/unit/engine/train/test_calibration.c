/* test_calibration.c - calibration finds the numbers that labels were drawn with. */
#include "base/random.h"
#include "support/test.h"
#include "train/calibration.h"

#include <math.h>

enum { TEXTS = 4000, CLASSES = 5 };

static float logits[TEXTS * CLASSES];
static int32_t labels[TEXTS], rows[TEXTS];
static const struct sl_predictions all = {.logits = logits,
                                          .labels = labels,
                                          .rows = rows,
                                          .count = TEXTS,
                                          .classes = CLASSES};

static double uniform(uint64_t index)
{
    return (double)(sl_random_bits(sl_random_key(1, "test"), index) >> 11) * 0x1p-53;
}

/* Labels that occur as often as the calibration says. */
static void draw(const struct sl_calibration *truth)
{
    float p[CLASSES];
    for (int i = 0; i < TEXTS; i++) {
        float *z = logits + i * CLASSES;
        for (int c = 0; c < CLASSES; c++)
            z[c] = (float)(8.0 * uniform((uint64_t)(i * 10 + c)) - 5.0);
        (void)sl_calibrate(truth, z, CLASSES, 0, p);
        double left = uniform((uint64_t)(i * 10 + 9));
        rows[i] = i;
        labels[i] = 0;
        while (labels[i] < CLASSES - 1 && (left -= (double)p[labels[i]]) > 0.0)
            labels[i]++;
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
        {.temperature = 0.01}, {1.0, -8.0, 3.0}, {0.5, 12.0, 50.0}};
    static const float extreme[][CLASSES] = {
        {-1e4f, 1e4f, 0, 1, 2}, {5, 4, 3, 2, 1}, {-900, -901, -902, -903, -904}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            float p[CLASSES], sum = 0;
            double loss = sl_calibrate(&some[i], extreme[j], CLASSES, 0, p);
            cr_expect(isfinite(loss), "%g", loss);
            for (int c = 0; c < CLASSES; c++) {
                sum += p[c];
                for (int d = 0; d < CLASSES; d++)
                    cr_expect(extreme[j][c] <= extreme[j][d] || p[c] >= p[d]);
            }
            cr_expect_float_eq(sum, 1.0f, 1e-5f);
        }
}
