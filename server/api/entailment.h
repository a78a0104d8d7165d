/* entailment.h - scores of labels from the logits of hypotheses about them. */
#pragma once

#include "api/classification.h"

/* Scores of the hypotheses about one text, `count` texts of the request from `first` on: of all
 * against each other, summing to 1; or of each, also of a single one, against its contradiction. */
void sv_entailment_scores(const struct sv_classification *c, int first, int count, bool multi_label,
                          float *scores);
