/* int8_loss.h - measures what int8 costs a model. */
#pragma once

#include "checkpoint/model_config.h"
#include "train/evaluate.h"

/* Evaluates a copy of the model on held-out data. */
typedef bool sl_evaluate_copy(const void *context, const struct sl_model *copy,
                              const struct sl_policy *policy, struct sl_evaluation *out,
                              struct sl_err *err);

/* Evaluates two copies of the model, one of them in int8. The model must have kept its values. Not
 * measured: no product of the model can be computed in int8, a copy produced NaN or infinity or
 * had no memory, or the model was only pretrained: its loss says nothing about embeddings. */
bool sl_int8_loss_measure(const struct sl_model *model, const struct sl_policy *policy,
                          sl_evaluate_copy *evaluate, const void *context,
                          struct sl_precision_cost *out, struct sl_err *err) SL_MUST_CHECK;
