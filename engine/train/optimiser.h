/* optimiser.h - AdamW over all parameters of a model: clipping, moments, decay. */
#pragma once

#include "model/model.h"
#include "train/recipe.h"

/* The moments, laid out as the parameters are: m[i] and v[i] belong to parameter i. */
struct sl_optimiser {
    struct sl_model *model;
    struct sl_arena arena;
    float **m, **v;
};

bool sl_optimiser_init(struct sl_optimiser *o, struct sl_model *model, struct sl_err *err)
    SL_MUST_CHECK;
void sl_optimiser_release(struct sl_optimiser *o); /* a zeroed one is fine */

/* The norm of all gradients together, summed in a fixed order. */
double sl_optimiser_norm(const struct sl_optimiser *o);
/* One update, step counted from 0; gradients are scaled down to recipe->clip first. */
void sl_optimiser_step(const struct sl_optimiser *o, const struct sl_recipe *recipe, int step,
                       double norm);
