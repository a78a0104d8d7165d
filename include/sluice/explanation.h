/* explanation.h - which words of a text moved the score of a label.
 *
 * The score is the margin: the label's logit less the mean of the other labels' logits. With two
 * labels that is the logarithm of the odds. Where a text may have several labels, it is the label's
 * logit alone, the logarithm of its odds. A word's contribution is what it adds to the margin:
 *
 *   - exactly, where the model is a sum over its words (sl_model_info.explains): then the
 *     contributions sum to the margin less that of a text without words;
 *   - else by occlusion: the margin of the text less that of the text without the word. */
#pragma once

#include "sluice/classifier.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Texts are read without one word after another, so a text has at most so many "words" for
 * occlusion: of a longer one, several words in a row count as one. */
enum { SL_OCCLUSIONS_MAX = 64 };

struct sl_text_word {
    size_t start, stop; /* bytes of the text */
    float contribution;
};

struct sl_tokenized_text {
    const char *text;
    size_t bytes;
    const struct sl_token_offset *offsets; /* of its tokens */
    int count;
};

/* Splits a text into at most `max` words, and says for each of its tokens which of them it is part
 * of; -1: none, such as a special token. Words without a token are left out. words: room for as
 * many as there are tokens. Returns how many there are. */
SL_PUBLIC int sl_text_words(const struct sl_tokenized_text *text, int max,
                            struct sl_text_word *words, int *word_of);
/* The tokens of a text without a word. Returns how many there are. */
SL_PUBLIC int sl_tokens_without(const int32_t *tokens, const int *word_of, int count, int word,
                                int32_t *out);
/* Orders the words by the size of their contributions, the largest first. */
SL_PUBLIC void sl_text_words_rank(struct sl_text_word *words, int count);

SL_PUBLIC double sl_margin(const struct sl_model *model, const float *logits, int label);

/* What each token adds to the margin of the label; `item` as after a run, its logits included. For
 * models that explain exactly. out: item->count floats. Any thread. */
SL_PUBLIC bool sl_classifier_explain(const struct sl_classifier *classifier,
                                     const struct sl_classifier_item *item, int label, float *out,
                                     struct sl_err *err) SL_MUST_CHECK;

#ifdef __cplusplus
}
#endif
