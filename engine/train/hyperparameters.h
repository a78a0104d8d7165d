/* hyperparameters.h - the hyper-parameters of a training: one table for the command line, for
 * checks and for files. */
#pragma once

#include "base/param_table.h"
#include "sluice/model.h"

#include <stdint.h>

enum sl_lr_schedule { SL_LR_COSINE, SL_LR_CONSTANT, SL_LR_INVERSE_SQRT, SL_LR_COSINE_AFTER_WARMUP };

struct sl_hyperparameters {
    int steps, batch_size, micro_batch_size, warmup_steps, evaluate_every, save_every;
    int epochs;       /* > 0: they make the steps */
    int random_crops; /* of each labelled text, in every epoch */
    int lr_schedule;  /* enum sl_lr_schedule */
    int seed;
    float learning_rate, min_learning_rate, beta1, beta2, adam_eps, weight_decay, max_grad_norm;
    float word_dropout, label_smoothing, train_fraction, validation_fraction;
    float mask_fraction, replace_fraction, replace_weight; /* pretraining: any fraction above 0 */
    float layer_decay, average_decay, distillation_weight;
    int patience;       /* evaluations */
    int passage_length; /* tokens; 0: the context length */
    bool weight_decay_all, bias_correction, balance_labels;
};

extern const struct sl_param sl_hyperparameter_rows[];

/* Checks that concern more than one of them; each one's bounds are in the table. */
bool sl_hyperparameters_check(const struct sl_hyperparameters *h, struct sl_err *err) SL_MUST_CHECK;

/* Checks that none is set that this kind of training does not use. */
bool sl_hyperparameters_check_task(const struct sl_hyperparameters *h, enum sl_task task,
                                   struct sl_err *err) SL_MUST_CHECK;

/* Checks that none is set that needs a teacher. */
bool sl_hyperparameters_check_teacher(const struct sl_hyperparameters *h, struct sl_err *err)
    SL_MUST_CHECK;

/* The learning rate of a step (from 0): linear over the warm-up, then by lr_schedule
 *     cosine               from learning_rate to min_learning_rate (Loshchilov & Hutter 2017, eq.
 *                          5, one period), computed as if it had begun with the warm-up (TSA)
 *     cosine_after_warmup  the same, beginning after the warm-up (Epsilon)
 *     constant             learning_rate
 *     inverse_sqrt         learning_rate sqrt(warmup_steps / step) (Vaswani et al. 2017, eq. 3) */
double sl_learning_rate_at(const struct sl_hyperparameters *h, int step);

/* The fraction of the training that is done before a step, for loss weights that follow it:
 * counted in whole epochs where there are any, as Epsilon anneals. */
double sl_training_fraction(const struct sl_hyperparameters *h, int step);
