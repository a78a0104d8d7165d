/* source_target.h - a batch of texts to translate and their translations, as two views: an encoder
 * computes on the first, a decoder on the second, and attends to the first. */
#pragma once

#include "autograd/tape.h"

/* Views of the sources that the batch has, and of its other rows. Those of a sequence that was
 * translated in part come without a source: its cache remembers what attention needs of it. */
struct sl_source_target {
    const struct sl_view *source; /* of 0 rows if all sources are remembered; without caches */
    const struct sl_view *keys;   /* the same rows, to be remembered */
    const struct sl_view *target;
    const int32_t *source_of; /* per sequence of `target`: its source's in `keys`; -1: in its
                                 cache */
};

/* Of the tape's view, for this pass. In a dry run both have as many rows as the batch: how a real
 * one divides them is not known. */
struct sl_source_target sl_source_target_of(struct sl_tape *t);
