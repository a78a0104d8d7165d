/* explain_text.h - the words of a text that moved its label's score, for `sluice classify`. */
#pragma once

#include "base/explained_words.h"
#include "sluice/explanation.h"

struct explainer {
    const struct sl_model *model;
    struct sl_classifier *classifier;
    int words_max; /* to keep; at most SL_OCCLUSIONS_MAX */
    /* Of the last text, those with the largest contributions first: */
    struct sl_explained_word words[SL_OCCLUSIONS_MAX];
    int word_count;
};

/* Explains the label of a text. `item` has its tokens and logits. Runs the classifier again, so
 * results of the run before must have been copied. */
bool explain_text(struct explainer *e, const struct sl_tokenized_text *text,
                  const struct sl_classifier_item *item, int label, struct sl_err *err)
    SL_MUST_CHECK;
