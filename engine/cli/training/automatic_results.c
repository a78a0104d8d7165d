/* automatic_results.c - words and JSON for what a training without an architecture found. */
#include "cli/training/automatic_results.h"

#include "cli/command.h"
#include "cli/training/dataset_summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

const char *automatic_results_estimate(const struct sl_linear_training *l,
                                       char text[CONCLUSION_TEXT])
{
    enum { MANY = 2000000, SECONDS_LONG = 300, MINUTE = 60 };

    const struct sl_linear_search *search = &l->search;
    const double seconds = search->count == 1 ? search->trials[0].seconds * search->planned : 0.0;
    text[0] = '\0';
    if (search->count == 0 && (int64_t)l->set.count * l->set.labels.count > MANY)
        (void)snprintf(text, CONCLUSION_TEXT,
                       "%d texts times %d labels are many: each of about 20 recipes takes minutes",
                       l->set.count, l->set.labels.count);
    if (seconds > SECONDS_LONG)
        (void)snprintf(text, CONCLUSION_TEXT,
                       "the first of %d recipes took %.0f s: all may take %.0f minutes",
                       search->planned, search->trials[0].seconds, seconds / MINUTE);
    return text;
}

/* ---- the trials ------------------------------------------------------------------------------ */

static const char *regression_name(enum sl_linear_loss loss)
{
    return loss == SL_LOSS_SQUARED ? "ridge" : "logistic";
}

static const char *describe_linear(const struct sl_linear_recipe *r, char text[RECIPE_TEXT])
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

const char *automatic_results_recipe(const struct sl_linear_trial *trial, char text[RECIPE_TEXT])
{
    const struct sl_encoder_recipe *r = &trial->encoder;
    char part[RECIPE_TEXT];
    if (sl_linear_trial_is_linear(trial))
        return describe_linear(&trial->recipe, text);
    int bytes = r->epochs > 0
                    ? snprintf(text, RECIPE_TEXT,
                               "encoder, fine-tuned (%d epochs, batches of %d, rate %.3g)",
                               r->epochs, r->batch_size, (double)r->learning_rate)
                    : snprintf(text, RECIPE_TEXT, "logistic: embeddings of the encoder (C %.3g)",
                               (double)r->head_c);
    if (trial->ngram_weight > 0.0f)
        (void)snprintf(text + bytes, RECIPE_TEXT - (size_t)bytes, " + %.3g %s",
                       (double)trial->ngram_weight, describe_linear(&trial->recipe, part));
    return text;
}

const char *automatic_results_legend(const struct sl_linear_training *l, char text[CONCLUSION_TEXT])
{
    /* Independent labels have the same calibration in both. */
    (void)snprintf(text, CONCLUSION_TEXT,
                   "Ridge and logistic are regressions. By ratio: an n-gram's regularization "
                   "depends on its log-count ratio. C: the inverse strength of regularization.%s",
                   l->set.multi_label
                       ? ""
                       : " These losses are with a temperature alone; the chosen "
                         "recipe is then calibrated fully, which can lower its loss.");
    return text;
}

const char *automatic_results_time(const struct sl_linear_training *l, char text[CONCLUSION_TEXT])
{
    const struct sl_linear_search *search = &l->search;
    int near = search->count - search->planned - search->repeated, bytes;
    text[0] = '\0';
    if (!(l->seconds > 0.0))
        return text;
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
                       l->others ? "; with an encoder, nothing is repeated."
                                 : "; it did not suffice for more folds.");
    return text;
}

static void write_linear(struct sl_json_writer *json, const struct sl_linear_recipe *r)
{
    sl_json_add(json,
                "'objective':%s,'ngram_order':%d,'character_ngrams':%i,'log_count_ratios':%i,"
                "'ngram_c':%f,'vector_c':%f",
                r->loss == SL_LOSS_SQUARED ? "squared" : "logistic", r->ngrams.order,
                r->ngrams.characters, r->ratios, (double)r->sparse_c, (double)r->dense_c);
}

