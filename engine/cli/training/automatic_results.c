/* automatic_results.c - see automatic_results.h. */
#include "cli/training/automatic_results.h"

#include "checkpoint/json_io.h"
#include "cli/training/dataset_summary.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ---- the texts ------------------------------------------------------------------------------- */

void automatic_results_texts(const struct sl_linear_training *l, const struct dataset_facts *facts,
                             const char *why_no_base)
{
    dataset_summary_print(facts, l->base->config.context_length);
    if (l->base_is_foreign)
        printf("no word vectors: the base model lacks %.1f %% of the words; perhaps the texts are "
               "in another language\n",
               100.0 * l->unknown);
    else if (!l->parts.vectors)
        printf("no word vectors: %s\n", why_no_base);
    (void)fflush(stdout);
}

void automatic_results_warn_base(const struct sl_linear_training *l, const char *base)
{
    if (l->base_is_foreign)
        (void)fprintf(
            stderr,
            "sluice train: warning: --init-from '%s' is not used: it lacks %.1f %% of the "
            "words\n",
            base, 100.0 * l->unknown);
}

/* ---- the trials ------------------------------------------------------------------------------ */

static const char *regression_name(enum sl_linear_loss loss)
{
    return loss == SL_LOSS_SQUARED ? "ridge" : "logistic";
}

const char *automatic_results_recipe(const struct sl_linear_recipe *r, char text[RECIPE_TEXT])
{
    static const char *const longest[] = {"words", "words", "words, bigrams", "words to trigrams"};
    char vectors[32] = "", ngrams[72] = "";
    const bool has_ngrams = r->sparse_c > 0.0f, has_vectors = r->dense_c > 0.0f;
    if (has_ngrams)
        (void)snprintf(ngrams, sizeof ngrams, "%s%s%s (C %.3g)%s", longest[r->ngrams.order],
                       r->ngrams.characters ? ", characters" : "", r->ratios ? " by ratio" : "",
                       (double)r->sparse_c, has_vectors ? ", " : "");
    if (has_vectors)
        (void)snprintf(vectors, sizeof vectors, "word vectors (C %.3g)", (double)r->dense_c);
    (void)snprintf(text, RECIPE_TEXT, "%s: %s%s", regression_name(r->loss), ngrams, vectors);
    return text;
}

void automatic_results_legend(const struct sl_linear_training *l, char text[CONCLUSION_TEXT])
{
    /* Independent labels have the same calibration in both. */
    (void)snprintf(text, CONCLUSION_TEXT,
                   "Ridge and logistic are regressions. By ratio: an n-gram's regularization "
                   "depends on its log-count ratio. C: the inverse strength of regularization.%s",
                   l->set.multi_label
                       ? ""
                       : " These losses are with a temperature alone; the chosen "
                         "recipe is then calibrated fully, which can lower its loss.");
}

void automatic_results_time(const struct sl_linear_training *l, char text[CONCLUSION_TEXT])
{
    const struct sl_linear_search *search = &l->search;
    int near = search->count - search->planned - search->repeated, bytes;
    text[0] = '\0';
    if (!(l->seconds > 0.0))
        return;
    bytes = snprintf(text, CONCLUSION_TEXT, "With more time, %d recipe%s near the best %s tried",
                     near, near == 1 ? "" : "s", near == 1 ? "was" : "were");
    if (search->repeated > 1)
        (void)snprintf(
            text + bytes, CONCLUSION_TEXT - (size_t)bytes,
            "; then the best %d again with %d folds, of which the best was chosen. Other "
            "folds change the figures by chance: compare only those with %d.",
            search->repeated, search->folds, search->folds);
    else if (search->repeated > 0)
        (void)snprintf(
            text + bytes, CONCLUSION_TEXT - (size_t)bytes,
            "; then the best one again with %d folds, which change the figures by chance.",
            search->folds);
    else
        (void)snprintf(text + bytes, CONCLUSION_TEXT - (size_t)bytes,
                       "; it did not suffice for more folds.");
}

static json_t *trial_json(const struct sl_linear_trial *trial, bool multi_label)
{
    json_t *o = json_pack(
        "{s:s, s:i, s:b, s:b, s:f, s:f, s:i, s:f, s:f, s:f}", "objective",
        trial->recipe.loss == SL_LOSS_SQUARED ? "squared" : "logistic", "ngram_order",
        trial->recipe.ngrams.order, "character_ngrams", (int)trial->recipe.ngrams.characters,
        "log_count_ratios", (int)trial->recipe.ratios, "ngram_c", (double)trial->recipe.sparse_c,
        "vector_c", (double)trial->recipe.dense_c, "folds", trial->folds, "accuracy",
        trial->accuracy, "loss", trial->loss, "seconds", trial->seconds);
    if (multi_label)
        (void)json_object_set_new(o, "micro_f1", json_real(trial->micro_f1));
    return o;
}

