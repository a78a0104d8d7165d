/* sparse_columns.h - the sparse features of the texts of a problem, by feature: what a product by
 * their kernel reads.
 *
 * With the sparse features s of the texts as the rows of S, and a diagonal matrix D_c of factors of
 * the features for class c, the product by C_s S D_c S^T takes column c of coefficients to logits.
 * By feature it reads the features once, in order, and otherwise only coefficients and logits,
 * which fit into a cache. A feature that one text alone has changes only the diagonal of the
 * product, and is not listed. */
#pragma once

#include "linear/logistic_problem.h"

struct sl_sparse_columns {
    int features;     /* that at least two texts have */
    int32_t *feature; /* of each: its column in the matrix */
    int64_t *first;   /* of each: where its entries are; features + 1 */
    int32_t *row;     /* of each entry: the place of its text in the problem's rows */
    float *value;
    float *alone; /* count x classes: the diagonal from features that no other text has */
    float *sum;   /* scratch: classes */
};

bool sl_sparse_columns_open(struct sl_sparse_columns *s, const struct sl_logistic_problem *p,
                            struct sl_err *err) SL_MUST_CHECK;
void sl_sparse_columns_close(struct sl_sparse_columns *s); /* a zeroed one is fine */

/* z = the product of coefficients; both are count x classes. */
void sl_sparse_columns_multiply(struct sl_sparse_columns *s, const struct sl_logistic_problem *p,
                                const float *a, float *z);
