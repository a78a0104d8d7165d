/* logistic_problem.h - texts as rows of features, and what to fit to them: see
 * logistic_regression.h. */
#pragma once

#include "data/label_lists.h"
#include "kernels/kernels.h"
#include "sluice/err.h"

/* Features of `texts` texts. Text i has the sparse features first[i] .. first[i + 1] - 1. */
struct sl_text_matrix {
    int texts;
    const int64_t *first;
    const int32_t *index; /* of each sparse feature, below sparse_cols */
    const float *value;
    const float *dense; /* texts x dense_cols */
    int sparse_cols, dense_cols;
};

/* With few texts of many labels the squared loss is often more accurate. */
enum sl_linear_loss {
    SL_LOSS_LOGISTIC, /* of texts that have one label each */
    SL_LOSS_SQUARED,
    SL_LOSS_BINARY
};

struct sl_logistic_problem {
    const struct sl_kernels *kernels;
    const struct sl_text_matrix *x;
    const struct sl_label_lists *labels; /* of all texts of x */
    const int32_t *rows;                 /* the texts to fit: which, and how many */
    int count, classes;
    enum sl_linear_loss loss;
    float sparse_c, dense_c; /* C: larger means less regularization; 0: these features are unused */
    const float *sparse_factors; /* of C_s, sparse_cols x classes; NULL: all 1 */
    double tolerance; /* stop when three iterations improve the objective by less, relatively */
};