static void write_encoder(struct sl_json_writer *json, const struct sl_encoder_recipe *r)
{
    sl_json_add(json, "'encoder':{'head_c':%f,'epochs':%d", (double)r->head_c, r->epochs);
    if (r->epochs > 0)
        sl_json_add(json, "'batch_size':%d,'learning_rate':%f,'layer_decay':%f", r->batch_size,
                    (double)r->learning_rate, (double)r->layer_decay);
    sl_json_end_object(json);
}

static void write_trial(struct sl_json_writer *json, const struct sl_linear_trial *trial,
                        bool multi_label)
{
    const bool linear = sl_linear_trial_is_linear(trial);
    sl_json_add(json, "{");
    if (!linear)
        write_encoder(json, &trial->encoder);
    if (!linear)
        sl_json_add(json, "'ngram_weight':%f", (double)trial->ngram_weight);
    if (linear || trial->ngram_weight > 0.0f)
        write_linear(json, &trial->recipe);
    sl_json_add(json, "'folds':%d,'accuracy':%f,'loss':%f,'seconds':%f", trial->folds,
                trial->accuracy, trial->loss, trial->seconds);
    if (multi_label)
        sl_json_add(json, "'micro_f1':%f", trial->micro_f1);
    sl_json_end_object(json);
}

void automatic_results_trial(const struct sl_linear_search *search, bool multi_label, bool json)
{
    const struct sl_linear_trial *trial = &search->trials[search->count - 1];
    char text[RECIPE_TEXT];
    if (json) {
        struct sl_buffer line = {0};
        write_trial(&(struct sl_json_writer){.out = &line}, trial, multi_label);
        command_print_json(&line);
    } else {
        if (search->count == 1)
            printf("\n%s    loss  %s\n", multi_label ? "micro F1" : "accuracy",
                   search->folds_predicted > 1 ? "tried, by cross-validation" : "tried, held out");
        else if (trial->folds != trial[-1].folds)
            printf("the best again, with %d folds:\n", trial->folds);
        printf(multi_label ? "%8.4f  %6.4f  %s\n" : "%6.2f %%  %6.4f  %s\n",
               multi_label ? trial->micro_f1 : 100.0 * trial->accuracy, trial->loss,
               automatic_results_recipe(trial, text));
    }
    (void)fflush(stdout);
}

/* ---- the learning curve ---------------------------------------------------------------------- */

const char *automatic_results_conclude(const struct sl_learning_curve *curve,
                                       char text[CONCLUSION_TEXT])
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
    return text;
}

static void print_curve(const struct sl_learning_curve *curve)
{
    char text[CONCLUSION_TEXT];
    for (int i = 0; i < curve->count; i++)
        printf("%s %.2f %% with %d%s",
               i ? "," : "accuracy by number of texts:", 100.0 * curve->points[i].accuracy,
               curve->points[i].texts, i + 1 < curve->count ? "" : "\n");
    printf("%s\n", automatic_results_conclude(curve, text));
}

static void write_curve(struct sl_json_writer *json, const struct sl_learning_curve *curve)
{
    char text[CONCLUSION_TEXT];
    sl_json_add(json, "'learning_curve':[");
    for (int i = 0; i < curve->count; i++)
        sl_json_add(json, "{'texts':%d,'accuracy':%f}", curve->points[i].texts,
                    curve->points[i].accuracy);
    sl_json_add(json, "],'more_texts':%s", automatic_results_conclude(curve, text));
}

/* ---- the result ------------------------------------------------------------------------------ */

bool automatic_results_open(struct automatic_results *r, const struct sl_linear_training *l,
                            const struct dataset_facts *facts,
                            const struct sl_evaluation *validation, double min_precision,
                            struct sl_err *err)
{
    *r = (struct automatic_results){
        .l = l, .facts = facts, .evaluation.e.loss = l->search.loss, .validation = validation};
    struct label_predictions *predictions = &r->evaluation.predictions;
    if (label_predictions_of_search(predictions, l, err) &&
        (!(min_precision > 0.0) ||
         minimum_score_find(&r->minimum, predictions, min_precision, err)) &&
        label_evaluation_measure(&r->evaluation, err))
        return true;
    automatic_results_close(r);
    return false;
}

