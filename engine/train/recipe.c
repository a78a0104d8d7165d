/* recipe.c - the table of a training run's numbers, and the learning rate that follows from it. */
#include "train/recipe.h"

#include <math.h>

/* The standards are the TSA paper's for Tiny-Shakespeare (table 2). */
static const char *const schedules[] = {[SL_COSINE] = "cosine",
                                        [SL_CONSTANT] = "constant",
                                        [SL_INVERSE_ROOT] = "inverse_root",
                                        [SL_COSINE_AFTER_WARMUP] = "cosine_after_warmup",
                                        NULL};

const struct sl_number sl_recipe_rows[] = {
    SL_INTEGER_ROW(sl_recipe, steps, 1, 1e8, 5000, "optimiser steps"),
    SL_INTEGER_ROW(sl_recipe, epochs, 0, 100000, 0,
                   "passes over labelled texts, instead of steps; each ends with a measurement"),
    SL_INTEGER_ROW(sl_recipe, batch, 1, 65536, 64, "windows, or labelled texts, per step"),
    SL_INTEGER_ROW(sl_recipe, micro_batch, 1, 65536, 8,
                   "of them computed at a time: less memory, same result to rounding"),
    SL_INTEGER_ROW(sl_recipe, seed, 0, 2147483647, 1,
                   "of first values, order, windows and dropout"),
    SL_REAL_ROW(sl_recipe, rate, 1e-9, 10, 3e-4, "learning rate after the warm-up"),
    SL_REAL_ROW(sl_recipe, rate_least, 0, 10, 3e-5, "learning rate at the end of the cosine"),
    SL_CHOICE_ROW(sl_recipe, schedule, schedules, SL_COSINE_AFTER_WARMUP, SL_COSINE,
                  "of the learning rate, after the warm-up"),
    SL_INTEGER_ROW(sl_recipe, warmup, 0, 1e8, 0, "steps over which the rate rises from 0"),
    SL_REAL_ROW(sl_recipe, beta1, 0, 0.99999, 0.9, "AdamW: memory of the mean"),
    SL_REAL_ROW(sl_recipe, beta2, 0, 0.99999, 0.95, "AdamW: memory of the square"),
    SL_REAL_ROW(sl_recipe, epsilon, 1e-15, 1, 1e-8, "AdamW: added to the deviation"),
    SL_REAL_ROW(sl_recipe, decay, 0, 10, 0.1, "AdamW: weight decay"),
    SL_INTEGER_ROW(sl_recipe, decay_all, 0, 1, 0, "1: decay biases, norms and embeddings, too"),
    SL_INTEGER_ROW(sl_recipe, bias_correction, 0, 1, 1,
                   "0: leave out AdamW's correction of the first steps"),
    SL_REAL_ROW(sl_recipe, clip, 0, 1e9, 1.0,
                "largest norm of all gradients together; 0: no limit"),
    SL_INTEGER_ROW(
        sl_recipe, crops, 0, 100, 0,
        "random pieces of each labelled text to learn from besides the whole, each epoch"),
    SL_REAL_ROW(sl_recipe, token_dropout, 0, 0.9, 0,
                "share of the tokens whose embedding is left out while training"),
    SL_INTEGER_ROW(sl_recipe, evaluate_every, 0, 1e8, 250,
                   "steps between measurements on the validation part; 0: only at the end"),
    SL_INTEGER_ROW(sl_recipe, save_every, 0, 1e8, 250,
                   "steps between saved states; 0: only at the end"),
    SL_REAL_ROW(sl_recipe, train_share, 0.01, 0.99, 0.8,
                "share of the text, from its beginning, to train on"),
    SL_REAL_ROW(sl_recipe, validation_share, 0.001, 0.99, 0.1,
                "share of the text after that, or of labelled texts, to measure on"),
    {0}};

bool sl_recipe_check(const struct sl_recipe *r, struct sl_err *err)
{
    if (r->rate_least > r->rate)
        return sl_fail(err, SL_BAD_INPUT, "rate_least is %g; accepted is at most rate, %g",
                       (double)r->rate_least, (double)r->rate);
    return true;
}

double sl_recipe_rate(const struct sl_recipe *r, int step)
{
    if (step < r->warmup)
        return (double)r->rate * (step + 1) / r->warmup;
    if (r->schedule == SL_CONSTANT)
        return (double)r->rate;
    if (r->schedule == SL_INVERSE_ROOT)
        return (double)r->rate * sqrt(fmax(r->warmup, 1.0) / (step + 1));
    int before = r->schedule == SL_COSINE_AFTER_WARMUP ? r->warmup : 0;
    double cosine = 0.5 * (1.0 + cos(M_PI * (step - before) / (r->steps - before)));
    return (double)r->rate_least + ((double)r->rate - (double)r->rate_least) * cosine;
}

double sl_recipe_progress(const struct sl_recipe *r, int step)
{
    int whole = r->epochs > 0 ? r->steps / r->epochs : 1;
    return (double)(step - step % whole) / r->steps;
}
