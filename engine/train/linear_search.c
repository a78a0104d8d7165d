/* linear_search.c - fits every recipe on the folds, and chooses one.
 *
 * The grid is searched in steps: n-grams alone, word vectors alone, both in several proportions,
 * and the best of these with the logistic loss. */
#include "train/linear_search.h"

#include "base/clock.h"
#include "base/random.h"
#include "infer/logits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FOLDS = 5, FOLDS_MANY = 3, TEXTS_MANY = 3000, TEXTS_VERY_MANY = 8000 };

static const double tolerance = 1e-4;

struct search {
    const struct sl_linear_search_options *options;
    struct sl_linear_search *out;
    struct sl_linear_recipe recipe; /* under trial */
    int classes;
    int32_t *labels;
    int32_t *predicted; /* texts of the folds that are predicted */
    int predicted_count;
    float *logits;      /* texts x classes, out of fold */
    float *best_logits; /* of the best recipe so far */
    struct sl_err errs[FOLDS];
    bool ok[FOLDS];
};

/* ---- folds ----------------------------------------------------------------------------------- */

/* A text's place: texts are sorted by label, then equal ones together. */
struct place {
    int32_t label, text;
    uint64_t hash;
};

static uint64_t hash_text(const struct sl_dataset *set, int text)
{
    int count;
    const int32_t *ids = sl_dataset_ids(set, text, &count);
    uint64_t hash = sl_random_key(0, "folds");
    for (int i = 0; i < count; i++)
        hash = sl_random_bits(hash, (uint64_t)ids[i]);
    return hash;
}

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->label != y->label)
        return x->label < y->label ? -1 : 1;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->text > y->text) - (x->text < y->text);
}

/* first[i]: the first text that equals text i and has its label. */
static void find_firsts(const struct sl_dataset *set, struct place *places, int32_t *first)
{
    for (int i = 0; i < set->count; i++)
        places[i] = (struct place){set->examples[i].label, i, hash_text(set, i)};
    qsort(places, (size_t)set->count, sizeof *places, compare_places);
    for (int i = 0; i < set->count; i++) {
        const struct place *p = &places[i], *before = i > 0 ? p - 1 : NULL;
        bool same = before && before->label == p->label && before->hash == p->hash;
        first[p->text] = same ? first[before->text] : p->text;
    }
}

/* Fold 0 is the last part of each label's texts, equal ones counted once. Labels with fewer texts
 * than folds take turns. */
static void cut(struct sl_linear_search *out, const struct sl_dataset *set, const int32_t *first,
                int *texts, int *before)
{
    int next = 0;
    for (int i = 0; i < set->count; i++)
        texts[set->examples[i].label] += first[i] == i;
    for (int i = 0; i < set->count; i++) {
        int label = set->examples[i].label;
        if (first[i] != i) {
            out->fold[i] = out->fold[first[i]];
            continue;
        }
        int64_t part = (int64_t)before[label]++ * out->folds / texts[label];
        if (texts[label] < out->folds)
            part = next++ % out->folds;
        out->fold[i] = (int32_t)(out->folds - 1 - part);
    }
}

static bool divide(struct sl_linear_search *out, const struct sl_dataset *set, struct sl_err *err)
{
    size_t count = (size_t)set->count, labels = (size_t)set->labels.count;
    struct place *places = malloc(count * sizeof *places);
    int32_t *first = malloc(count * sizeof *first);
    int *counts = calloc(2 * labels, sizeof *counts);
    out->fold = calloc(count, sizeof *out->fold);
    out->folds = set->count > TEXTS_MANY && set->count <= TEXTS_VERY_MANY ? FOLDS_MANY : FOLDS;
    out->folds_predicted = set->count > TEXTS_VERY_MANY ? 1 : out->folds;
    bool ok = (places && first && counts && out->fold) ||
              sl_fail(err, SL_NO_MEMORY, "no memory to divide %d texts", set->count);
    if (ok) {
        find_firsts(set, places, first);
        cut(out, set, first, counts, counts + labels);
    }
    free(places);
    free(first);
    free(counts);
    return ok;
}

bool sl_linear_search_has(const struct sl_linear_search *search, int text)
{
    return search->fold[text] < search->folds_predicted;
}

/* ---- one fold -------------------------------------------------------------------------------- */

static int rows_without(const struct sl_linear_search *out, int texts, int fold, int32_t *rows)
{
    int count = 0;
    for (int i = 0; i < texts; i++)
        if (out->fold[i] != fold)
            rows[count++] = i;
    return count;
}

