/* test_hyperparameters.c - learning rates and annealing against their formulas. */
#include "support/test.h"
#include "train/hyperparameters.h"

#include <math.h>

static const struct sl_hyperparameters cosine = {.steps = 1000,
                                                 .warmup_steps = 100,
                                                 .learning_rate = 1e-2f,
                                                 .min_learning_rate = 1e-3f,
                                                 .lr_schedule = SL_LR_COSINE};

static void expect_rate(const struct sl_hyperparameters *r, int step, double want)
{
    double have = sl_learning_rate_at(r, step);
    cr_expect_float_eq(have, want, 1e-6 * want, "step %d: %g, want %g", step, have, want);
}

/* 3e-5 + 2.7e-4 (1 + cos(pi step / 5000)) / 2 is TSA's; Epsilon's begins where the warm-up ends. */
Test(hyperparameters, cosines_begin_with_the_training_or_after_the_warmup)
{
    struct sl_hyperparameters r = cosine;
    expect_rate(&r, 0, 1e-4);
    expect_rate(&r, 49, 5e-3);
    expect_rate(&r, 99, 1e-2);
    expect_rate(&r, 500, 5.5e-3);
    expect_rate(&r, 250, 5.5e-3 + 4.5e-3 * sqrt(0.5));
    r.lr_schedule = SL_LR_COSINE_AFTER_WARMUP;
    expect_rate(&r, 99, 1e-2);
    expect_rate(&r, 100, 1e-2);
    expect_rate(&r, 550, 5.5e-3);
    expect_rate(&r, 775, 5.5e-3 - 4.5e-3 * sqrt(0.5));
    expect_rate(&r, 999, 1e-3 + 9e-3 * 0.5 * (1.0 - cos(M_PI / 900.0)));
}

Test(hyperparameters, a_constant_rate_stays_after_the_warmup)
{
    struct sl_hyperparameters r = cosine;
    r.lr_schedule = SL_LR_CONSTANT;
    expect_rate(&r, 9, 1e-3);
    expect_rate(&r, 100, 1e-2);
    expect_rate(&r, 999, 1e-2);
}

/* Epsilon anneals by epochs: 1.0 of its price all through the first. */
Test(hyperparameters, progress_is_in_whole_epochs_where_there_are_any)
{
    struct sl_hyperparameters r = cosine;
    cr_expect_float_eq(sl_training_fraction(&r, 0), 0.0, 1e-12);
    cr_expect_float_eq(sl_training_fraction(&r, 499), 0.499, 1e-12);
    r.epochs = 4;
    cr_expect_float_eq(sl_training_fraction(&r, 249), 0.0, 1e-12);
    cr_expect_float_eq(sl_training_fraction(&r, 250), 0.25, 1e-12);
    cr_expect_float_eq(sl_training_fraction(&r, 999), 0.75, 1e-12);
}
