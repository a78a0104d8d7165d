/* logistic_regression.h - linear models with an L2 penalty: multinomial logistic regression, one
 * logistic regression for each label, and ridge regression to 1 for the text's labels and to -1 for
 * the others.
 *
 * A text has sparse features s (n-grams) and dense ones d (pooled vectors). With weights U, W, b:
 *     z_i = U s_i + W d_i + b
 *     loss = sum over the texts of -log softmax(z_i)_label         logistic
 *     loss = sum over the texts of |z_i - (1 or -1)|^2 / 2         squared
 *     loss = sum over texts and labels of log(1 + exp(-z or z))    binary: labels are independent
 *     minimize loss + |U|^2 / (2 C_s) + |W|^2 / (2 C_d) + |b|^2 / (2 max(C_s, C_d))
 * C_s may be multiplied by a factor of its own for each weight of U.
 *
 * By L-BFGS (Nocedal 1980) on coefficients of the texts: the optimum is U = C_s sum_i a_i s_i^T,
 * and so on (the representer theorem), so vectors of the solver have texts x classes numbers, not
 * features x classes. One thread, sums in a fixed order: the same bits everywhere for the same
 * kernels. */
#pragma once

#include "linear/logistic_problem.h"

/* U^T, W and b: sparse_cols x classes, classes x dense_cols, classes. */
struct sl_logistic_weights {
    float *sparse, *dense, *bias;
};

/* Allocates and frees weights for a problem. */
bool sl_logistic_weights_open(struct sl_logistic_weights *w, const struct sl_logistic_problem *p,
                              struct sl_err *err) SL_MUST_CHECK;
void sl_logistic_weights_close(struct sl_logistic_weights *w); /* a zeroed one is fine */

bool sl_logistic_fit(const struct sl_logistic_problem *p, struct sl_logistic_weights *w,
                     struct sl_err *err) SL_MUST_CHECK;

/* The logits of a text of x. */
void sl_logistic_logits(const struct sl_logistic_problem *p, const struct sl_logistic_weights *w,
                        int text, float *logits);