static void print_json(json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(6));
    printf("%s\n", text ? text : "");
    free(text);
    json_decref(object);
}

void automatic_results_trial(const struct sl_linear_search *search, bool multi_label, bool json)
{
    const struct sl_linear_trial *trial = &search->trials[search->count - 1];
    char text[RECIPE_TEXT];
    if (json) {
        print_json(trial_json(trial, multi_label));
    } else {
        if (search->count == 1)
            printf("\n%s    loss  %s\n", multi_label ? "micro F1" : "accuracy",
                   search->folds_predicted > 1 ? "tried, by cross-validation" : "tried, held out");
        else if (trial->folds != trial[-1].folds)
            printf("the best again, with %d folds:\n", trial->folds);
        printf(multi_label ? "%8.4f  %6.4f  %s\n" : "%6.2f %%  %6.4f  %s\n",
               multi_label ? trial->micro_f1 : 100.0 * trial->accuracy, trial->loss,
               automatic_results_recipe(&trial->recipe, text));
    }
    (void)fflush(stdout);
}

/* ---- the learning curve ---------------------------------------------------------------------- */

void automatic_results_conclude(const struct sl_learning_curve *curve, char text[CONCLUSION_TEXT])
{
    const double unclear = 0.01, part_of_mistakes = 0.03;
    const double mistakes = curve->count > 0 ? 1.0 - curve->points[curve->count - 1].accuracy : 0.0;
    if (curve->count == 0)
        (void)snprintf(text, CONCLUSION_TEXT, "There are too few texts for a learning curve.");
    else if (curve->gain > curve->chance && curve->gain > part_of_mistakes * mistakes)
        (void)snprintf(text, CONCLUSION_TEXT,
                       "More texts would help: the last doubling of their number brought %.1f "
                       "points; one more might reach %.1f %%.",
                       100.0 * curve->gain, 100.0 * sl_learning_curve_forecast(curve));
    else
        (void)snprintf(text, CONCLUSION_TEXT,
                       "%s: the last doubling of their number changed the accuracy by %.1f points, "
                       "and chance alone changes it by up to %.1f.",
                       curve->chance > unclear ? "It is unclear whether more texts would help"
                                               : "More texts like these would hardly help",
                       100.0 * curve->gain, 100.0 * curve->chance);
}

static void print_curve(const struct sl_learning_curve *curve)
{
    char text[CONCLUSION_TEXT];
    automatic_results_conclude(curve, text);
    for (int i = 0; i < curve->count; i++)
        printf("%s %.2f %% with %d%s",
               i ? "," : "accuracy by number of texts:", 100.0 * curve->points[i].accuracy,
               curve->points[i].texts, i + 1 < curve->count ? "" : "\n");
    printf("%s\n", text);
}

static void add_curve(json_t *o, const struct sl_learning_curve *curve)
{
    char text[CONCLUSION_TEXT];
    json_t *list = json_array();
    for (int i = 0; i < curve->count; i++)
        (void)json_array_append_new(list, json_pack("{s:i, s:f}", "texts", curve->points[i].texts,
                                                    "accuracy", curve->points[i].accuracy));
    automatic_results_conclude(curve, text);
    (void)json_object_set_new(o, "learning_curve", list);
    (void)json_object_set_new(o, "more_texts", json_string(text));
}

/* ---- the result ------------------------------------------------------------------------------ */

bool automatic_results_open(struct automatic_results *r, const struct sl_linear_training *l,
                            const struct dataset_facts *facts,
                            const struct sl_evaluation *validation, double min_precision,
                            struct sl_err *err)
{
    *r = (struct automatic_results){.l = l, .facts = facts, .validation = validation};
    bool ok = label_predictions_of_search(&r->predictions, l, err) &&
              (!(min_precision > 0.0) ||
               minimum_score_find(&r->minimum, &r->predictions, min_precision, err));
    r->labels = ok ? label_metrics_count(&r->predictions, err) : NULL;
    if (r->labels)
        prediction_quality_measure(&r->quality, &r->predictions, r->labels);
    else
        automatic_results_close(r);
    return r->labels;
}

void automatic_results_close(struct automatic_results *r)
{
    label_predictions_close(&r->predictions);
    free(r->labels);
    r->labels = NULL;
}

