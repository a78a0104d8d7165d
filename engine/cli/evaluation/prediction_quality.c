/* prediction_quality.c - accuracy, F1, calibration and the score to trust. */
#include "cli/evaluation/prediction_quality.h"

#include <math.h>
#include <stdlib.h>

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

/* ---- the minimum score ----------------------------------------------------------------------- */

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
static void choose_score(struct minimum_score *minimum, const struct label_prediction *all)
{
    for (int i = 0, right = 0; i < minimum->predicted; i++) {
        double low, high;
        const bool last = i + 1 == minimum->predicted;
        right += all[i].label == all[i].predicted;
        if (!last && all[i + 1].score >= all[i].score)
            continue;
        wilson_interval(right, i + 1, &low, &high);
        minimum->attainable = fmax(minimum->attainable, low);
        if (low < minimum->precision)
            continue;
        minimum->reached = i + 1;
        minimum->right = right;
        minimum->low = low;
        minimum->high = high;
        minimum->score = last ? 0.0 : (double)all[i].score / score_steps;
    }
}

bool minimum_score_find(struct minimum_score *minimum, const struct label_predictions *p,
                        double precision, struct sl_err *err)
{
    /* Of n labels that are all right, the interval begins at n / (n + z^2). */
    *minimum = (struct minimum_score){.precision = precision,
                                      .needed = (int)ceil(z * z * precision / (1.0 - precision))};
    struct label_prediction *all = malloc(((size_t)p->count + 1) * sizeof *all);
    if (!all)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %d scores", p->count);
    for (int i = 0; i < p->count; i++) {
        if (p->list[i].predicted < 0)
            continue;
        all[minimum->predicted] = p->list[i];
        all[minimum->predicted++].score = (float)floor((double)p->list[i].score * score_steps);
    }
    qsort(all, (size_t)minimum->predicted, sizeof *all, compare_scores);
    choose_score(minimum, all);
    free(all);
    return true;
}
