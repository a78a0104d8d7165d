/* linear_grid.c - the recipes that every search tries.
 *
 * In steps: n-grams alone, word vectors alone, both in several proportions, the best of these with
 * log-count ratios, and the best of all with the logistic loss. */
#include "linear/linear_trials.h"

#include <assert.h>

/* Tries recipes; *best becomes the best of them. */
static bool try_all(struct sl_linear_run *s, const struct sl_linear_recipe *recipes, int count,
                    struct sl_linear_recipe *best, struct sl_err *err)
{
    int chosen = -1;
    assert(count > 0);
    for (int i = 0; i < count; i++) {
        int trial = sl_linear_try(s, recipes[i], err);
        if (trial < 0)
            return false;
        if (chosen < 0 || s->out->trials[trial].merit > s->out->trials[chosen].merit)
            chosen = trial;
    }
    *best = s->out->trials[chosen].recipe;
    return true;
}

enum { GRID_MAX = 16 };

#define COUNT(list) ((int)(sizeof(list) / sizeof(list)[0]))

static bool search_ngrams(struct sl_linear_run *s, struct sl_linear_recipe *best,
                          struct sl_err *err)
{
    static const struct sl_linear_recipe grid[] = {
        {.loss = SL_LOSS_SQUARED, .ngrams = {.order = 1}, .sparse_c = 3.0f},
        {.loss = SL_LOSS_SQUARED, .ngrams = {.order = 2}, .sparse_c = 3.0f},
        {.loss = SL_LOSS_SQUARED, .ngrams = {.order = 1, .characters = true}, .sparse_c = 3.0f},
        {.loss = SL_LOSS_SQUARED, .ngrams = {.order = 2, .characters = true}, .sparse_c = 3.0f},
    };

    return try_all(s, grid, s->options->features->has_characters ? COUNT(grid) : 2, best, err);
}

/* Of a grid, the first recipes suffice for very many texts: there the others differ little. */
static int tried(const struct sl_linear_run *s, int all, int few)
{
    return s->options->features->texts > SL_LINEAR_TEXTS_VERY_MANY ? few : all;
}

static bool search_vectors(struct sl_linear_run *s, struct sl_linear_recipe *best,
                           struct sl_err *err)
{
    static const struct sl_linear_recipe grid[] = {
        {.loss = SL_LOSS_SQUARED, .ngrams = {.order = 1}, .dense_c = 1.0f},
        {.loss = SL_LOSS_SQUARED, .ngrams = {.order = 1}, .dense_c = 0.1f},
        {.loss = SL_LOSS_SQUARED, .ngrams = {.order = 1}, .dense_c = 0.3f},
        {.loss = SL_LOSS_SQUARED, .ngrams = {.order = 1}, .dense_c = 3.0f},
    };

    return try_all(s, grid, tried(s, COUNT(grid), 1), best, err);
}

/* ngrams: which n-grams; replaced by the best recipe. */
static bool search_both(struct sl_linear_run *s, struct sl_linear_recipe *ngrams,
                        struct sl_err *err)
{
    static const float scales[][2] = {{1.0f, 0.3f}, {3.0f, 1.0f}, {10.0f, 1.0f},
                                      {0.3f, 0.3f}, {0.3f, 1.0f}, {1.0f, 0.1f},
                                      {1.0f, 1.0f}, {3.0f, 0.3f}, {3.0f, 3.0f}};
    const int count = tried(s, COUNT(scales), 3);
    struct sl_linear_recipe grid[GRID_MAX];
    for (int i = 0; i < count; i++) {
        grid[i] = *ngrams;
        grid[i].sparse_c = scales[i][0];
        grid[i].dense_c = scales[i][1];
    }
    return try_all(s, grid, count, ngrams, err);
}

/* The best recipe with n-grams by their log-count ratios, which bear less regularization; of very
 * many texts then with trigrams, and with characters if it has none, or without them. */
static bool search_ratios(struct sl_linear_run *s, const struct sl_linear_recipe *ngrams,
                          struct sl_err *err)
{
    static const float scales[] = {3.0f, 1.0f, 0.3f};
    const int order = sl_linear_order(s->options->features->texts);
    struct sl_linear_recipe grid[GRID_MAX], best = *ngrams;
    for (int i = 0; i < COUNT(scales); i++) {
        grid[i] = *ngrams;
        grid[i].ratios = true;
        grid[i].sparse_c *= scales[i];
    }
    if (!try_all(s, grid, COUNT(scales), &best, err))
        return false;
    if (order == 2)
        return true;
    grid[0] = grid[1] = best;
    grid[0].ngrams.order = order;
    grid[1].ngrams.characters = !best.ngrams.characters;
    return try_all(s, grid, s->options->features->has_characters ? 2 : 1, &best, err);
}

/* The best recipe with the logistic loss (of each label, if a text may have several), which wants
 * less regularization: its logits are not near 1 but grow. */
static bool search_logistic(struct sl_linear_run *s, struct sl_err *err)
{
    static const float scales[] = {10.0f, 3.0f, 30.0f};
    const int count = tried(s, COUNT(scales), 1);
    struct sl_linear_recipe grid[GRID_MAX], best = s->out->trials[s->out->best].recipe;
    for (int i = 0; i < count; i++) {
        grid[i] = best;
        grid[i].loss = s->options->set->multi_label ? SL_LOSS_BINARY : SL_LOSS_LOGISTIC;
        grid[i].sparse_c *= scales[i];
        grid[i].dense_c *= scales[i];
    }
    return try_all(s, grid, count, &best, err);
}

bool sl_linear_grid(struct sl_linear_run *s, struct sl_err *err)
{
    struct sl_linear_recipe ngrams, vectors;
    if (!search_ngrams(s, &ngrams, err))
        return false;
    if (s->options->features->dense_cols > 0 &&
        (!search_vectors(s, &vectors, err) || !search_both(s, &ngrams, err)))
        return false;
    return search_ratios(s, &ngrams, err) && search_logistic(s, err);
}
