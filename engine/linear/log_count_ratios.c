/* log_count_ratios.c - factors of the regularization of n-grams, by label. */
#include "linear/log_count_ratios.h"

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

/* Replaces the counts; those of n-grams that no text has are 0 and stay so. */
static void set_ratios(const struct sl_logistic_problem *p, const struct counts *n)
{
    for (int f = 0; f < p->x->sparse_cols; f++) {
        float *of_ngram = n->by_label + (size_t)f * (size_t)p->classes;
        for (int c = 0; n->all[f] > 0 && c < p->classes; c++) {
            const double label = n->of_label[c], others = n->of_all - label + 2.0 * n->ngrams;
            const double has = 1.0 + (double)of_ngram[c];
            const double lacks = 1.0 + n->all[f] - (double)of_ngram[c];
            of_ngram[c] = (float)fabs(log(has / label) - log(lacks / others));
        }
    }
}

/* What to multiply the factors by, so that they leave the sum of the kernel's diagonal, over texts
 * and labels, as it is without them. */
static float scale_of(const struct sl_logistic_problem *p, const float *factors)
{
    const struct sl_text_matrix *x = p->x;
    double without = 0.0, with = 0.0;
    for (int r = 0; r < p->count; r++)
        for (int64_t i = x->first[p->rows[r]]; i < x->first[p->rows[r] + 1]; i++) {
            const float *factor = factors + (size_t)x->index[i] * (size_t)p->classes;
            const float square = x->value[i] * x->value[i];
            float of_labels = 0.0f;
            for (int c = 0; c < p->classes; c++)
                of_labels += factor[c];
            without += (double)(square * (float)p->classes);
            with += (double)(square * of_labels);
        }
    return with > 0.0 ? (float)(without / with) : 0.0f;
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
        const float by = scale_of(p, factors);
        for (size_t i = 0; i < size; i++)
            factors[i] *= by;
    }
    free(n.all);
    free(n.of_label);
    return ok;
}
