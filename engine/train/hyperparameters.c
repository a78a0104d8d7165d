/* hyperparameters.c - the table of training hyper-parameters, and the learning-rate schedules. */
#include "train/hyperparameters.h"

#include <math.h>

/* The defaults are the TSA paper's for Tiny-Shakespeare (table 2). */
static const char *const schedules[] = {[SL_LR_COSINE] = "cosine",
                                        [SL_LR_CONSTANT] = "constant",
                                        [SL_LR_INVERSE_SQRT] = "inverse_sqrt",
                                        [SL_LR_COSINE_AFTER_WARMUP] = "cosine_after_warmup",
                                        NULL};

const struct sl_param sl_hyperparameter_rows[] = {
    SL_INTEGER_ROW(sl_hyperparameters, steps, 1, 1e8, 5000, "optimizer steps [5000 with --corpus]"),
    SL_INTEGER_ROW(
        sl_hyperparameters, epochs, 0, 100000, 0,
        "passes over labelled texts, instead of steps; each ends with an evaluation [10 with "
        "--data]"),
    SL_INTEGER_ROW(sl_hyperparameters, batch_size, 1, 65536, 64,
                   "windows of a text, or labelled texts, per step"),
    SL_INTEGER_ROW(
        sl_hyperparameters, micro_batch_size, 1, 65536, 8,
        "examples computed at a time; fewer use less memory (results differ by rounding only)"),
    SL_INTEGER_ROW(sl_hyperparameters, seed, 0, 2147483647, 1,
                   "seed for initialization, shuffling, windows and dropout"),
    SL_REAL_ROW(sl_hyperparameters, learning_rate, 1e-9, 10, 3e-4, "peak learning rate"),
    SL_REAL_ROW(sl_hyperparameters, min_learning_rate, 0, 10, 3e-5,
                "final learning rate of a cosine schedule"),
    SL_CHOICE_ROW(
        sl_hyperparameters, lr_schedule, schedules, SL_LR_COSINE_AFTER_WARMUP, SL_LR_COSINE,
        "learning-rate schedule after the warm-up (cosine counts from step 0, cosine_after_warmup "
        "from the end of the warm-up)"),
    SL_INTEGER_ROW(sl_hyperparameters, warmup_steps, 0, 1e8, 0,
                   "steps over which the learning rate rises from 0"),
    SL_REAL_ROW(sl_hyperparameters, beta1, 0, 0.99999, 0.9,
                "AdamW: decay rate of the first moment"),
    SL_REAL_ROW(sl_hyperparameters, beta2, 0, 0.99999, 0.95,
                "AdamW: decay rate of the second moment"),
    SL_REAL_ROW(sl_hyperparameters, adam_eps, 1e-15, 1, 1e-8, "AdamW: numerical-stability term"),
    SL_REAL_ROW(sl_hyperparameters, weight_decay, 0, 10, 0.1, "AdamW: weight decay"),
    SL_INTEGER_ROW(sl_hyperparameters, weight_decay_all, 0, 1, 0,
                   "1: decay biases, norms and embeddings too"),
    SL_INTEGER_ROW(sl_hyperparameters, bias_correction, 0, 1, 1, "AdamW: bias correction; 0: off"),
    SL_REAL_ROW(sl_hyperparameters, max_grad_norm, 0, 1e9, 1.0,
                "clip the global gradient norm to this; 0: off"),
    SL_REAL_ROW(sl_hyperparameters, layer_decay, 0.01, 1, 1,
                "fine-tuning: learning rate of each layer, relative to the one above it"),
    SL_REAL_ROW(
        sl_hyperparameters, average_decay, 0, 0.99999, 0,
        "decay rate of the moving average of the weights, which is evaluated and published; "
        "0: the weights themselves"),
    SL_INTEGER_ROW(sl_hyperparameters, patience, 0, 1000000, 0,
                   "stop after this many evaluations without a better one; 0: never"),
    SL_INTEGER_ROW(sl_hyperparameters, balance_labels, 0, 1, 0,
                   "1: rare labels count as much as frequent ones in the loss"),
    SL_INTEGER_ROW(
        sl_hyperparameters, random_crops, 0, 100, 0,
        "random crops, of 4 to 127 tokens, of each labelled text per epoch, in addition to the "
        "whole text"),
    SL_REAL_ROW(sl_hyperparameters, word_dropout, 0, 0.9, 0,
                "probability of zeroing a token's embedding during training"),
    SL_REAL_ROW(sl_hyperparameters, mask_fraction, 0, 0.9, 0,
                "pretraining: fraction of tokens to mask, which the model predicts"),
    SL_REAL_ROW(sl_hyperparameters, replace_fraction, 0, 0.9, 0,
                "pretraining: fraction of tokens to replace, which the model detects"),
    SL_REAL_ROW(sl_hyperparameters, replace_weight, 0, 1000, 10,
                "pretraining: weight of detecting replaced tokens in the loss"),
    SL_INTEGER_ROW(sl_hyperparameters, passage_length, 0, 8192, 0,
                   "pretraining: tokens at a time; 0: the context length"),
    SL_INTEGER_ROW(sl_hyperparameters, evaluate_every, 0, 1e8, 250,
                   "steps between evaluations on the validation data; 0: only at the end"),
    SL_INTEGER_ROW(sl_hyperparameters, save_every, 0, 1e8, 250,
                   "steps between saved states; 0: only at the end"),
    SL_REAL_ROW(sl_hyperparameters, train_fraction, 0.01, 0.99, 0.8,
                "fraction of --corpus, from its beginning, to train on"),
    SL_REAL_ROW(sl_hyperparameters, validation_fraction, 0.001, 0.99, 0.1,
                "fraction to validate on, of --data, or of --corpus after the training part"),
    {0}};

bool sl_hyperparameters_check(const struct sl_hyperparameters *r, struct sl_err *err)
{
    if (r->min_learning_rate > r->learning_rate)
        return sl_fail(err, SL_BAD_INPUT,
                       "invalid min_learning_rate '%g': expected at most learning_rate %g",
                       (double)r->min_learning_rate, (double)r->learning_rate);
    return true;
}

double sl_learning_rate_at(const struct sl_hyperparameters *r, int step)
{
    if (step < r->warmup_steps)
        return (double)r->learning_rate * (step + 1) / r->warmup_steps;
    if (r->lr_schedule == SL_LR_CONSTANT)
        return (double)r->learning_rate;
    if (r->lr_schedule == SL_LR_INVERSE_SQRT)
        return (double)r->learning_rate * sqrt(fmax(r->warmup_steps, 1.0) / (step + 1));
    int before = r->lr_schedule == SL_LR_COSINE_AFTER_WARMUP ? r->warmup_steps : 0;
    double cosine = 0.5 * (1.0 + cos(M_PI * (step - before) / (r->steps - before)));
    return (double)r->min_learning_rate +
           ((double)r->learning_rate - (double)r->min_learning_rate) * cosine;
}

double sl_training_fraction(const struct sl_hyperparameters *r, int step)
{
    int whole = r->epochs > 0 ? r->steps / r->epochs : 1;
    return (double)(step - step % whole) / r->steps;
}
