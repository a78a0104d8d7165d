/* linear_trials.c - fits recipes on the folds, measures them, and keeps the best. */
#include "linear/linear_trials.h"

#include "base/clock.h"
#include "infer/logits.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double tolerance = 1e-4;

/* ---- folds ----------------------------------------------------------------------------------- */

/* There may be none: of very many texts, if each label has fewer different ones than folds. */
static bool list_predicted(struct sl_linear_run *s, struct sl_err *err)
{
    s->predicted_count = 0;
    for (int i = 0; i < s->options->set->count; i++)
        if (sl_linear_search_has(s->out, i))
            s->predicted[s->predicted_count++] = i;
    return s->predicted_count > 0 ||
           sl_fail(err, SL_BAD_INPUT, "there are too few different texts to hold some out");
}

bool sl_linear_divide(struct sl_linear_run *s, int folds, int predicted, struct sl_err *err)
{
    s->out->folds = folds;
    s->out->folds_predicted = predicted;
    for (int kind = 0; kind < SL_RECIPE_KINDS; kind++)
        s->best[kind] = -1;
    return sl_linear_folds(s->options->set, folds, s->out->fold, err) && list_predicted(s, err);
}

/* ---- one fold -------------------------------------------------------------------------------- */

/* The texts to fit to. rows: NULL: only counts them. */
static int rows_without(const struct sl_linear_run *s, int fold, int32_t *rows)
{
    int count = 0;
    for (int i = 0; i < s->options->features->texts; i++) {
        if (s->out->fold[i] == fold || s->part[i] >= s->parts)
            continue;
        if (rows)
            rows[count] = i;
        count++;
    }
    return count;
}

int sl_linear_fitted_texts(const struct sl_linear_run *s, int fold)
{
    return rows_without(s, fold, NULL);
}

