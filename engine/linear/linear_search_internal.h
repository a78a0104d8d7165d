/* linear_search_internal.h - what the files of a search share: linear_search.c fits a recipe and
 * measures it, linear_grid.c and linear_refine.c choose which. */
#pragma once

#include "linear/linear_search.h"

enum { SL_LINEAR_FOLDS_MAX = 10, SL_LINEAR_TEXTS_VERY_MANY = 8000 };

struct sl_linear_run {
    const struct sl_linear_search_options *options;
    struct sl_linear_search *out;
    struct sl_linear_recipe recipe; /* under trial */
    int classes;
    int32_t *predicted; /* texts of the folds that are predicted */
    int predicted_count;
    float *logits;      /* texts x classes, out of fold */
    float *best_logits; /* of the best recipe so far */
    int8_t *part;       /* of each text, for the learning curve, */
    int parts;          /* and how many of them are fitted to */
    bool plans;         /* only counts the trials */
    int first;          /* trial that competes with the later ones to be the best */
    double begun;       /* when the search was */
    struct sl_err errs[SL_LINEAR_FOLDS_MAX];
    bool ok[SL_LINEAR_FOLDS_MAX];
};

/* Tries a recipe on the folds; *best of the search becomes it if it is better. Returns its number
 * among the trials, -1 on failure. */
int sl_linear_try(struct sl_linear_run *s, struct sl_linear_recipe recipe, struct sl_err *err);
/* Divides the texts anew. The trials that follow compete among themselves only. predicted: how many
 * of the folds are predicted. */
bool sl_linear_divide(struct sl_linear_run *s, int folds, int predicted, struct sl_err *err)
    SL_MUST_CHECK;

/* Tries the usual recipes. */
bool sl_linear_grid(struct sl_linear_run *s, struct sl_err *err) SL_MUST_CHECK;
/* Uses the rest of the time that the search was given. */
bool sl_linear_refine(struct sl_linear_run *s, struct sl_err *err) SL_MUST_CHECK;
