/* linear_folds.h - the folds of a cross-validation: parts of the file, because neighbours often
 * belong together, with each label's texts divided evenly (of
 * several labels the rarest one counts) and equal texts in the same fold. */
#pragma once

#include "data/dataset.h"

/* Sets the fold of each text, 0 to folds - 1. Fold 0 is the end of the file. */
bool sl_linear_folds(const struct sl_dataset *set, int folds, int32_t *fold, struct sl_err *err)
    SL_MUST_CHECK;
