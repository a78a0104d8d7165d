/* recipe.h - the numbers of a training run: one table for the command line, for checks, for
 * files. */
#pragma once

#include "sluice/err.h"

#include <stddef.h>
#include <stdint.h>

struct sl_recipe {
    int steps, batch, micro_batch, warmup, evaluate_every, save_every;
    int decay_all, bias_correction; /* 0 or 1 */
    int seed;
    float rate, rate_least, beta1, beta2, epsilon, decay, clip;
    float train_share, validation_share;
};

enum sl_recipe_kind { SL_RECIPE_INTEGER, SL_RECIPE_REAL };

struct sl_recipe_row {
    const char *name, *help;
    enum sl_recipe_kind kind;
    double least, most, standard;
    size_t offset; /* into struct sl_recipe: an int or a float */
};

const struct sl_recipe_row *sl_recipe_row(int index); /* NULL past the last */
const struct sl_recipe_row *sl_recipe_find(const char *name);

void sl_recipe_standard(struct sl_recipe *recipe);
/* Sets one number; what is out of bounds is named with what would do. */
bool sl_recipe_set(struct sl_recipe *recipe, const struct sl_recipe_row *row, double value,
                   struct sl_err *err) SL_MUST_CHECK;
double sl_recipe_get(const struct sl_recipe *recipe, const struct sl_recipe_row *row);
/* What no single bound says. */
bool sl_recipe_check(const struct sl_recipe *recipe, struct sl_err *err) SL_MUST_CHECK;

/* The learning rate of a step (from 0): linear over the warm-up, then a cosine from rate to
 * rate_least over all steps (Loshchilov & Hutter 2017, eq. 5, one period; TSA's recipe). */
double sl_recipe_rate(const struct sl_recipe *recipe, int step);
