/* recipe.h - the numbers of a training run: one table for the command line, for checks, for
 * files. */
#pragma once

#include "base/number.h"

#include <stdint.h>

enum sl_schedule { SL_COSINE, SL_CONSTANT, SL_INVERSE_ROOT };

struct sl_recipe {
    int steps, batch, micro_batch, warmup, evaluate_every, save_every;
    int epochs;                     /* > 0: they make the steps */
    int decay_all, bias_correction; /* 0 or 1 */
    int schedule;                   /* enum sl_schedule */
    int seed;
    float rate, rate_least, beta1, beta2, epsilon, decay, clip;
    float train_share, validation_share;
};

extern const struct sl_number sl_recipe_rows[];

/* What no single bound says. */
bool sl_recipe_check(const struct sl_recipe *recipe, struct sl_err *err) SL_MUST_CHECK;

/* The learning rate of a step (from 0): linear over the warm-up, then by the schedule a cosine from
 * rate to rate_least over all steps (Loshchilov & Hutter 2017, eq. 5, one period; TSA's recipe); or
 * rate; or rate sqrt(warmup / step), whose peak is rate (Vaswani et al. 2017, eq. 3). */
double sl_recipe_rate(const struct sl_recipe *recipe, int step);
