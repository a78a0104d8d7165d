/* hyperparameters.c - the table of training hyper-parameters, and the learning-rate schedules. */
#include "train/hyperparameters.h"
#include "arch/arch.h"

#include <math.h>

/* For trainings of these tasks only. */
#define SL_TASK_ROW(member, kind_, min_, max_, default_, help_, tasks)                             \
    SL_PARAM_ROW_AT(0, sl_hyperparameters, member, kind_, min_, max_, default_, help_, NULL, tasks)

/* The defaults are the TSA paper's for Tiny-Shakespeare (table 2). */
static const char *const schedules[] = {[SL_LR_COSINE] = "cosine",
                                        [SL_LR_CONSTANT] = "constant",
                                        [SL_LR_INVERSE_SQRT] = "inverse_sqrt",
                                        [SL_LR_COSINE_AFTER_WARMUP] = "cosine_after_warmup",
                                        NULL};

const struct sl_param sl_hyperparameter_rows[] = {
    SL_INTEGER_ROW(sl_hyperparameters, steps, 1, 1e8, 5000,
                   "optimizer steps [with --corpus: 5000]"),
    SL_INTEGER_ROW(
        sl_hyperparameters, epochs, 0, 100000, 0,
        "passes over the texts of --data, with an evaluation after each [with --data: 10]"),
    SL_INTEGER_ROW(sl_hyperparameters, batch_size, 1, 65536, 64,
                   "examples per step: labelled texts, or windows of --corpus"),
    SL_INTEGER_ROW(sl_hyperparameters, micro_batch_size, 1, 65536, 8,
                   "examples computed at a time; fewer need less memory"),
    SL_INTEGER_ROW(sl_hyperparameters, seed, 0, 2147483647, 1,
                   "seed for initialization, shuffling, windows and dropout"),
    SL_REAL_ROW(sl_hyperparameters, learning_rate, 1e-9, 10, 3e-4, "peak learning rate"),
    SL_REAL_ROW(sl_hyperparameters, min_learning_rate, 0, 10, 3e-5,
                "final learning rate of a cosine schedule"),
    SL_CHOICE_ROW(
        sl_hyperparameters, lr_schedule, schedules, SL_LR_COSINE_AFTER_WARMUP, SL_LR_COSINE,
        "learning rate after the warm-up; constant: it stays; inverse_sqrt: it falls with "
        "1/sqrt(step); cosine: it falls along a cosine that begins at step 0; "
        "cosine_after_warmup: along one that begins after the warm-up"),
    SL_INTEGER_ROW(sl_hyperparameters, warmup_steps, 0, 1e8, 0,
                   "steps over which the learning rate rises from 0"),
    SL_REAL_ROW(sl_hyperparameters, beta1, 0, 0.99999, 0.9,
                "AdamW: decay rate of the first moment"),
    SL_REAL_ROW(sl_hyperparameters, beta2, 0, 0.99999, 0.95,
                "AdamW: decay rate of the second moment"),
    SL_REAL_ROW(sl_hyperparameters, adam_eps, 1e-15, 1, 1e-8, "AdamW: numerical-stability term"),
    SL_REAL_ROW(sl_hyperparameters, weight_decay, 0, 10, 0.1, "AdamW: weight decay"),
    SL_FLAG_ROW(sl_hyperparameters, weight_decay_all, 0,
                "AdamW: decay biases, norms and embeddings, too"),
    SL_FLAG_ROW(sl_hyperparameters, bias_correction, 1, "AdamW: bias correction"),
    SL_REAL_ROW(sl_hyperparameters, max_grad_norm, 0, 1e9, 1.0,
                "clip the global gradient norm to this; 0: off"),
    SL_REAL_ROW(
        sl_hyperparameters, layer_decay, 0.01, 1, 1,
        "fine-tuning: learning rate of each layer as a multiple of that of the layer above"),
    SL_REAL_ROW(
        sl_hyperparameters, average_decay, 0, 0.99999, 0,
        "evaluate and publish a moving average of the weights with this decay rate; 0: no average"),
    SL_TASK_ROW(distillation_weight, SL_REAL, 0, 1, 0.5,
                "with --teacher: weight of the divergence from its predictions in the loss; the "
                "targets have the rest of 1",
                SL_COMPLETES | SL_CLASSIFIES),
    SL_INTEGER_ROW(sl_hyperparameters, patience, 0, 1000000, 0,
                   "stop after this many evaluations without a better result; 0: never"),
    SL_TASK_ROW(balance_labels, SL_FLAG, 0, 1, 0,
                "weight texts so that all labels count the same in the loss", SL_CLASSIFIES),
    SL_TASK_ROW(
        random_crops, SL_INTEGER, 0, 100, 0,
        "in each epoch, train also on this many random pieces of each text (4 to 127 tokens long)",
        SL_CLASSIFIES),
    SL_TASK_ROW(label_smoothing, SL_REAL, 0, 0.9, 0,
                "part of a target that all other tokens share in the loss", SL_TRANSLATES),
    SL_REAL_ROW(sl_hyperparameters, word_dropout, 0, 0.9, 0,
                "probability of zeroing a token's embedding during training"),
    SL_TASK_ROW(mask_fraction, SL_REAL, 0, 0.9, 0,
                "pretrain: mask this fraction of the tokens; the model predicts them",
                SL_PRETRAINS),
    SL_TASK_ROW(replace_fraction, SL_REAL, 0, 0.9, 0,
                "pretrain: replace this fraction of the tokens; the model detects them",
                SL_PRETRAINS),
    SL_TASK_ROW(
        replace_weight, SL_REAL, 0, 1000, 10,
        "pretrain: weight of the loss of --replace-fraction, beside that of --mask-fraction",
        SL_PRETRAINS),
    SL_TASK_ROW(passage_length, SL_INTEGER, 0, 8192, 0,
                "pretrain: tokens per passage; 0: as many as the context length", SL_PRETRAINS),
    SL_INTEGER_ROW(sl_hyperparameters, evaluate_every, 0, 1e8, 250,
                   "with --steps: steps between evaluations; 0: only at the end"),
    SL_INTEGER_ROW(sl_hyperparameters, save_every, 0, 1e8, 250,
                   "steps between saved states; 0: only at the end"),
    SL_REAL_ROW(sl_hyperparameters, train_fraction, 0.01, 0.99, 0.8,
                "fraction of --corpus, from its beginning, to train on"),
    SL_REAL_ROW(
        sl_hyperparameters, validation_fraction, 0.001, 0.99, 0.1,
        "fraction of the texts to validate on; with --corpus, the part after --train-fraction"),
    {0}};

