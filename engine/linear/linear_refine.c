/* linear_refine.c - what a search does with more time than the grid takes.
 *
 * First it tries neighbours of the best recipe, ever nearer ones. Then it repeats the best recipes
 * with more folds: models are then fitted to more of the texts, as the final one is, and with very
 * many texts all are predicted. Nothing is repeated where other models follow, each fold of which
 * takes far longer. Which recipes are tried depends on the time; what follows from it does not. */
#include "linear/linear_trials.h"

#include "base/clock.h"

#include <math.h>

enum { REPEATED = 3, NEIGHBOURS = 10 };

/* Of the time that is given, neighbours get at most this part; where other models follow, which are
 * slower and usually better, this one. */
static const double fraction_of_neighbours = 0.6, fraction_before_others = 0.1;

static double elapsed(const struct sl_linear_run *s)
{
    return sl_now_seconds() - s->begun;
}

/* ---- neighbours ------------------------------------------------------------------------------ */

static bool is_same(const struct sl_linear_recipe *a, const struct sl_linear_recipe *b)
{
    return a->loss == b->loss && a->ngrams.order == b->ngrams.order &&
           a->ngrams.characters == b->ngrams.characters && a->ratios == b->ratios &&
           fabsf(a->sparse_c - b->sparse_c) <= 1e-3f * a->sparse_c &&
           fabsf(a->dense_c - b->dense_c) <= 1e-3f * a->dense_c;
}

static bool was_tried(const struct sl_linear_run *s, const struct sl_linear_recipe *recipe)
{
    for (int i = 0; i < s->out->count; i++)
        if (is_same(&s->out->trials[i].recipe, recipe))
            return true;
    return false;
}

/* Room for trials is kept for the repeated ones, and for those of other models. */
static bool has_time(const struct sl_linear_run *s)
{
    const struct sl_linear_search *out = s->out;
    const int others = s->options->others ? s->options->others->count : 0;
    const double part = others ? fraction_before_others : fraction_of_neighbours;
    double longest = 0.0;
    for (int i = 0; i < out->count; i++)
        longest = fmax(longest, out->trials[i].seconds);
    return out->count < SL_LINEAR_TRIALS_MAX - REPEATED - others &&
           elapsed(s) + longest < part * s->options->seconds;
}

static bool try_new(struct sl_linear_run *s, struct sl_linear_recipe recipe, struct sl_err *err)
{
    return was_tried(s, &recipe) || !has_time(s) || sl_linear_try(s, recipe, err) >= 0;
}

/* One number or choice of a recipe at a time. What cannot change stays the best, which is known. */
static bool try_neighbours(struct sl_linear_run *s, float factor, struct sl_err *err)
{
    const struct sl_linear_recipe best = s->out->trials[s->out->best].recipe;
    const float factors[] = {factor, 1.0f / factor};
    const int longest = sl_linear_order(s->options->features->texts), order = best.ngrams.order;
    struct sl_linear_recipe near[NEIGHBOURS];
    for (int i = 0; i < NEIGHBOURS; i++)
        near[i] = best;
    for (size_t i = 0; i < 2; i++) {
        near[3 * i].sparse_c *= factors[i];
        near[3 * i + 1].dense_c *= factors[i];
        near[3 * i + 2].dense_c *= factors[i];
        near[3 * i + 2].sparse_c *= factors[i];
    }
    near[6].ratios = !best.ratios;
    near[7].ngrams.order = order > 1 ? order - 1 : order;
    near[8].ngrams.order = order < longest ? order + 1 : order;
    if (s->options->features->has_characters)
        near[9].ngrams.characters = !best.ngrams.characters;
    for (int i = 0; i < (best.sparse_c > 0.0f ? NEIGHBOURS : 6); i++)
        if (!try_new(s, near[i], err))
            return false;
    return true;
}

/* ---- more folds ------------------------------------------------------------------------------ */

/* The best trials so far, at most `most`; returns how many. */
static int find_best(const struct sl_linear_search *out, struct sl_linear_trial *best, int most)
{
    int count = 0;
    for (int i = 0; i < out->count; i++) {
        int at = count < most ? count++ : most;
        while (at > 0 && out->trials[i].merit > best[at - 1].merit) {
            if (at < most)
                best[at] = best[at - 1];
            at--;
        }
        if (at < most)
            best[at] = out->trials[i];
    }
    return count;
}

/* Of the folds that are more than now, as many as there is time for; 0: none. */
static int choose_folds(const struct sl_linear_run *s, const struct sl_linear_trial *best,
                        int count)
{
    static const int choices[] = {SL_LINEAR_FOLDS_MAX, 5};
    const double around = 1.5; /* larger fits, and the learning curve */
    double seconds = 0.0;
    for (int i = 0; i < count; i++)
        seconds += best[i].seconds / s->out->folds_predicted;
    for (int i = 0; i < 2; i++)
        if (choices[i] > s->out->folds_predicted &&
            elapsed(s) + around * seconds * choices[i] < s->options->seconds)
            return choices[i];
    return 0;
}

static bool repeat(struct sl_linear_run *s, struct sl_err *err)
{
    struct sl_linear_trial best[REPEATED] = {0};
    int count = find_best(s->out, best, REPEATED), folds = choose_folds(s, best, count);
    if (folds == 0) {
        count = 1;
        folds = choose_folds(s, best, count);
    }
    if (folds == 0)
        return true;
    if (!sl_linear_divide(s, folds, folds, err))
        return false;
    for (int i = 0; i < count; i++)
        if (sl_linear_try(s, best[i].recipe, err) < 0)
            return false;
    s->out->repeated = count;
    return true;
}

bool sl_linear_refine(struct sl_linear_run *s, struct sl_err *err)
{
    const float nearest = 1.2f;
    float factor = 2.0f;
    if (!(s->options->seconds > 0.0))
        return true;
    while (factor > nearest && has_time(s)) {
        int best = s->out->best;
        if (!try_neighbours(s, factor, err))
            return false;
        if (s->out->best == best)
            factor = sqrtf(factor);
    }
    return s->options->others || repeat(s, err);
}
