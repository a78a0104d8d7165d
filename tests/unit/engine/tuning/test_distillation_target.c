/* test_distillation_target.c - how similar two outputs are: 1 if they are the same, less the more
 * they differ. Losses are checked by test_ops.c and test_adaptation.c. */
#include "base/random.h"
#include "support/model_fixture.h"
#include "support/test.h"
#include "tuning/distillation_target.h"

#include <math.h>

enum { ROWS = 5, COLS = 7 };

struct kind {
    struct sl_config config;
    int rows;
};

static const struct kind kinds[] = {
    {{.task = SL_TASK_PRETRAINING}, 1},
    {{.task = SL_TASK_CLASSIFICATION, .classes = COLS}, 1},
    {{.task = SL_TASK_CLASSIFICATION, .classes = COLS, .multi_label = true}, 1},
    {{.task = SL_TASK_CLASSIFICATION, .classes = 1}, 1},
    {{.task = SL_TASK_TOKEN_CLASSIFICATION, .classes = COLS}, ROWS},
    {{.task = SL_TASK_COMPLETION, .vocab = COLS}, ROWS},
};

static void fill(float *out, uint64_t key, float deviation)
{
    for (int i = 0; i < ROWS * COLS; i++)
        out[i] += deviation * ((float)(sl_random_bits(key, (uint64_t)i) >> 40) / 8388608.0f - 1.0f);
}

static double similarity(const struct kind *kind, const struct sl_kernels *kernels,
                         const float *own, const float *teacher)
{
    float scratch[2 * COLS];
    const int cols = kind->config.classes == 1 ? 1 : COLS;
    const struct sl_text_output a = {own, COLS, kind->rows, cols},
                                b = {teacher, COLS, kind->rows, cols};
    return sl_distillation_target_of(&kind->config)->similarity(kernels, &a, &b, scratch);
}

Test(distillation_target, similarity_falls_with_the_difference)
{
    struct sl_engine *engine = fixture_engine(NULL, 1);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        float teacher[ROWS * COLS] = {0}, near[ROWS * COLS], far[ROWS * COLS] = {0};
        fill(teacher, 1, 4.0f);
        memcpy(near, teacher, sizeof near);
        fill(near, 2, 0.1f);
        fill(far, 3, 4.0f);
        const double same = similarity(&kinds[i], engine->kernels, teacher, teacher),
                     of_near = similarity(&kinds[i], engine->kernels, near, teacher),
                     of_far = similarity(&kinds[i], engine->kernels, far, teacher);
        cr_expect_float_eq(same, 1.0, 1e-6, "kind %zu: %g", i, same);
        cr_expect(of_near <= 1.0 + 1e-6 && of_near > 0.9, "kind %zu: %g", i, of_near);
        cr_expect_lt(of_far, 0.7, "kind %zu: %g", i, of_far);
    }
    sl_engine_destroy(engine);
}

/* e^-KL of (0.5, 0.5) and (0.8, 0.2) is sqrt(0.64). */
Test(distillation_target, a_text_generator_is_measured_by_its_divergence)
{
    struct sl_engine *engine = fixture_engine(NULL, 1);
    static const float teacher[] = {0.0f, 0.0f};
    const float own[] = {logf(0.8f), logf(0.2f)};
    float scratch[4];
    const struct sl_text_output a = {own, 2, 1, 2}, b = {teacher, 2, 1, 2};
    const struct sl_config config = {.task = SL_TASK_COMPLETION, .vocab = 2};
    cr_expect_float_eq(
        sl_distillation_target_of(&config)->similarity(engine->kernels, &a, &b, scratch), 0.8,
        1e-6);
    sl_engine_destroy(engine);
}

Test(distillation_target, translation_has_none)
{
    cr_expect_null(sl_distillation_target_of(&(struct sl_config){.task = SL_TASK_TRANSLATION}));
}
