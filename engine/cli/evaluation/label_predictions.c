/* label_predictions.c - see label_predictions.h. */
#include "cli/evaluation/label_predictions.h"

#include "base/dynarray.h"
#include "cli/evaluation/label_metrics.h"
#include "sluice/classifier.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* ---- the list -------------------------------------------------------------------------------- */

static void add(struct label_predictions *p, struct label_prediction one)
{
    p->failed =
        p->failed || p->count == INT_MAX ||
        !sl_dynarray_reserve(&p->list, &p->room, (size_t)p->count + 1, sizeof *p->list, NULL);
    if (!p->failed)
        p->list[p->count++] = one;
}

static void add_to_bin(struct label_predictions *p, float score, bool right)
{
    int at = (int)fmin(CALIBRATION_BINS - 1, floor((double)score * CALIBRATION_BINS));
    p->bins[at].count++;
    p->bins[at].right += right;
    p->bins[at].score += (double)score;
}

static bool add_single(struct label_predictions *p, int example, const float *scores)
{
    const int predicted = sl_argmax(scores, p->classes);
    const int32_t label = sl_label_only(&p->set->label_lists, example);
    add(p, (struct label_prediction){.example = example,
                                     .label = label,
                                     .predicted = predicted,
                                     .score = scores[predicted]});
    add_to_bin(p, scores[predicted], predicted == label);
    return predicted == label;
}

static bool add_several(struct label_predictions *p, int example, const float *scores)
{
    const struct sl_label_list labels = sl_label_list(&p->set->label_lists, example);
    bool right = true;
    for (int c = 0, at = 0; c < p->classes; c++) {
        const bool has = sl_label_list_next(labels, &at, c),
                   predicted = scores[c] >= SL_LABEL_SCORE_MIN;
        if (has || predicted)
            add(p, (struct label_prediction){.example = example,
                                             .label = has ? c : -1,
                                             .predicted = predicted ? c : -1,
                                             .score = scores[c]});
        add_to_bin(p, scores[c], has);
        right = right && has == predicted;
    }
    return right;
}

static void add_text(void *context, int example, const float *scores)
{
    struct label_predictions *p = context;
    p->texts++;
    p->texts_right +=
        p->set->multi_label ? add_several(p, example, scores) : add_single(p, example, scores);
}

static bool check(const struct label_predictions *p, struct sl_err *err)
{
    return !p->failed ||
           sl_fail(err, SL_NO_MEMORY, "no memory for the predictions of %d texts", p->set->count);
}

bool label_predictions_of_search(struct label_predictions *p, const struct sl_linear_training *l,
                                 struct sl_err *err)
{
    *p = (struct label_predictions){.set = &l->set, .classes = l->set.labels.count};
    for (int i = 0; i < l->set.count; i++)
        if (sl_linear_search_has(&l->search, i))
            add_text(p, i, l->search.probabilities + (size_t)i * (size_t)p->classes);
    return check(p, err);
}

bool label_predictions_of_model(struct label_predictions *p, const struct sl_model *model,
                                const struct sl_dataset *set, const struct sl_policy *policy,
                                struct sl_evaluation *evaluation, struct sl_err *err)
{
    const struct sl_score_visitor visitor = {.visit = add_text, .context = p};
    *p = (struct label_predictions){.set = set, .classes = model->config.classes};
    return sl_evaluate_labelled(model, set, policy, evaluation, &visitor, err) && check(p, err);
}

void label_predictions_close(struct label_predictions *p)
{
    free(p->list);
    *p = (struct label_predictions){0};
}

/* ---- quality --------------------------------------------------------------------------------- */

/* Guo et al. 2017, section 2: the mean over bins of |accuracy - score|. */
static double calibration_error(const struct label_predictions *p)
{
    double error = 0.0;
    int64_t count = 0;
    for (int i = 0; i < CALIBRATION_BINS; i++) {
        error += fabs((double)p->bins[i].right - p->bins[i].score);
        count += p->bins[i].count;
    }
    return error / (double)count;
}

/* Quantile of the normal distribution for an interval of 95 %. */
static const double z = 1.959964;

/* The 95 % interval of the fraction correct / count. Wilson 1927. */
static void wilson_interval(int correct, int count, double *low, double *high)
{
    const double n = count, p = correct / n;
    double centre = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    double half = z / (1.0 + z * z / n) * sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n));
    *low = fmax(centre - half, 0.0);
    *high = fmin(centre + half, 1.0);
}

static double macro_f1(const struct label_metrics *labels, int classes)
{
    double sum = 0.0;
    int occur = 0;
    for (int c = 0; c < classes; c++) {
        const struct label_metrics *label = &labels[c];
        if (label->texts == 0)
            continue;
        sum += 2.0 * label->correct / (label->texts + label->predicted);
        occur++;
    }
    return occur > 0 ? sum / occur : 0.0;
}

static double micro_f1(const struct label_metrics *labels, int classes)
{
    struct sl_label_counts all = {0};
    for (int c = 0; c < classes; c++) {
        all.labels += labels[c].texts;
        all.predicted += labels[c].predicted;
        all.right += labels[c].correct;
    }
    return sl_label_counts_micro_f1(&all);
}

void prediction_quality_measure(struct prediction_quality *q, const struct label_predictions *p,
                                const struct label_metrics *labels)
{
    *q = (struct prediction_quality){.texts = p->texts, .correct = p->texts_right};
    q->micro_f1 = micro_f1(labels, p->classes);
    q->macro_f1 = macro_f1(labels, p->classes);
    q->calibration = calibration_error(p);
    wilson_interval(q->correct, q->texts, &q->low, &q->high);
}

/* ---- the least score ------------------------------------------------------------------------- */

static int compare_scores(const void *a, const void *b)
{
    const struct label_prediction *x = a, *y = b;
    return (x->score < y->score) - (x->score > y->score);
}

/* Scores are cut to the digits that are printed: those who take the printed score as a limit get
 * just the labels that were counted. */
static const double score_steps = 1e4;

/* all: from the highest score on. Where all are right enough, no score is needed; the lowest one
 * would only drop predictions of texts to come. */
static void choose_score(struct least_score *least, const struct label_prediction *all)
{
    for (int i = 0, right = 0; i < least->predicted; i++) {
        double low, high;
        const bool last = i + 1 == least->predicted;
        right += all[i].label == all[i].predicted;
        if (!last && all[i + 1].score >= all[i].score)
            continue;
        wilson_interval(right, i + 1, &low, &high);
        least->attainable = fmax(least->attainable, low);
        if (low < least->precision)
            continue;
        least->reached = i + 1;
        least->right = right;
        least->low = low;
        least->high = high;
        least->score = last ? 0.0 : (double)all[i].score / score_steps;
    }
}

bool least_score_find(struct least_score *least, const struct label_predictions *p,
                      double precision, struct sl_err *err)
{
    /* Of n labels that are all right, the interval begins at n / (n + z^2). */
    *least = (struct least_score){.precision = precision,
                                  .needed = (int)ceil(z * z * precision / (1.0 - precision))};
    struct label_prediction *all = malloc(((size_t)p->count + 1) * sizeof *all);
    if (!all)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %d scores", p->count);
    for (int i = 0; i < p->count; i++) {
        if (p->list[i].predicted < 0)
            continue;
        all[least->predicted] = p->list[i];
        all[least->predicted++].score = (float)floor((double)p->list[i].score * score_steps);
    }
    qsort(all, (size_t)least->predicted, sizeof *all, compare_scores);
    choose_score(least, all);
    free(all);
    return true;
}
