/* translation_pairs.h - pairs of texts as batches. */
#pragma once

#include "autograd/tape.h"
#include "data/dataset.h"

/* A pair of two encoded sets, whose texts are translations of each other by number. */
struct sl_translation {
    const struct sl_dataset *source, *target;
    int number;
};

/* Appends it to a batch whose arrays have the room: the tokens of the source, and those of the
 * target but for the last, each of which is to predict the next. */
void sl_translation_append(struct sl_batch *batch, int32_t *ids, int32_t *targets,
                           struct sl_sequence *sequences, const struct sl_translation *pair);
