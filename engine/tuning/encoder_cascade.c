/* encoder_cascade.c - puts both parts into one model, and measures thresholds of the first. */
#include "tuning/encoder_cascade.h"

#include "base/int_math.h"
#include "infer/cascade_run.h"
#include "linear/linear_model.h"
#include "linear/linear_problem.h"
#include "sluice/classifier.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the model ------------------------------------------------------------------------------- */

/* The logits of the n-grams alone are raw ones times this. */
static float alone_scale(const struct sl_linear_trial *trial)
{
    return trial->ngram_scale / trial->ngram_weight;
}

static void set_ngrams(const struct sl_encoder_cascade *c, const struct sl_model *model,
                       const struct sl_logistic_weights *w, const float *idf)
{
    const float scale = alone_scale(c->trial);
    struct sl_bag_of_words m = {.keys = sl_model_find(model, "ngrams.keys"),
                                .idf = sl_model_find(model, "ngrams.idf"),
                                .ngram_weights = sl_model_find(model, "ngrams.weight")};
    const struct sl_parameter *bias = sl_model_find(model, "ngrams.bias");
    sl_parameter_copy(sl_model_find(model, "token_roles"), c->parts->roles);
    sl_parameter_copy(sl_model_find(model, "token_spellings"), c->parts->spellings);
    for (int i = 0; i < bias->cols; i++)
        bias->data[i] = scale * w->bias[i] + c->trial->ngram_shift;
    sl_linear_ngrams_set(&m, c->features, idf, w->sparse, scale);
}

/* One with room for the n-grams, one at least, and the encoder's values. */
static struct sl_model *with_ngrams(const struct sl_encoder_cascade *c, const float *idf,
                                    struct sl_err *err)
{
    const struct sl_arch *arch = sl_arch_find("cascade");
    const struct sl_ngram_choice *ngrams = &c->trial->recipe.ngrams;
    const int rows = sl_linear_ngram_rows(c->features, idf);
    struct sl_config config = c->tuned->config;

    const struct {
        const char *name;
        double value;
    } facts[] = {{"ngram_rows", rows > 0 ? rows : 1},
                 {"ngram_order", ngrams->order},
                 {"character_ngrams", ngrams->characters && rows > 0},
                 {"block_context", c->tuned->config.context_length},
                 {"block_beginning", (double)c->beginning},
                 {"ngram_scale", (double)c->trial->ngram_weight / c->calibration->temperature},
                 {"context_length", c->context}};

    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (!sl_param_set(sl_param_find(arch->hypers, facts[i].name), &config, facts[i].value, err))
            return NULL;
    if (!sl_config_check(arch, &config, err))
        return NULL;
    struct sl_model *model = sl_model_create(c->tuned->engine, arch, &config, err);
    for (int i = 0; model && i < c->tuned->state_dict_count; i++)
        sl_parameter_copy(sl_model_find(model, c->tuned->state_dict[i].name),
                          &c->tuned->state_dict[i]);
    return model;
}

static struct sl_model *fit(const struct sl_encoder_cascade *c, struct sl_linear_problem *q,
                            struct sl_logistic_weights *w, struct sl_err *err)
{
    static const double tolerance = 1e-6;
    q->p.tolerance = tolerance;
    if (!sl_logistic_weights_open(w, &q->p, err) || !sl_logistic_fit(&q->p, w, err))
        return NULL;
    struct sl_model *model = with_ngrams(c, q->idf, err);
    if (model)
        set_ngrams(c, model, w, q->idf);
    return model;
}

/* ---- thresholds ------------------------------------------------------------------------------ */

/* One text: what each answer would cost, and how sure the first part is. */
struct answer {
    float score;
    float loss[2]; /* of the first part, of both */
    bool right[2];
    int tokens; /* that the second part reads */
};

struct answers {
    const struct sl_encoder_cascade *c;
    const struct sl_model *model;
    struct answer *items;
    float *logits; /* of one text */
    int classes;
};

/* Of one answer, whose probabilities are in `logits`. */
static bool is_right(const struct answers *a, struct sl_label_list labels)
{
    int predicted[SL_LABELS_MAX];
    struct sl_label_counts n = {0};
    sl_label_counts_add(&n, labels, predicted, sl_model_predicted(a->model, a->logits, predicted));
    return n.texts_right > 0;
}

/* Sets the logits to the n-grams' own, as the model has them. */
static void set_alone(const struct answers *a, size_t at)
{
    const float scale = alone_scale(a->c->trial), shift = a->c->trial->ngram_shift;
    for (int i = 0; i < a->classes; i++)
        a->logits[i] = scale * a->c->evidence->ngrams[at + (size_t)i] + shift;
}

static void set_sum(const struct answers *a, size_t at)
{
    const struct sl_linear_trial *trial = a->c->trial;
    for (int i = 0; i < a->classes; i++)
        a->logits[i] = trial->encoder_scale * a->c->evidence->encoder[at + (size_t)i] +
                       trial->ngram_scale * a->c->evidence->ngrams[at + (size_t)i];
}

static void answer_text(const struct answers *a, int number)
{
    const struct sl_encoder_cascade *c = a->c;
    const int text = c->evidence->texts[number];
    const size_t at = (size_t)text * (size_t)a->classes;
    const struct sl_label_list labels = sl_label_list(&c->set->label_lists, text);
    const struct sl_calibration done = {.temperature = 1.0,
                                        .independent = c->calibration->independent};
    struct answer *answer = &a->items[number];
    set_alone(a, at);
    answer->score = sl_cascade_score(a->model, a->logits);
    answer->loss[0] = (float)sl_calibrate(&done, a->logits, a->classes, labels, a->logits);
    answer->right[0] = is_right(a, labels);
    set_sum(a, at);
    answer->loss[1] = (float)sl_calibrate(c->calibration, a->logits, a->classes, labels, a->logits);
    answer->right[1] = is_right(a, labels);
    answer->tokens = sl_min(c->set->examples[text].tokens, c->tuned->config.context_length);
}

