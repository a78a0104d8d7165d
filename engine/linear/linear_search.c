/* linear_search.c - a search from its first recipe to its learning curve. */
#include "linear/linear_search.h"

#include "base/clock.h"
#include "infer/logits.h"
#include "linear/linear_trials.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FOLDS = 5, FOLDS_MANY = 3, TEXTS_MANY = 3000, TEXTS_SLOW = 500 };

/* As many folds as take a reasonable time. */
static bool divide(struct sl_linear_run *s, struct sl_err *err)
{
    const int texts = s->options->set->count, many = s->options->others ? TEXTS_SLOW : TEXTS_MANY;
    const bool very_many = texts > (s->options->others ? TEXTS_MANY : SL_LINEAR_TEXTS_VERY_MANY);
    const int folds = texts > many && !very_many ? FOLDS_MANY : FOLDS;
    return sl_linear_divide(s, folds, very_many ? 1 : folds, err);
}

/* Goes through the grid twice, the first time to count. */
static bool search_all(struct sl_linear_run *s, struct sl_err *err)
{
    const struct sl_other_models *others = s->options->others;
    s->plans = true;
    if (!sl_linear_grid(s, err))
        return false;
    s->plans = false;
    s->out->planned += others ? others->count : 0;
    sl_linear_report(s);
    return sl_linear_grid(s, err) && sl_linear_refine(s, err) &&
           (!others || others->try_all(others->context, s, err));
}

/* The best recipe's probabilities replace its logits. */
static void calibrate(struct sl_linear_run *s)
{
    struct sl_linear_search *out = s->out;
    float *logits = sl_linear_best_logits(s);
    const struct sl_predictions predictions = sl_linear_predictions(s, logits);
    out->calibration = sl_linear_search_is_linear(out)
                           ? sl_calibration_fit(&predictions)
                           : sl_calibration_fit_temperature(&predictions);
    out->loss = sl_calibration_loss(&out->calibration, &predictions);
    for (int i = 0; i < s->predicted_count; i++) {
        int text = s->predicted[i];
        float *p = logits + (size_t)text * (size_t)s->classes;
        (void)sl_calibrate(&out->calibration, p, s->classes,
                           sl_label_list(&s->options->set->label_lists, text), p);
    }
}

/* ---- the learning curve ---------------------------------------------------------------------- */

/* The mean number of texts that the folds fit to; 0: some would have too few. */
static int texts_of_parts(const struct sl_linear_run *s)
{
    enum { LEAST = 10, LEAST_PER_LABEL = 2 };

    int64_t sum = 0;
    for (int fold = 0; fold < s->out->folds_predicted; fold++) {
        int count = sl_linear_fitted_texts(s, fold);
        if (count < LEAST || count < LEAST_PER_LABEL * s->classes)
            return 0;
        sum += count;
    }
    return (int)(sum / s->out->folds_predicted);
}

static bool is_right(const struct sl_linear_run *s, const float *logits, int text)
{
    return sl_argmax(logits + (size_t)text * (size_t)s->classes, s->classes) ==
           sl_label_only(&s->options->set->label_lists, text);
}

static double accuracy_of(const struct sl_linear_run *s)
{
    int right = 0;
    for (int i = 0; i < s->predicted_count; i++)
        right += is_right(s, s->logits, s->predicted[i]);
    return (double)right / s->predicted_count;
}

/* Twice the standard error of the difference between the last predictions and the best recipe's;
 * where they do not differ, as if they did once. */
static double chance(const struct sl_linear_run *s)
{
    const float *best = sl_linear_best_logits(s);
    int differ = 0;
    for (int i = 0; i < s->predicted_count; i++)
        differ += is_right(s, s->logits, s->predicted[i]) != is_right(s, best, s->predicted[i]);
    return 2.0 * sqrt(fmax(differ, 1.0)) / s->predicted_count;
}

/* Together this takes less than one more trial of the best recipe. How much of a change of F1 is by
 * chance cannot be told in the same way, so texts with several labels have no curve. */
static bool measure_curve(struct sl_linear_run *s, struct sl_err *err)
{
    struct sl_linear_search *out = s->out;
    if (s->options->set->multi_label || !sl_linear_search_is_linear(out))
        return true;
    s->recipe = out->trials[out->best].recipe;
    for (s->parts = 1; s->parts < SL_LEARNING_PARTS; s->parts *= 2) {
        int texts = texts_of_parts(s);
        if (texts == 0)
            continue;
        if (!sl_linear_predict_folds(s, err))
            return false;
        sl_learning_curve_add(&out->curve, texts, accuracy_of(s));
        out->curve.gain = out->trials[out->best].accuracy - accuracy_of(s);
        out->curve.chance = chance(s);
    }
    if (out->curve.count > 0)
        sl_learning_curve_add(&out->curve, texts_of_parts(s), out->trials[out->best].accuracy);
    return true;
}

static bool open_best(struct sl_linear_run *s)
{
    const size_t count = (size_t)s->options->set->count * (size_t)s->classes;
    bool ok = true;
    for (int kind = 0; kind < SL_RECIPE_KINDS; kind++)
        ok = (s->best_logits[kind] = calloc(count, sizeof *s->best_logits[kind])) && ok;
    return ok;
}

/* Those of the best recipe become the search's. */
static void close_best(struct sl_linear_run *s, bool ok)
{
    float *kept = s->out->probabilities = ok ? sl_linear_best_logits(s) : NULL;
    for (int kind = 0; kind < SL_RECIPE_KINDS; kind++)
        if (s->best_logits[kind] != kept)
            free(s->best_logits[kind]);
}

bool sl_linear_search_run(struct sl_linear_search *search,
                          const struct sl_linear_search_options *options, struct sl_err *err)
{
    const struct sl_dataset *set = options->set;
    size_t texts = (size_t)set->count, classes = (size_t)set->labels.count;
    struct sl_linear_run s = {
        .options = options, .out = search, .classes = set->labels.count, .begun = sl_now_seconds()};
    *search = (struct sl_linear_search){0};
    s.parts = SL_LEARNING_PARTS;
    search->fold = calloc(texts, sizeof *search->fold);
    s.part = calloc(texts, sizeof *s.part);
    s.predicted = calloc(texts, sizeof *s.predicted);
    s.logits = calloc(texts * classes, sizeof *s.logits);
    bool ok = (search->fold && s.part && s.predicted && s.logits && open_best(&s)) ||
              sl_fail(err, SL_NO_MEMORY, "no memory for predictions of %zu texts", texts);
    ok = ok && divide(&s, err) && sl_learning_parts(set, s.part, err) && search_all(&s, err);
    if (ok)
        calibrate(&s);
    ok = ok && measure_curve(&s, err);
    close_best(&s, ok);
    free(s.part);
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
