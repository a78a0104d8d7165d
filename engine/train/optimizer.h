/* optimizer.h - AdamW over all parameters of a model: clipping, moments, decay, layer-wise rates,
 * and a moving average of the weights. */
#pragma once

#include "model/model.h"
#include "train/hyperparameters.h"

/* The moments, laid out as the parameters are: m[i] and v[i] belong to parameter i. */
struct sl_optimizer {
    struct sl_model *model;
    struct sl_arena arena;
    float **m, **v;
    float **average;   /* of the values (Polyak & Juditsky 1992); NULL: none */
    float *rate_scale; /* of the learning rate of each parameter */
    double *squares;   /* of the gradients, summed over each piece */
};

/* Of the hyper-parameters, those that need memory or belong to a layer: average_decay,
 * layer_decay. */
bool sl_optimizer_init(struct sl_optimizer *o, struct sl_model *model,
                       const struct sl_hyperparameters *hyperparameters, struct sl_err *err)
    SL_MUST_CHECK;
/* The average begins with the present values. */
void sl_optimizer_start_average(const struct sl_optimizer *o);
/* Exchanges the values of the parameters with their average, if there is one. Pack the model
 * afterwards. */
void sl_optimizer_swap_average(const struct sl_optimizer *o);
void sl_optimizer_release(struct sl_optimizer *o); /* a zeroed one is fine */

/* The norm of all gradients together, summed in a fixed order. */
double sl_optimizer_norm(const struct sl_optimizer *o);
/* One update, step counted from 0; gradients are first scaled down to max_grad_norm. */
void sl_optimizer_step(const struct sl_optimizer *o,
                       const struct sl_hyperparameters *hyperparameters, int step, double norm);