static double accuracy_of(const struct automatic_results *r)
{
    return (double)r->quality.correct / r->quality.texts;
}

double automatic_results_accuracy(const struct automatic_results *r)
{
    return r->validation ? r->validation->accuracy : accuracy_of(r);
}

double automatic_results_loss(const struct automatic_results *r)
{
    return r->validation ? r->validation->loss : r->l->search.loss;
}

static json_t *facts_json(const struct automatic_results *r)
{
    const struct dataset_facts *f = r->facts;
    return json_pack("{s:i, s:i, s:i, s:i, s:I, s:b}", "median_tokens", f->median, "truncated",
                     f->set->truncated, "duplicates", f->duplicates.count, "conflicting_labels",
                     f->conflicts.count, "skipped", (json_int_t)f->set->skipped.records,
                     "foreign_base", (int)r->l->base_is_foreign);
}

static bool is_multi_label(const struct automatic_results *r)
{
    return r->l->set.multi_label;
}

static json_t *validation_json(const struct automatic_results *r)
{
    json_t *o = json_pack("{s:i, s:f, s:f, s:i}", "texts", r->facts->validation->count, "accuracy",
                          r->validation->accuracy, "loss", r->validation->loss, "duplicates",
                          r->facts->leaks.count);
    if (is_multi_label(r))
        (void)json_object_set_new(o, "micro_f1", json_real(r->validation->micro_f1));
    return o;
}

static json_t *confident_json(const struct automatic_results *r)
{
    const struct minimum_score *minimum = &r->minimum;
    const bool found = minimum->reached > 0;
    return json_pack("{s:f, s:o, s:i, s:i, s:o}", "min_precision", minimum->precision,
                     "minimum_score", found ? json_real(minimum->score) : json_null(),
                     is_multi_label(r) ? "labels" : "texts", minimum->reached, "right",
                     minimum->right, "precision_interval",
                     found ? json_pack("[ff]", minimum->low, minimum->high) : json_null());
}

static json_t *result_json(const struct automatic_results *r)
{
    const struct sl_linear_search *search = &r->l->search;
    const struct prediction_quality *q = &r->quality;
    json_t *o = json_pack("{s:s, s:i, s:i, s:f, s:[ff], s:f, s:f, s:f}", "method",
                          search->folds_predicted > 1 ? "cross-validation" : "held out", "texts",
                          q->texts, "folds", search->folds, "accuracy", accuracy_of(r),
                          "accuracy_interval", q->low, q->high, "macro_f1", q->macro_f1, "loss",
                          search->loss, "calibration_error", q->calibration);
    if (r->minimum.precision > 0.0)
        (void)json_object_set_new(o, "confident", confident_json(r));
    if (is_multi_label(r))
        (void)json_object_set_new(o, "micro_f1", json_real(q->micro_f1));
    (void)json_object_set_new(o, "recipes_tried", json_integer(search->count));
    if (r->l->seconds > 0.0)
        (void)json_object_set_new(o, "seconds_given", json_real(r->l->seconds));
    if (r->validation)
        (void)json_object_set_new(o, "validation_file", validation_json(r));
    (void)json_object_set_new(o, "data", facts_json(r));
    if (!is_multi_label(r))
        add_curve(o, &search->curve);
    (void)json_object_set_new(o, "recipe",
                              trial_json(&search->trials[search->best], is_multi_label(r)));
    (void)json_object_set_new(o, "labels", label_metrics_json(r->l->model, r->labels));
    return o;
}

char *automatic_results_provenance(const struct automatic_results *r, const char *data,
                                   struct sl_err *err)
{
    json_t *o = json_pack("{s:o, s:i, s:I, s:f, s:f, s:o}", "data", sl_json_file_name(data),
                          "texts", r->l->set.count, "finished", (json_int_t)time(NULL),
                          "validation_accuracy", automatic_results_accuracy(r), "validation_loss",
                          automatic_results_loss(r), "validation", result_json(r));
    char *text = o ? json_dumps(o, JSON_REAL_PRECISION(SL_JSON_SHORT)) : NULL;
    json_decref(o);
    if (!text)
        sl_fail(err, SL_NO_MEMORY, "no memory for the provenance of the model");
    return text;
}

