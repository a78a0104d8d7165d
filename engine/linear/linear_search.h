/* linear_search.h - which features and how much regularization: cross-validation over recipes.
 *
 * Texts are divided into folds, each label's evenly and equal texts together. A fold is a part of
 * the file: neighbours often belong together, as one thread or one day do, and would make other
 * folds too easy to predict. A recipe is fitted on all folds but one and predicts that one, in
 * turn. So every text has a prediction by a model that has not seen it: accuracy and calibration
 * come from these predictions. With many texts only one fold is predicted, the last of the file. */
#pragma once

#include "linear/linear_results.h"

bool sl_linear_search_run(struct sl_linear_search *search,
                          const struct sl_linear_search_options *options, struct sl_err *err)
    SL_MUST_CHECK;
void sl_linear_search_close(struct sl_linear_search *search); /* a zeroed one is fine */