void automatic_results_close(struct automatic_results *r)
{
    label_evaluation_close(&r->evaluation);
}

static double accuracy_of(const struct automatic_results *r)
{
    return (double)r->evaluation.quality.correct / r->evaluation.quality.texts;
}

double automatic_results_accuracy(const struct automatic_results *r)
{
    return r->validation ? r->validation->accuracy : accuracy_of(r);
}

double automatic_results_loss(const struct automatic_results *r)
{
    return r->validation ? r->validation->loss : r->l->search.loss;
}

static bool is_multi_label(const struct automatic_results *r)
{
    return r->l->set.multi_label;
}

static bool has_curve(const struct automatic_results *r)
{
    return !is_multi_label(r) && sl_linear_search_is_linear(&r->l->search);
}

static void write_facts(struct sl_json_writer *json, const struct automatic_results *r)
{
    const struct dataset_facts *f = r->facts;
    sl_json_add(json,
                "{'median_tokens':%d,'truncated':%d,'duplicates':%d,'conflicting_labels':%d,"
                "'skipped':%lld,'foreign_base':%i}",
                f->median, f->set->truncated, f->duplicates.count, f->conflicts.count,
                (long long)f->set->skipped.records, r->l->base_is_foreign);
}

static void write_validation(struct sl_json_writer *json, const struct automatic_results *r)
{
    sl_json_add(json, "{'texts':%d,'accuracy':%f,'loss':%f,'duplicates':%d",
                r->facts->validation->count, r->validation->accuracy, r->validation->loss,
                r->facts->leaks.count);
    if (is_multi_label(r))
        sl_json_add(json, "'micro_f1':%f", r->validation->micro_f1);
    sl_json_end_object(json);
}

static void write_confident(struct sl_json_writer *json, const struct automatic_results *r)
{
    const struct minimum_score *minimum = &r->minimum;
    const bool found = minimum->reached > 0;
    sl_json_add(json, "{'min_precision':%f,'minimum_score':%f,%s:%d,'right':%d,",
                minimum->precision, found ? minimum->score : (double)NAN,
                is_multi_label(r) ? "labels" : "texts", minimum->reached, minimum->right);
    if (found)
        sl_json_add(json, "'precision_interval':[%f,%f]}", minimum->low, minimum->high);
    else
        sl_json_add(json, "'precision_interval':null}");
}

/* published: where the model is; NULL: not published yet. */
static void write_result(struct sl_json_writer *json, const struct automatic_results *r,
                         const char *published)
{
    const struct sl_linear_search *search = &r->l->search;
    const struct prediction_quality *q = &r->evaluation.quality;
    sl_json_add(json,
                "{'method':%s,'texts':%d,'folds':%d,'accuracy':%f,'accuracy_interval':[%f,%f],"
                "'macro_f1':%f,'loss':%f,'calibration_error':%f",
                search->folds_predicted > 1 ? "cross-validation" : "held out", q->texts,
                search->folds, accuracy_of(r), q->low, q->high, q->macro_f1, search->loss,
                q->calibration);
    if (r->minimum.precision > 0.0)
        write_confident(sl_json_key(json, "confident"), r);
    if (is_multi_label(r))
        sl_json_add(json, "'micro_f1':%f", q->micro_f1);
    sl_json_add(json, "'recipes_tried':%d", search->count);
    if (r->l->seconds > 0.0)
        sl_json_add(json, "'seconds_given':%f", r->l->seconds);
    if (r->validation)
        write_validation(sl_json_key(json, "validation_file"), r);
    write_facts(sl_json_key(json, "data"), r);
    if (has_curve(r))
        write_curve(json, &search->curve);
    write_trial(sl_json_key(json, "recipe"), &search->trials[search->best], is_multi_label(r));
    label_metrics_write(sl_json_key(json, "labels"), r->l->model, r->evaluation.labels);
    label_confusion_write(sl_json_key(json, "confusion_matrix"), &r->evaluation.predictions);
    if (published)
        sl_json_add(json, "'published':%s", published);
    if (published && r->l->refers)
        sl_json_add(json, "'base':%s", r->l->origin.model);
    sl_json_end_object(json);
}

