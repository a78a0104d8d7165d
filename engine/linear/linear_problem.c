/* linear_problem.c - what a recipe makes of texts. */
#include "linear/linear_problem.h"

#include "linear/log_count_ratios.h"

#include <stdlib.h>

static bool open_factors(struct sl_linear_problem *q, struct sl_err *err)
{
    size_t size = (size_t)q->x.sparse_cols * (size_t)q->p.classes;
    q->factors = malloc((size + 1) * sizeof *q->factors);
    q->p.sparse_factors = q->factors;
    return q->factors ? sl_log_count_ratios(&q->p, q->factors, err)
                      : sl_fail(err, SL_NO_MEMORY, "no memory for the ratios of %d n-grams",
                                q->x.sparse_cols);
}

bool sl_linear_problem_open(struct sl_linear_problem *q, const struct sl_linear_texts *t,
                            const struct sl_linear_recipe *recipe, struct sl_err *err)
{
    const struct sl_text_features *f = t->features;
    *q = (struct sl_linear_problem){.idf = malloc(((size_t)f->ngrams + 1) * sizeof *q->idf)};
    if (!q->idf)
        return sl_fail(err, SL_NO_MEMORY, "no memory to weigh %d n-grams", f->ngrams);
    sl_text_features_idf(f, t->rows, t->count, recipe->ngrams, q->idf);
    bool ok = sl_text_values_open(&q->values, f, q->idf, err);
    if (ok) {
        q->x = sl_text_features_matrix(f, &q->values);
        q->p = (struct sl_logistic_problem){.kernels = t->kernels,
                                            .x = &q->x,
                                            .labels = t->labels,
                                            .rows = t->rows,
                                            .count = t->count,
                                            .classes = t->classes,
                                            .loss = recipe->loss,
                                            .sparse_c = recipe->sparse_c,
                                            .dense_c = recipe->dense_c};
        ok = !(recipe->ratios && recipe->sparse_c > 0.0f) || open_factors(q, err);
    }
    if (!ok)
        sl_linear_problem_close(q);
    return ok;
}

void sl_linear_problem_close(struct sl_linear_problem *q)
{
    free(q->idf);
    free(q->factors);
    sl_text_values_close(&q->values);
    *q = (struct sl_linear_problem){0};
}
