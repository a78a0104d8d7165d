/* recipe.h - the numbers of a training run: one table for the command line, for checks, for
 * files. */
#pragma once

#include "base/number.h"

#include <stdint.h>

enum sl_schedule { SL_COSINE, SL_CONSTANT, SL_INVERSE_ROOT, SL_COSINE_AFTER_WARMUP };

struct sl_recipe {
    int steps, batch, micro_batch, warmup, evaluate_every, save_every;
    int epochs;                     /* > 0: they make the steps */
    int crops;                      /* of each labelled text, in every epoch */
    int decay_all, bias_correction; /* 0 or 1 */
    int schedule;                   /* enum sl_schedule */
    int seed;
    float rate, rate_least, beta1, beta2, epsilon, decay, clip;
    float token_dropout, train_share, validation_share;
};

extern const struct sl_number sl_recipe_rows[];

/* What no single bound says. */
bool sl_recipe_check(const struct sl_recipe *recipe, struct sl_err *err) SL_MUST_CHECK;

/* The learning rate of a step (from 0): linear over the warm-up, then by the schedule a cosine from
 * rate to rate_least (Loshchilov & Hutter 2017, eq. 5, one period), as if it had begun with the
 * warm-up (TSA's recipe) or beginning after it (Epsilon's); or rate; or rate sqrt(warmup / step),
 * whose peak is rate (Vaswani et al. 2017, eq. 3). */
double sl_recipe_rate(const struct sl_recipe *recipe, int step);

/* The share of the training that is done before a step, for prices that follow it: counted in whole
 * epochs where there are any, as Epsilon anneals. */
double sl_recipe_progress(const struct sl_recipe *recipe, int step);