static bool predict(const struct search *s, int fold, struct sl_logistic_problem *p,
                    struct sl_err *err)
{
    struct sl_logistic_weights w;
    if (!sl_logistic_weights_open(&w, p, err))
        return false;
    bool ok = sl_logistic_fit(p, &w, err);
    for (int i = 0; ok && i < s->options->features->texts; i++)
        if (s->out->fold[i] == fold)
            sl_logistic_logits(p, &w, i, s->logits + (size_t)i * (size_t)s->classes);
    sl_logistic_weights_close(&w);
    return ok;
}

static bool try_fold(const struct search *s, int fold, struct sl_err *err)
{
    const struct sl_text_features *f = s->options->features;
    float *idf = malloc(((size_t)f->ngrams + 1) * sizeof *idf);
    struct sl_text_values values = {0};
    int32_t *rows = malloc((size_t)f->texts * sizeof *rows);
    bool ok =
        (idf && rows) || sl_fail(err, SL_NO_MEMORY, "no memory for a fold of %d texts", f->texts);
    if (ok) {
        int count = rows_without(s->out, f->texts, fold, rows);
        sl_text_features_idf(f, rows, count, s->recipe.ngrams, idf);
        ok = sl_text_values_open(&values, f, idf, err);
        struct sl_text_matrix x = sl_text_features_matrix(f, &values);
        struct sl_logistic_problem p = {.kernels = s->options->engine->kernels,
                                        .x = &x,
                                        .labels = s->labels,
                                        .rows = rows,
                                        .count = count,
                                        .classes = s->classes,
                                        .loss = s->recipe.loss,
                                        .sparse_c = s->recipe.sparse_c,
                                        .dense_c = s->recipe.dense_c,
                                        .tolerance = tolerance};
        ok = ok && predict(s, fold, &p, err);
    }
    free(idf);
    sl_text_values_close(&values);
    free(rows);
    return ok;
}

static void try_folds(void *ctx, int first, int last, int worker)
{
    struct search *s = ctx;
    (void)worker;
    for (int fold = first; fold < last; fold++)
        s->ok[fold] = try_fold(s, fold, &s->errs[fold]);
}

/* ---- measuring ------------------------------------------------------------------------------- */

static struct sl_predictions predictions_of(const struct search *s, const float *logits)
{
    return (struct sl_predictions){.logits = logits,
                                   .labels = s->labels,
                                   .rows = s->predicted,
                                   .count = s->predicted_count,
                                   .classes = s->classes};
}

static double accuracy_of(const struct search *s)
{
    int right = 0;
    for (int i = 0; i < s->predicted_count; i++) {
        int text = s->predicted[i];
        right +=
            sl_argmax(s->logits + (size_t)text * (size_t)s->classes, s->classes) == s->labels[text];
    }
    return (double)right / s->predicted_count;
}

/* The loss counts, too: it is less noisy than the accuracy where texts are few. */
static double merit(const struct sl_linear_trial *trial)
{
    return trial->accuracy - 0.3 * trial->loss;
}

static void keep(struct search *s, const struct sl_linear_trial *trial)
{
    struct sl_linear_search *out = s->out;
    out->trials[out->count] = *trial;
    if (out->count == 0 || merit(trial) > merit(&out->trials[out->best])) {
        out->best = out->count;
        memcpy(s->best_logits, s->logits,
               (size_t)s->options->features->texts * (size_t)s->classes * sizeof *s->logits);
    }
    out->count++;
}

/* Returns its number among the trials, -1 on failure. */
static int try_recipe(struct search *s, struct sl_linear_recipe recipe, struct sl_err *err)
{
    double begun = sl_now_seconds();
    s->recipe = recipe;
    sl_parallel_for(s->options->engine->pool, s->out->folds_predicted, 1, try_folds, s);
    for (int fold = 0; fold < s->out->folds_predicted; fold++)
        if (!s->ok[fold]) {
            *err = s->errs[fold];
            return -1;
        }
    struct sl_linear_trial trial = {.recipe = recipe, .accuracy = accuracy_of(s)};
    const struct sl_predictions predictions = predictions_of(s, s->logits);
    const struct sl_calibration calibration = sl_calibration_fit_temperature(&predictions);
    trial.loss = sl_calibration_loss(&calibration, &predictions);
    trial.seconds = sl_now_seconds() - begun;
    keep(s, &trial);
    if (s->options->report)
        s->options->report(s->options->context, s->out);
    return s->out->count - 1;
}

/* ---- the grid -------------------------------------------------------------------------------- */