bool sl_hyperparameters_check(const struct sl_hyperparameters *r, struct sl_err *err)
{
    if (r->min_learning_rate > r->learning_rate)
        return sl_fail(err, SL_BAD_INPUT,
                       "invalid min_learning_rate '%g': expected at most learning_rate (%g)",
                       (double)r->min_learning_rate, (double)r->learning_rate);
    return true;
}

bool sl_hyperparameters_check_task(const struct sl_hyperparameters *r, enum sl_task task,
                                   struct sl_err *err)
{
    static const char *const trainings[] = {[SL_TASK_COMPLETION] = "training a language model",
                                            [SL_TASK_CLASSIFICATION] = "training a classifier",
                                            [SL_TASK_PRETRAINING] = "pretraining",
                                            [SL_TASK_TOKEN_CLASSIFICATION] =
                                                "training a token classifier",
                                            [SL_TASK_TRANSLATION] = "training a translator"};
    for (const struct sl_param *row = sl_hyperparameter_rows; row->name; row++) {
        double given = sl_param_get(row, r);
        if (sl_hyper_is_for(row, task) || !(fabs(given - row->default_value) > 0.0))
            continue;
        return sl_fail(err, SL_BAD_INPUT, "%s has no effect on %s", row->name, trainings[task]);
    }
    return true;
}

bool sl_hyperparameters_check_teacher(const struct sl_hyperparameters *r, struct sl_err *err)
{
    const struct sl_param *row = sl_param_find(sl_hyperparameter_rows, "distillation_weight");
    return !(fabs(sl_param_get(row, r) - row->default_value) > 0.0) ||
           sl_fail(err, SL_BAD_INPUT, "%s has no effect without a teacher; name one with --teacher",
                   row->name);
}

double sl_learning_rate_at(const struct sl_hyperparameters *h, int step)
{
    if (step < h->warmup_steps)
        return (double)h->learning_rate * (step + 1) / h->warmup_steps;
    if (h->lr_schedule == SL_LR_CONSTANT)
        return (double)h->learning_rate;
    if (h->lr_schedule == SL_LR_INVERSE_SQRT)
        return (double)h->learning_rate * sqrt(fmax(h->warmup_steps, 1.0) / (step + 1));
    int before = h->lr_schedule == SL_LR_COSINE_AFTER_WARMUP ? h->warmup_steps : 0;
    double cosine = 0.5 * (1.0 + cos(M_PI * (step - before) / (h->steps - before)));
    return (double)h->min_learning_rate +
           ((double)h->learning_rate - (double)h->min_learning_rate) * cosine;
}

double sl_training_fraction(const struct sl_hyperparameters *h, int step)
{
    int whole = h->epochs > 0 ? h->steps / h->epochs : 1;
    return (double)(step - step % whole) / h->steps;
}
