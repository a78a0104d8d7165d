/* evaluate_translations.h - pairs of texts as batches, and the loss of a model that translates. */
#pragma once

#include "data/dataset.h"
#include "train/evaluate.h"

/* A pair of two encoded sets, whose texts are translations of each other by number. */
struct sl_translation {
    const struct sl_dataset *source, *target;
    int number;
};

/* Appends it to a batch whose arrays have the room: the tokens of the source, and those of the
 * target but for the last, each of which is to predict the next. */
void sl_translation_append(struct sl_batch *batch, int32_t *ids, int32_t *targets,
                           struct sl_sequence *sequences, const struct sl_translation *pair);

/* The mean loss of the tokens of all translations, under `policy` (NULL: the model's own). Fails
 * with SL_NOT_FINITE when the model produces NaN or infinity. */
bool sl_evaluate_translations(const struct sl_model *model, const struct sl_dataset *source,
                              const struct sl_dataset *target, const struct sl_policy *policy,
                              struct sl_evaluation *out, struct sl_err *err) SL_MUST_CHECK;