static struct sl_operating_point measure(const struct answers *a, double threshold)
{
    const int count = a->c->evidence->count;
    double loss = 0.0, right = 0.0, asked = 0.0, all = 0.0;
    for (int i = 0; i < count; i++) {
        const struct answer *answer = &a->items[i];
        const bool asks = (double)answer->score <= threshold;
        loss += (double)answer->loss[asks];
        right += answer->right[asks] ? 1.0 : 0.0;
        asked += asks ? (double)answer->tokens : 0.0;
        all += (double)answer->tokens;
    }
    return (struct sl_operating_point){.threshold = threshold,
                                       .loss = loss / count,
                                       .accuracy = right / count,
                                       .layer_ops_skipped = 1.0 - asked / all};
}

/* How much the mean loss rises at a threshold, and its standard error more. */
static double highest_cost(const struct answers *a, double threshold)
{
    const double count = (double)a->c->evidence->count;
    double sum = 0.0, squares = 0.0;
    for (int i = 0; i < a->c->evidence->count; i++) {
        const struct answer *answer = &a->items[i];
        const double rise = (double)answer->loss[0] - (double)answer->loss[1];
        if ((double)answer->score <= threshold)
            continue;
        sum += rise;
        squares += rise * rise;
    }
    const double mean = sum / count;
    return mean + sqrt(fmax(0.0, squares / count - mean * mean) / count);
}

/* n-grams cost little, but not nothing. */
static double budget_of(const struct sl_operating_point *point)
{
    static const double of_ngrams = 0.02;
    return of_ngrams + (1.0 - of_ngrams) * (1.0 - point->layer_ops_skipped);
}

static double rounded(double x)
{
    static const double unit = 1e-4;
    return round(x / unit) * unit;
}

/* Points that save something and cost at most a tenth of the loss. The default is the cheapest
 * before the first that may cost anything: what seems to cost nothing may do so by chance. */
static void choose_points(const struct answers *a, struct sl_model *model)
{
    static const double thresholds[] = {0.999, 0.998, 0.995, 0.99, 0.98, 0.97, 0.95, 0.93,
                                        0.9,   0.85,  0.8,   0.75, 0.7,  0.6,  0.5};
    static const double loss_most = 1.1, worth = 0.95;
    struct sl_operating_point points[SL_OPERATING_POINTS_MAX] = {measure(a, 1.0)};
    const struct sl_operating_point all = points[0];
    double chosen = 1.0;
    bool is_free = true;
    int count = 1;
    points[0].budget = 1.0;
    for (size_t i = 0; i < sizeof thresholds / sizeof *thresholds; i++) {
        struct sl_operating_point point = measure(a, thresholds[i]);
        point.budget = rounded(budget_of(&point));
        is_free =
            is_free && highest_cost(a, thresholds[i]) <= 0.0 && point.accuracy >= all.accuracy;
        if (point.loss > loss_most * all.loss || point.budget > worth * points[count - 1].budget)
            continue;
        chosen = is_free ? point.threshold : chosen;
        points[count++] = point;
    }
    for (int i = 0; i < count; i++) {
        points[i].loss = rounded(points[i].loss);
        points[i].accuracy = rounded(points[i].accuracy);
        points[i].layer_ops_skipped = rounded(points[i].layer_ops_skipped);
    }
    model->policy = sl_model_policy_at(model, chosen);
    if (count > 1)
        sl_model_set_operating_points(model, points, count);
}

static bool set_points(const struct sl_encoder_cascade *c, struct sl_model *model,
                       struct sl_err *err)
{
    if (c->evidence->count == 0)
        return true;
    const size_t texts = (size_t)c->evidence->count, classes = (size_t)c->set->labels.count;
    struct answers a = {.c = c,
                        .model = model,
                        .items = calloc(texts, sizeof *a.items),
                        .logits = calloc(classes, sizeof *a.logits),
                        .classes = c->set->labels.count};
    const bool ok = a.items && a.logits;
    for (int i = 0; ok && i < c->evidence->count; i++)
        answer_text(&a, i);
    if (ok)
        choose_points(&a, model);
    free(a.items);
    free(a.logits);
    return ok || sl_fail(err, SL_NO_MEMORY, "no memory for the answers of %zu texts", texts);
}

struct sl_model *sl_encoder_cascade_create(const struct sl_encoder_cascade *c, struct sl_err *err)
{
    const struct sl_linear_texts texts = {.kernels = c->tuned->kernels,
                                          .features = c->features,
                                          .labels = &c->set->label_lists,
                                          .classes = c->set->labels.count,
                                          .rows = c->rows,
                                          .count = c->set->count};
    struct sl_linear_problem q = {0};
    struct sl_logistic_weights w = {0};
    struct sl_model *model = NULL;
    if (sl_linear_problem_open(&q, &texts, &c->trial->recipe, err))
        model = fit(c, &q, &w, err);
    sl_logistic_weights_close(&w);
    sl_linear_problem_close(&q);
    if (!model || set_points(c, model, err))
        return model;
    sl_model_close(model);
    return NULL;
}
