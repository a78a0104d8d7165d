/* optimizer.h - AdamW over all parameters of a model: clipping, moments, decay. */
#pragma once

#include "model/model.h"
#include "train/hyperparameters.h"

/* The moments, laid out as the parameters are: m[i] and v[i] belong to parameter i. */
struct sl_optimizer {
    struct sl_model *model;
    struct sl_arena arena;
    float **m, **v;
};

bool sl_optimizer_init(struct sl_optimizer *o, struct sl_model *model, struct sl_err *err)
    SL_MUST_CHECK;
void sl_optimizer_release(struct sl_optimizer *o); /* a zeroed one is fine */

/* The norm of all gradients together, summed in a fixed order. */
double sl_optimizer_norm(const struct sl_optimizer *o);
/* One update, step counted from 0; gradients are first scaled down to max_grad_norm. */
void sl_optimizer_step(const struct sl_optimizer *o,
                       const struct sl_hyperparameters *hyperparameters, int step, double norm);
