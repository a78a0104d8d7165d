/* recipe.c - the table of a training run's numbers, and the learning rate that follows from it. */
#include "train/recipe.h"

#include <math.h>
#include <string.h>

#define AT(member) offsetof(struct sl_recipe, member)

/* The standards are the TSA paper's for Tiny-Shakespeare (table 2). */
static const struct sl_recipe_row rows[] = {
    {"steps", "optimiser steps", SL_RECIPE_INTEGER, 1, 1e8, 5000, AT(steps)},
    {"batch", "windows per step", SL_RECIPE_INTEGER, 1, 65536, 64, AT(batch)},
    {"micro_batch", "windows computed at a time: less memory, same result to rounding",
     SL_RECIPE_INTEGER, 1, 65536, 8, AT(micro_batch)},
    {"seed", "of first values, windows and dropout", SL_RECIPE_INTEGER, 0, 2147483647, 1, AT(seed)},
    {"rate", "learning rate after the warm-up", SL_RECIPE_REAL, 1e-9, 10, 3e-4, AT(rate)},
    {"rate_least", "learning rate at the end of the cosine", SL_RECIPE_REAL, 0, 10, 3e-5,
     AT(rate_least)},
    {"warmup", "steps over which the rate rises from 0", SL_RECIPE_INTEGER, 0, 1e8, 0, AT(warmup)},
    {"beta1", "AdamW: memory of the mean", SL_RECIPE_REAL, 0, 0.99999, 0.9, AT(beta1)},
    {"beta2", "AdamW: memory of the square", SL_RECIPE_REAL, 0, 0.99999, 0.95, AT(beta2)},
    {"epsilon", "AdamW: added to the deviation", SL_RECIPE_REAL, 1e-15, 1, 1e-8, AT(epsilon)},
    {"decay", "AdamW: weight decay", SL_RECIPE_REAL, 0, 10, 0.1, AT(decay)},
    {"decay_all", "1: decay biases, norms and embeddings, too", SL_RECIPE_INTEGER, 0, 1, 0,
     AT(decay_all)},
    {"bias_correction", "0: leave out AdamW's correction of the first steps", SL_RECIPE_INTEGER, 0,
     1, 1, AT(bias_correction)},
    {"clip", "largest norm of all gradients together; 0: no limit", SL_RECIPE_REAL, 0, 1e9, 1.0,
     AT(clip)},
    {"evaluate_every", "steps between measurements on the validation part; 0: only at the end",
     SL_RECIPE_INTEGER, 0, 1e8, 250, AT(evaluate_every)},
    {"save_every", "steps between saved states; 0: only at the end", SL_RECIPE_INTEGER, 0, 1e8, 250,
     AT(save_every)},
    {"train_share", "share of the text, from its beginning, to train on", SL_RECIPE_REAL, 0.01,
     0.99, 0.8, AT(train_share)},
    {"validation_share", "share of the text after that, to measure on", SL_RECIPE_REAL, 0.001, 0.99,
     0.1, AT(validation_share)},
};

enum { ROWS = sizeof rows / sizeof rows[0] };

const struct sl_recipe_row *sl_recipe_row(int index)
{
    return index >= 0 && index < ROWS ? &rows[index] : NULL;
}

const struct sl_recipe_row *sl_recipe_find(const char *name)
{
    for (int i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

static void put(struct sl_recipe *recipe, const struct sl_recipe_row *row, double value)
{
    char *at = (char *)recipe + row->offset;
    int whole = (int)value;
    float real = (float)value;
    if (row->kind == SL_RECIPE_INTEGER)
        memcpy(at, &whole, sizeof whole);
    else
        memcpy(at, &real, sizeof real);
}

double sl_recipe_get(const struct sl_recipe *recipe, const struct sl_recipe_row *row)
{
    const char *at = (const char *)recipe + row->offset;
    int whole;
    float real;
    if (row->kind == SL_RECIPE_INTEGER) {
        memcpy(&whole, at, sizeof whole);
        return whole;
    }
    memcpy(&real, at, sizeof real);
    return (double)real;
}

void sl_recipe_standard(struct sl_recipe *recipe)
{
    *recipe = (struct sl_recipe){0};
    for (int i = 0; i < ROWS; i++)
        put(recipe, &rows[i], rows[i].standard);
}

bool sl_recipe_set(struct sl_recipe *recipe, const struct sl_recipe_row *row, double value,
                   struct sl_err *err)
{
    bool whole = row->kind == SL_RECIPE_REAL || value == floor(value);
    if (!isfinite(value) || value < row->least || value > row->most || !whole)
        return sl_fail(err, SL_BAD_INPUT, "%s is %g; accepted is a %s from %g to %g (%s)",
                       row->name, value, row->kind == SL_RECIPE_REAL ? "number" : "whole number",
                       row->least, row->most, row->help);
    put(recipe, row, value);
    return true;
}

bool sl_recipe_check(const struct sl_recipe *r, struct sl_err *err)
{
    if (r->rate_least > r->rate)
        return sl_fail(err, SL_BAD_INPUT, "rate_least is %g; accepted is at most rate, %g",
                       (double)r->rate_least, (double)r->rate);
    if (r->train_share + r->validation_share > 1.0f)
        return sl_fail(err, SL_BAD_INPUT,
                       "train_share and validation_share are %g and %g; together at most 1",
                       (double)r->train_share, (double)r->validation_share);
    return true;
}

double sl_recipe_rate(const struct sl_recipe *r, int step)
{
    if (step < r->warmup)
        return (double)r->rate * (step + 1) / r->warmup;
    double cosine = 0.5 * (1.0 + cos(M_PI * step / r->steps));
    return (double)r->rate_least + ((double)r->rate - (double)r->rate_least) * cosine;
}
