/* linear_model.h - the classifier: the best recipe of a search, fitted to all texts. */
#pragma once

#include "linear/linear_search.h"
#include "model/model.h"

struct sl_linear_fit {
    struct sl_engine *engine;
    const struct sl_model *base;          /* its parts are copied */
    const struct sl_parameter *spellings; /* of the tokens; NULL: none */
    const struct sl_text_features *features;
    const struct sl_dataset *set; /* the same texts */
    const struct sl_linear_search *search;
};

/* Copies the names to a model of as many classes. */
bool sl_linear_model_set_labels(struct sl_model *model, const struct sl_labels *labels,
                                struct sl_err *err) SL_MUST_CHECK;

/* Rows of a table for n-grams with these idf: a third of it stays empty, so that an n-gram finds a
 * row near its own. */
int sl_linear_ngram_rows(const struct sl_text_features *f, const float *idf);
/* Gives the n-grams their rows, idf and weights, ngrams x classes, times scale; one for which there
 * is no row is left out. */
void sl_linear_ngrams_set(struct sl_bag_of_words *m, const struct sl_text_features *f,
                          const float *idf, const float *weights, float scale);

/* NULL on failure; sl_model_close frees it. */
struct sl_model *sl_linear_model_fit(const struct sl_linear_fit *fit, struct sl_err *err)
    SL_MUST_CHECK;