/* Tries recipes; *best becomes the best of them. */
static bool try_all(struct search *s, const struct sl_linear_recipe *recipes, int count,
                    struct sl_linear_recipe *best, struct sl_err *err)
{
    int chosen = -1;
    for (int i = 0; i < count; i++) {
        int trial = try_recipe(s, recipes[i], err);
        if (trial < 0)
            return false;
        if (chosen < 0 || merit(&s->out->trials[trial]) > merit(&s->out->trials[chosen]))
            chosen = trial;
    }
    *best = s->out->trials[chosen].recipe;
    return true;
}

enum { GRID_MAX = 16 };

#define COUNT(list) ((int)(sizeof(list) / sizeof(list)[0]))

static bool search_ngrams(struct search *s, struct sl_linear_recipe *best, struct sl_err *err)
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
static int tried(const struct search *s, int all, int few)
{
    return s->options->features->texts > TEXTS_VERY_MANY ? few : all;
}

static bool search_vectors(struct search *s, struct sl_linear_recipe *best, struct sl_err *err)
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
static bool search_both(struct search *s, struct sl_linear_recipe *ngrams, struct sl_err *err)
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

/* The best recipe with the logistic loss, which wants less regularization: its logits are not near
 * 1 but grow. */
static bool search_logistic(struct search *s, struct sl_err *err)
{
    static const float scales[] = {10.0f, 3.0f, 30.0f};
    const int count = tried(s, COUNT(scales), 1);
    struct sl_linear_recipe grid[GRID_MAX], best = s->out->trials[s->out->best].recipe;
    for (int i = 0; i < count; i++) {
        grid[i] = best;
        grid[i].loss = SL_LOSS_LOGISTIC;
        grid[i].sparse_c *= scales[i];
        grid[i].dense_c *= scales[i];
    }
    return try_all(s, grid, count, &best, err);
}

static bool search_grid(struct search *s, struct sl_err *err)
{
    struct sl_linear_recipe ngrams, vectors;
    if (!search_ngrams(s, &ngrams, err))
        return false;
    if (s->options->features->dense_cols > 0 &&
        (!search_vectors(s, &vectors, err) || !search_both(s, &ngrams, err)))
        return false;
    return search_logistic(s, err);
}

/* The best recipe's probabilities replace its logits. */
static void calibrate(struct search *s)
{
    struct sl_linear_search *out = s->out;
    const struct sl_predictions predictions = predictions_of(s, s->best_logits);
    out->calibration = sl_calibration_fit(&predictions);
    out->loss = sl_calibration_loss(&out->calibration, &predictions);
    for (int i = 0; i < s->predicted_count; i++) {
        int text = s->predicted[i];
        float *p = s->best_logits + (size_t)text * (size_t)s->classes;
        (void)sl_calibrate(&out->calibration, p, s->classes, s->labels[text], p);
    }
}

/* There may be none: of very many texts, if each label has fewer different ones than folds. */
static bool list_predicted(struct search *s, struct sl_err *err)
{
    for (int i = 0; i < s->options->set->count; i++)
        if (sl_linear_search_has(s->out, i))
            s->predicted[s->predicted_count++] = i;
    return s->predicted_count > 0 ||
           sl_fail(err, SL_BAD_INPUT, "there are too few different texts to hold some out");
}

bool sl_linear_search_run(struct sl_linear_search *search,
                          const struct sl_linear_search_options *options, struct sl_err *err)
{
    const struct sl_dataset *set = options->set;
    size_t texts = (size_t)set->count, classes = (size_t)set->labels.count;
    struct search s = {.options = options, .out = search, .classes = set->labels.count};
    *search = (struct sl_linear_search){0};
    s.labels = calloc(texts, sizeof *s.labels);
    s.predicted = calloc(texts, sizeof *s.predicted);
    s.logits = calloc(texts * classes, sizeof *s.logits);
    s.best_logits = search->probabilities = calloc(texts * classes, sizeof *s.best_logits);
    bool ok = (s.labels && s.predicted && s.logits && s.best_logits) ||
              sl_fail(err, SL_NO_MEMORY, "no memory for predictions of %zu texts", texts);
    for (size_t i = 0; ok && i < texts; i++)
        s.labels[i] = set->examples[i].label;
    ok = ok && divide(search, set, err);
    ok = ok && list_predicted(&s, err) && search_grid(&s, err);
    if (ok)
        calibrate(&s);
    free(s.labels);
    free(s.predicted);
    free(s.logits);
    if (!ok)
        sl_linear_search_close(search);
    return ok;
}

void sl_linear_search_close(struct sl_linear_search *search)
{
    free(search->fold);
    free(search->probabilities);
    *search = (struct sl_linear_search){0};
}
