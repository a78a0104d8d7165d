/* int8_loss.h - measures what int8 costs a model that is about to be published. */
#pragma once

#include "checkpoint/model_config.h"
#include "train/dataloader.h"

/* Evaluates two copies of the model as it will be served, one of them in int8, on the validation
 * data. Not measured: no product of the model can be computed in int8, or the model was only
 * pretrained, because its loss says nothing about embeddings. */
bool sl_int8_loss_measure(const struct sl_model *model, const struct sl_policy *policy,
                          const struct sl_dataloader *dataloader, struct sl_int8_loss *out,
                          struct sl_err *err) SL_MUST_CHECK;

/* From both losses; not measured unless both are finite and more than 0. */
struct sl_int8_loss sl_int8_loss_of(double loss, double loss_in_int8);