static bool predict(const struct sl_linear_run *s, int fold, const struct sl_logistic_problem *p,
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

static bool try_fold(const struct sl_linear_run *s, int fold, struct sl_err *err)
{
    const struct sl_text_features *f = s->options->features;
    int32_t *rows = malloc((size_t)f->texts * sizeof *rows);
    if (!rows)
        return sl_fail(err, SL_NO_MEMORY, "no memory for a fold of %d texts", f->texts);
    const struct sl_linear_texts texts = {.kernels = s->options->engine->kernels,
                                          .features = f,
                                          .labels = &s->options->set->label_lists,
                                          .classes = s->classes,
                                          .rows = rows,
                                          .count = rows_without(s, fold, rows)};
    struct sl_linear_problem q = {0};
    bool ok = sl_linear_problem_open(&q, &texts, &s->recipe, err);
    q.p.tolerance = tolerance;
    ok = ok && predict(s, fold, &q.p, err);
    sl_linear_problem_close(&q);
    free(rows);
    return ok;
}

static void try_folds(void *ctx, int first, int last, int worker)
{
    struct sl_linear_run *s = ctx;
    (void)worker;
    for (int fold = first; fold < last; fold++)
        s->ok[fold] = try_fold(s, fold, &s->errs[fold]);
}

bool sl_linear_predict_folds(struct sl_linear_run *s, struct sl_err *err)
{
    sl_parallel_for(s->options->engine->pool, s->out->folds_predicted, 1, try_folds, s);
    for (int fold = 0; fold < s->out->folds_predicted; fold++)
        if (!s->ok[fold]) {
            *err = s->errs[fold];
            return false;
        }
    return true;
}

/* ---- measuring ------------------------------------------------------------------------------- */

struct sl_predictions sl_linear_predictions(const struct sl_linear_run *s, const float *logits)
{
    return (struct sl_predictions){.logits = logits,
                                   .labels = &s->options->set->label_lists,
                                   .rows = s->predicted,
                                   .count = s->predicted_count,
                                   .classes = s->classes,
                                   .independent = s->options->set->multi_label};
}

/* The labels that are predicted of a text, in rising order; returns their number. */
static int predicted_labels(const struct sl_linear_run *s, const struct sl_calibration *calibration,
                            const float *logits, int *predicted)
{
    const double lowest = -calibration->shift * calibration->temperature;
    int count = 0;
    if (!calibration->independent) {
        predicted[0] = sl_argmax(logits, s->classes);
        return 1;
    }
    for (int c = 0; c < s->classes; c++)
        if ((double)logits[c] >= lowest)
            predicted[count++] = c;
    return count;
}

static void count_text(const struct sl_linear_run *s, const struct sl_calibration *calibration,
                       const float *logits, int text, struct sl_label_counts *n)
{
    int predicted[SL_LABELS_MAX];
    const int labels =
        predicted_labels(s, calibration, logits + (size_t)text * (size_t)s->classes, predicted);
    sl_label_counts_add(n, sl_label_list(&s->options->set->label_lists, text), predicted, labels);
}

/* The loss counts, too: it is less noisy than the accuracy where texts are few. Of very many texts
 * the accuracy is known well, and logistic regression, whose loss is lower, often has less. Of
 * independent labels the loss grows with their number in a text. */
static double merit(const struct sl_linear_run *s, double micro_f1, double loss,
                    double labels_per_text)
{
    const double weight = sl_linear_loss_weight(s->options->features->texts);
    return micro_f1 - weight * loss / fmax(1.0, labels_per_text);
}

static void measure(const struct sl_linear_run *s, struct sl_linear_trial *trial)
{
    const struct sl_predictions predictions = sl_linear_predictions(s, s->logits);
    const struct sl_calibration calibration = sl_calibration_fit_temperature(&predictions);
    struct sl_label_counts n = {0};
    for (int i = 0; i < s->predicted_count; i++)
        count_text(s, &calibration, s->logits, s->predicted[i], &n);
    trial->loss = sl_calibration_loss(&calibration, &predictions);
    trial->accuracy = (double)n.texts_right / s->predicted_count;
    trial->micro_f1 = sl_label_counts_micro_f1(&n);
    trial->merit = merit(s, trial->micro_f1, trial->loss, (double)n.labels / s->predicted_count);
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* What the merit is the mean of, as far as it is one. */
static double merit_of(const struct sl_linear_run *s, const struct sl_calibration *calibration,
                       const float *logits, int text)
{
    struct sl_label_counts n = {0};
    const struct sl_label_list labels = sl_label_list(&s->options->set->label_lists, text);
    const double loss = sl_calibrate(calibration, logits + (size_t)text * (size_t)s->classes,
                                     s->classes, labels, NULL);
    count_text(s, calibration, logits, text, &n);
    return merit(s, sl_label_counts_micro_f1(&n), loss, (double)labels.count);
}

/* The standard error of the difference between the merits of two recipes. */
static double difference_error(const struct sl_linear_run *s, const float *one, const float *other)
{
    const struct sl_predictions ones = sl_linear_predictions(s, one),
                                others = sl_linear_predictions(s, other);
    const struct sl_calibration a = sl_calibration_fit_temperature(&ones),
                                b = sl_calibration_fit_temperature(&others);
    const double count = (double)s->predicted_count;
    double sum = 0.0, squares = 0.0;
    for (int i = 0; i < s->predicted_count; i++) {
        const double difference =
            merit_of(s, &a, one, s->predicted[i]) - merit_of(s, &b, other, s->predicted[i]);
        sum += difference;
        squares += difference * difference;
    }
    return sqrt(fmax(0.0, squares / count - sum / count * (sum / count)) / count);
}

/* Many recipes are tried, and the best of many is partly so by chance. */
static bool is_surely_better(const struct sl_linear_run *s, int kind, int other)
{
    static const double errors = 2.5;
    const struct sl_linear_trial *trials = s->out->trials;
    if (isnan(trials[s->best[other]].merit))
        return true;
    return trials[s->best[kind]].merit >
           trials[s->best[other]].merit +
               errors * difference_error(s, s->best_logits[kind], s->best_logits[other]);
}

static bool is_surely_beaten(const struct sl_linear_run *s, int kind)
{
    for (int other = 0; other < kind; other++)
        if (s->best[other] >= 0 && is_surely_better(s, other, kind))
            return true;
    return false;
}

/* The last kind that none before it surely beats. */
static int best_kind(const struct sl_linear_run *s)
{
    for (int kind = SL_RECIPE_KINDS - 1; kind > 0; kind--)
        if (s->best[kind] >= 0 && !is_surely_beaten(s, kind))
            return kind;
    return 0;
}

/* The last trial, if it is the best of its kind; without a merit, only if it is the first. */
static void keep_best(struct sl_linear_run *s)
{
    const struct sl_linear_trial *trials = s->out->trials;
    const int last = s->out->count - 1, kind = sl_linear_trial_kind(&trials[last]);
    if (s->best[kind] >= 0 && !(trials[last].merit > trials[s->best[kind]].merit))
        return;
    s->best[kind] = last;
    memcpy(s->best_logits[kind], s->logits,
           (size_t)s->options->features->texts * (size_t)s->classes * sizeof *s->logits);
    s->out->best = s->best[best_kind(s)];
}

float *sl_linear_best_logits(const struct sl_linear_run *s)
{
    return s->best_logits[sl_linear_trial_kind(&s->out->trials[s->out->best])];
}

void sl_linear_report(const struct sl_linear_run *s)
{
    if (s->options->report)
        s->options->report(s->options->context, s->out);
}

void sl_linear_keep(struct sl_linear_run *s, struct sl_linear_trial trial, double begun)
{
    struct sl_linear_search *out = s->out;
    assert(out->count < SL_LINEAR_TRIALS_MAX);
    trial.folds = out->folds_predicted;
    measure(s, &trial);
    trial.seconds = sl_now_seconds() - begun;
    out->trials[out->count++] = trial;
    keep_best(s);
    sl_linear_report(s);
}

int sl_linear_try(struct sl_linear_run *s, struct sl_linear_recipe recipe, struct sl_err *err)
{
    double begun = sl_now_seconds();
    s->recipe = recipe;
    if (s->plans) {
        s->out->trials[s->out->planned].recipe = recipe;
        return s->out->planned++;
    }
    if (!sl_linear_predict_folds(s, err))
        return -1;
    sl_linear_keep(s, (struct sl_linear_trial){.recipe = recipe}, begun);
    return s->out->count - 1;
}
