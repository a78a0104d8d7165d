/* linear_trials.h - a search while it runs: fits a recipe on the folds and measures it. Which, is
 * chosen by linear_grid.c and linear_refine.c. */
#pragma once

#include "linear/linear_results.h"

enum { SL_LINEAR_FOLDS_MAX = 10 };

struct sl_linear_run {
    const struct sl_linear_search_options *options;
    struct sl_linear_search *out;
    struct sl_linear_recipe recipe; /* under trial */
    int classes;
    int32_t *predicted; /* texts of the folds that are predicted */
    int predicted_count;
    float *logits; /* texts x classes, out of fold */
    /* The best recipe of each kind so far: its trial, -1: none, and logits. */
    int best[SL_RECIPE_KINDS];
    float *best_logits[SL_RECIPE_KINDS];
    int8_t *part; /* of each text, for the learning curve, */
    int parts;    /* and how many of them are fitted to */
    bool plans;   /* only counts the trials */
    double begun; /* when the search was */
    struct sl_err errs[SL_LINEAR_FOLDS_MAX];
    bool ok[SL_LINEAR_FOLDS_MAX];
};

/* Tries a recipe on the folds; *best of the search becomes it if it is better. Returns its number
 * among the trials, -1 on failure. */
int sl_linear_try(struct sl_linear_run *s, struct sl_linear_recipe recipe, struct sl_err *err);
/* Adds a trial whose predictions are in `logits`; begun: when it was. */
void sl_linear_keep(struct sl_linear_run *s, struct sl_linear_trial trial, double begun);
/* Divides the texts anew. The trials that follow compete among themselves only. predicted: how many
 * of the folds are predicted. */
bool sl_linear_divide(struct sl_linear_run *s, int folds, int predicted, struct sl_err *err)
    SL_MUST_CHECK;

/* The logits of the search's best recipe; one trial was kept. */
float *sl_linear_best_logits(const struct sl_linear_run *s);
/* Predicts the folds with the recipe under trial. */
bool sl_linear_predict_folds(struct sl_linear_run *s, struct sl_err *err) SL_MUST_CHECK;
/* How many texts are fitted to when a fold is predicted. */
int sl_linear_fitted_texts(const struct sl_linear_run *s, int fold);
/* The texts that were predicted, with these logits, texts x classes. */
struct sl_predictions sl_linear_predictions(const struct sl_linear_run *s, const float *logits);
/* Calls the search's `report`. */
void sl_linear_report(const struct sl_linear_run *s);

/* Tries the recipes that every search tries. */
bool sl_linear_grid(struct sl_linear_run *s, struct sl_err *err) SL_MUST_CHECK;
/* Uses the rest of the time that the search was given. */
bool sl_linear_refine(struct sl_linear_run *s, struct sl_err *err) SL_MUST_CHECK;

/* Sets the fold of each text, 0 to folds - 1: parts of the file, because neighbours often belong
 * together, with each label's texts divided evenly (of several labels the rarest one counts) and
 * equal texts in the same fold. Fold 0 is the end of the file. */
bool sl_linear_folds(const struct sl_dataset *set, int folds, int32_t *fold, struct sl_err *err)
    SL_MUST_CHECK;
