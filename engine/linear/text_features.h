/* text_features.h - labelled texts as the features of the linear model: n-grams with their counts,
 * and pooled word vectors. */
#pragma once

#include "data/dataset.h"
#include "layers/bag_of_words.h"
#include "linear/logistic_regression.h"
#include "model/engine.h"

struct sl_text_features {
    int texts;
    /* The n-grams that are features: all, or the most frequent ones if there are very many. */
    int ngrams;
    uint64_t *hash; /* of each */
    uint8_t *order; /* words of each; 0: it is of characters */
    bool has_characters;
    /* By text: its n-grams and how often each occurs. */
    int64_t *first; /* texts + 1 */
    int32_t *index;
    float *times;
    /* By text: its pooled vectors; dense_cols 0: none. */
    float *dense;
    int dense_cols;
};

enum { SL_NGRAMS_MAX = 300000 };

/* Which n-grams are features: the most frequent ones. */
struct sl_ngram_limits {
    int order; /* words of the longest */
    int most;  /* up to bigrams; half as many trigrams are added. With many labels fewer */
};

/* parts: the word vectors and what tokens are. */
bool sl_text_features_open(struct sl_text_features *f, const struct sl_engine *engine,
                           const struct sl_bag_of_words *parts, struct sl_ngram_limits limits,
                           const struct sl_dataset *set, struct sl_err *err) SL_MUST_CHECK;
void sl_text_features_close(struct sl_text_features *f); /* a zeroed one is fine */

/* Some of the n-grams. */
struct sl_ngram_choice {
    int order;       /* words of the longest */
    bool characters; /* those of characters, too */
};

/* idf_f = 1 + log((1 + n) / (1 + df_f)) over the texts in `rows`; 0 for n-grams that these do not
 * have, or that are not chosen. */
void sl_text_features_idf(const struct sl_text_features *f, const int32_t *rows, int count,
                          struct sl_ngram_choice choice, float *idf);

/* The values of the n-grams of all texts, as sl_add_tfidf_logits computes them, without zeros. */
struct sl_text_values {
    int64_t *first;
    int32_t *index;
    float *value;
};

bool sl_text_values_open(struct sl_text_values *v, const struct sl_text_features *f,
                         const float *idf, struct sl_err *err) SL_MUST_CHECK;
void sl_text_values_close(struct sl_text_values *v); /* a zeroed one is fine */

/* The features with these values. */
struct sl_text_matrix sl_text_features_matrix(const struct sl_text_features *f,
                                              const struct sl_text_values *values);
