/* initial_values.h - what a training starts from: random values, word vectors, a checkpoint. */
#pragma once

#include "checkpoint/checkpoint.h"
#include "train/train_options.h"

/* Sets all parameters: at random, then the token embeddings from the word vectors of the options,
 * then what `start` has (NULL: nothing). With other labels than those of `start`, what stands for
 * labels stays random: `labels` are those of the model to train; NULL: it has none. */
bool sl_initial_values_set(struct sl_model *model, const struct sl_train_options *training,
                           const struct sl_tokenizer *tokens, char *const *labels,
                           const struct sl_checkpoint *start, struct sl_err *err) SL_MUST_CHECK;
