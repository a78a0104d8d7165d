/* linear_problem.h - a recipe and the texts to fit it to, as a problem of logistic_regression.h. */
#pragma once

#include "linear/text_features.h"

struct sl_linear_recipe {
    enum sl_linear_loss loss;
    struct sl_ngram_choice ngrams;
    float sparse_c; /* C of n-grams; 0: none */
    float dense_c;  /* C of word vectors; 0: none */
    bool ratios;    /* C of each n-gram by label: log_count_ratios.h */
};

struct sl_linear_problem {
    float *idf;
    float *factors; /* NULL: none */
    struct sl_text_values values;
    struct sl_text_matrix x;
    struct sl_logistic_problem p; /* to be fitted; its tolerance is the caller's */
};

/* The texts to fit to. */
struct sl_linear_texts {
    const struct sl_kernels *kernels;
    const struct sl_text_features *features;
    const struct sl_label_lists *labels; /* of all texts of the features */
    int classes;
    const int32_t *rows; /* which texts, and how many */
    int count;
};

/* The problem borrows the texts and what they point to. */
bool sl_linear_problem_open(struct sl_linear_problem *q, const struct sl_linear_texts *texts,
                            const struct sl_linear_recipe *recipe, struct sl_err *err)
    SL_MUST_CHECK;
void sl_linear_problem_close(struct sl_linear_problem *q); /* a zeroed one is fine */