char *automatic_results_provenance(const struct automatic_results *r, const char *data,
                                   struct sl_err *err)
{
    struct sl_buffer text = {0};
    struct sl_json_writer json = {.out = &text};
    sl_json_add(&json,
                "{'data':%s,'texts':%d,'finished':%lld,'validation_accuracy':%f,"
                "'validation_loss':%f,'validation':",
                sl_path_last(data), r->l->set.count, (long long)time(NULL),
                automatic_results_accuracy(r), automatic_results_loss(r));
    write_result(&json, r, NULL);
    sl_json_end_object(&json);
    if (!text.failed)
        return text.data;
    sl_buffer_release(&text);
    sl_fail(err, SL_NO_MEMORY, "no memory for the provenance of the model");
    return NULL;
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

const char *automatic_results_minimum_score(const struct automatic_results *r,
                                            char text[CONCLUSION_TEXT])
{
    const struct minimum_score *minimum = &r->minimum;
    const double right = minimum->reached > 0 ? 100.0 * minimum->right / minimum->reached : 0.0;
    text[0] = '\0';
    if (!(minimum->precision > 0.0))
        return text;
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
    return text;
}

const char *automatic_results_validation(const struct automatic_results *r,
                                         char text[CONCLUSION_TEXT])
{
    char f1[32] = "";
    text[0] = '\0';
    if (!r->validation)
        return text;
    if (is_multi_label(r))
        (void)snprintf(f1, sizeof f1, "micro F1 %.4f, subset ", r->validation->micro_f1);
    (void)snprintf(text, CONCLUSION_TEXT,
                   "On the %d texts of the validation file: %saccuracy %.2f %%, loss %.4f.",
                   r->facts->validation->count, f1, 100.0 * r->validation->accuracy,
                   r->validation->loss);
    return text;
}

const char *automatic_results_method(const struct automatic_results *r, char text[CONCLUSION_TEXT])
{
    const struct sl_linear_search *search = &r->l->search;
    if (search->folds_predicted > 1)
        (void)snprintf(text, CONCLUSION_TEXT,
                       "On all %d texts, each predicted without it in %d-fold cross-validation. "
                       "The published model was then fitted to all texts.",
                       r->evaluation.quality.texts, search->folds);
    else
        (void)snprintf(text, CONCLUSION_TEXT,
                       "On %d texts that were held out. The published model was then fitted to all "
                       "%d texts.",
                       r->evaluation.quality.texts, r->l->set.count);
    return text;
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
    const struct prediction_quality *q = &r->evaluation.quality;
    char recipe[RECIPE_TEXT], text[CONCLUSION_TEXT];
    if (json) {
        struct sl_buffer line = {0};
        write_result(&(struct sl_json_writer){.out = &line}, r, model);
        command_print_json(&line);
        return;
    }
    print_sentence(automatic_results_legend(r->l, text));
    print_sentence(automatic_results_time(r->l, text));
    printf("\nchosen: %s\n", automatic_results_recipe(&search->trials[search->best], recipe));
    if (is_multi_label(r))
        printf("micro F1 %.4f, macro F1 %.4f, subset ", q->micro_f1, q->macro_f1);
    printf("accuracy %.2f %% (95 %% interval %.2f to %.2f), loss %.4f, calibration error %.4f\n",
           100.0 * accuracy_of(r), 100.0 * q->low, 100.0 * q->high, search->loss, q->calibration);
    print_sentence(automatic_results_method(r, text));
    print_sentence(automatic_results_validation(r, text));
    if (has_curve(r))
        print_curve(&search->curve);
    print_sentence(automatic_results_minimum_score(r, text));
    label_metrics_print(r->l->model, r->evaluation.labels);
    printf("\npublished to %s%s%s\n", model,
           r->l->refers ? ", which uses the word vectors of " : "",
           r->l->refers ? r->l->origin.model : "");
    if (page)
        printf("report: %s/index.html\n", page);
}