/* Where no score is high enough. */
static void explain_no_score(const struct minimum_score *minimum, char text[CONCLUSION_TEXT])
{
    if (minimum->predicted < minimum->needed)
        (void)snprintf(text, CONCLUSION_TEXT,
                       "There are too few texts to say from which score on %.4g %% are right: even "
                       "without a mistake that takes %d predictions, and there are %d.",
                       100.0 * minimum->precision, minimum->needed, minimum->predicted);
    else
        (void)snprintf(text, CONCLUSION_TEXT,
                       "No score is high enough for %.4g %%: wherever the line is drawn, the 95 %% "
                       "interval of the predictions above it begins at %.1f %% or below.",
                       100.0 * minimum->precision, floor(1000.0 * minimum->attainable) / 10.0);
}

void automatic_results_minimum_score(const struct automatic_results *r, char text[CONCLUSION_TEXT])
{
    const struct minimum_score *minimum = &r->minimum;
    const double right = minimum->reached > 0 ? 100.0 * minimum->right / minimum->reached : 0.0;
    text[0] = '\0';
    if (!(minimum->precision > 0.0))
        return;
    if (minimum->reached == 0)
        explain_no_score(minimum, text);
    else if (minimum->reached == minimum->predicted)
        (void)snprintf(text, CONCLUSION_TEXT,
                       "All predictions together are %.1f %% right (95 %% interval %.1f to %.1f): "
                       "no threshold is needed for %.4g %%.",
                       right, 100.0 * minimum->low, 100.0 * minimum->high,
                       100.0 * minimum->precision);
    else
        (void)snprintf(text, CONCLUSION_TEXT,
                       "Of the predictions with a score of %.4f or more, %d of %d are right: %.1f "
                       "%% (95 %% interval %.1f to %.1f). %.1f %% of the %s reach that score.",
                       minimum->score, minimum->right, minimum->reached, right,
                       100.0 * minimum->low, 100.0 * minimum->high,
                       100.0 * minimum->reached / minimum->predicted,
                       is_multi_label(r) ? "predicted labels" : "texts");
}

void automatic_results_validation(const struct automatic_results *r, char text[CONCLUSION_TEXT])
{
    char f1[32] = "";
    text[0] = '\0';
    if (!r->validation)
        return;
    if (is_multi_label(r))
        (void)snprintf(f1, sizeof f1, "micro F1 %.4f, subset ", r->validation->micro_f1);
    (void)snprintf(text, CONCLUSION_TEXT,
                   "On the %d texts of the validation file: %saccuracy %.2f %%, loss %.4f.",
                   r->facts->validation->count, f1, 100.0 * r->validation->accuracy,
                   r->validation->loss);
}

void automatic_results_method(const struct automatic_results *r, char text[CONCLUSION_TEXT])
{
    const struct sl_linear_search *search = &r->l->search;
    if (search->folds_predicted > 1)
        (void)snprintf(text, CONCLUSION_TEXT,
                       "On all %d texts, each predicted without it in %d-fold cross-validation. "
                       "The published model was then fitted to all texts.",
                       r->quality.texts, search->folds);
    else
        (void)snprintf(text, CONCLUSION_TEXT,
                       "On %d texts that were held out. The published model was then fitted to all "
                       "%d texts.",
                       r->quality.texts, r->l->set.count);
}

static void print_sentence(const char *text)
{
    if (text[0])
        printf("%s\n", text);
}

void automatic_results_print(const struct automatic_results *r, const char *model, const char *page,
                             bool json)
{
    const struct sl_linear_search *search = &r->l->search;
    const struct prediction_quality *q = &r->quality;
    char recipe[RECIPE_TEXT], text[CONCLUSION_TEXT];
    if (json) {
        json_t *o = result_json(r);
        (void)json_object_set_new(o, "published", sl_json_string(model));
        print_json(o);
        return;
    }
    automatic_results_legend(r->l, text);
    print_sentence(text);
    automatic_results_time(r->l, text);
    print_sentence(text);
    printf("\nchosen: %s\n",
           automatic_results_recipe(&search->trials[search->best].recipe, recipe));
    if (is_multi_label(r))
        printf("micro F1 %.4f, macro F1 %.4f, subset ", q->micro_f1, q->macro_f1);
    printf("accuracy %.2f %% (95 %% interval %.2f to %.2f), loss %.4f, calibration error %.4f\n",
           100.0 * accuracy_of(r), 100.0 * q->low, 100.0 * q->high, search->loss, q->calibration);
    automatic_results_method(r, text);
    print_sentence(text);
    automatic_results_validation(r, text);
    print_sentence(text);
    if (!is_multi_label(r))
        print_curve(&search->curve);
    automatic_results_minimum_score(r, text);
    print_sentence(text);
    label_metrics_print(r->l->model, r->labels);
    printf("\npublished to %s\n", model);
    if (page)
        printf("report: %s/index.html\n", page);
}
