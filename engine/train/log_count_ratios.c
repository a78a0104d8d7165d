/* log_count_ratios.c - factors of the regularization of n-grams, by label. */
#include "train/log_count_ratios.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of texts with each n-gram. */
struct counts {
    float *by_label;  /* sparse_cols x classes */
    int32_t *all;     /* sparse_cols */
    double *of_label; /* classes: the sum of n_fc + 1 over the n-grams that occur */
    double of_all;    /* the sum of all */
    int ngrams;       /* that occur */
};

static void count_texts(const struct sl_logistic_problem *p, const struct counts *n)
{
    const struct sl_text_matrix *x = p->x;
    for (int r = 0; r < p->count; r++) {
        const struct sl_label_list labels = sl_label_list(p->labels, p->rows[r]);
        for (int64_t i = x->first[p->rows[r]]; i < x->first[p->rows[r] + 1]; i++) {
            float *of_ngram = n->by_label + (size_t)x->index[i] * (size_t)p->classes;
            for (int k = 0; k < labels.count; k++)
                of_ngram[labels.ids[k]] += 1.0f;
            n->all[x->index[i]]++;
        }
    }
}

static void sum_up(const struct sl_logistic_problem *p, struct counts *n)
{
    for (int f = 0; f < p->x->sparse_cols; f++) {
        n->ngrams += n->all[f] > 0;
        n->of_all += n->all[f];
        for (int c = 0; n->all[f] > 0 && c < p->classes; c++)
            n->of_label[c] += 1.0 + (double)n->by_label[(size_t)f * (size_t)p->classes + (size_t)c];
    }
}

/* Replaces the counts. */
static void set_ratios(const struct sl_logistic_problem *p, const struct counts *n)
{
    for (int c = 0; c < p->classes; c++) {
        const double label = n->of_label[c], others = n->of_all - label + 2.0 * n->ngrams;
        for (int f = 0; f < p->x->sparse_cols; f++) {
            float *at = &n->by_label[(size_t)f * (size_t)p->classes + (size_t)c];
            double has = 1.0 + (double)*at, lacks = 1.0 + n->all[f] - (double)*at;
            *at = n->all[f] > 0 ? (float)fabs(log(has / label) - log(lacks / others)) : 0.0f;
        }
    }
}

/* Of the kernel's diagonal, summed over texts and labels: without factors, and with these. */
static double diagonal(const struct sl_logistic_problem *p, const float *factors)
{
    const struct sl_text_matrix *x = p->x;
    double sum = 0.0;
    for (int r = 0; r < p->count; r++)
        for (int64_t i = x->first[p->rows[r]]; i < x->first[p->rows[r] + 1]; i++) {
            const float *factor =
                factors ? factors + (size_t)x->index[i] * (size_t)p->classes : NULL;
            float of_labels = factor ? 0.0f : (float)p->classes;
            for (int c = 0; factor && c < p->classes; c++)
                of_labels += factor[c];
            sum += (double)(x->value[i] * x->value[i] * of_labels);
        }
    return sum;
}

bool sl_log_count_ratios(const struct sl_logistic_problem *p, float *factors, struct sl_err *err)
{
    const size_t cols = (size_t)p->x->sparse_cols, size = cols * (size_t)p->classes;
    struct counts n = {.by_label = factors,
                       .all = calloc(cols + 1, sizeof *n.all),
                       .of_label = calloc((size_t)p->classes, sizeof *n.of_label)};
    bool ok =
        (n.all && n.of_label) || sl_fail(err, SL_NO_MEMORY, "no memory to count %zu n-grams", cols);
    if (ok) {
        memset(factors, 0, size * sizeof *factors);
        count_texts(p, &n);
        sum_up(p, &n);
        set_ratios(p, &n);
        const double now = diagonal(p, factors);
        const float by = now > 0.0 ? (float)(diagonal(p, NULL) / now) : 0.0f;
        for (size_t i = 0; i < size; i++)
            factors[i] *= by;
    }
    free(n.all);
    free(n.of_label);
    return ok;
}
