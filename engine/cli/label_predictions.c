/* label_predictions.c - see label_predictions.h. */
#include "cli/label_predictions.h"

#include "cli/label_metrics.h"
#include "sluice/logits.h"

#include <math.h>
#include <stdlib.h>

static bool begin(struct label_predictions *p, const struct sl_dataset *set, int classes,
                  struct sl_err *err)
{
    *p = (struct label_predictions){.set = set, .classes = classes};
    p->list = calloc((size_t)set->count, sizeof *p->list);
    return p->list ||
           sl_fail(err, SL_NO_MEMORY, "no memory for the predictions of %d texts", set->count);
}

bool label_predictions_of_search(struct label_predictions *p, const struct sl_linear_training *l,
                                 struct sl_err *err)
{
    const int classes = l->set.labels.count;
    if (!begin(p, &l->set, classes, err))
        return false;
    for (int i = 0; i < l->set.count; i++) {
        const float *row = l->search.probabilities + (size_t)i * (size_t)classes;
        if (!sl_linear_search_has(&l->search, i))
            continue;
        int predicted = sl_argmax(row, classes);
        p->list[p->count++] = (struct label_prediction){.example = i,
                                                        .label = l->set.examples[i].label,
                                                        .predicted = predicted,
                                                        .score = row[predicted]};
    }
    return true;
}

bool label_predictions_of_evaluation(struct label_predictions *p, const struct sl_dataset *set,
                                     const struct sl_predicted_label *labels, int classes,
                                     struct sl_err *err)
{
    if (!begin(p, set, classes, err))
        return false;
    for (int i = 0; i < set->count; i++)
        p->list[p->count++] = (struct label_prediction){.example = i,
                                                        .label = set->examples[i].label,
                                                        .predicted = labels[i].label,
                                                        .score = labels[i].score};
    return true;
}

void label_predictions_close(struct label_predictions *p)
{
    free(p->list);
    *p = (struct label_predictions){0};
}

/* ---- quality --------------------------------------------------------------------------------- */

static bool is_right(const struct label_prediction *prediction)
{
    return prediction->label == prediction->predicted;
}

/* Guo et al. 2017, section 2: the mean over bins of |accuracy - score|. */
static void fill_bins(struct prediction_quality *q, const struct label_predictions *p)
{
    double sum[CALIBRATION_BINS] = {0}, error = 0.0;
    for (int i = 0; i < p->count; i++) {
        double score = (double)p->list[i].score;
        int at = (int)fmin(CALIBRATION_BINS - 1, floor(score * CALIBRATION_BINS));
        q->bins[at].texts++;
        q->bins[at].correct += is_right(&p->list[i]);
        sum[at] += score;
    }
    for (int i = 0; i < CALIBRATION_BINS; i++) {
        struct calibration_bin *bin = &q->bins[i];
        error += fabs(bin->correct - sum[i]);
        bin->score = bin->texts > 0 ? sum[i] / bin->texts : 0.0;
    }
    q->calibration = error / p->count;
}

/* Wilson 1927. */
static void set_interval(struct prediction_quality *q)
{
    const double z = 1.959964, n = q->texts, p = q->correct / n;
    double centre = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    double half = z / (1.0 + z * z / n) * sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n));
    q->low = fmax(centre - half, 0.0);
    q->high = fmin(centre + half, 1.0);
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
    return sum / occur;
}

void prediction_quality_measure(struct prediction_quality *q, const struct label_predictions *p,
                                const struct label_metrics *labels)
{
    *q = (struct prediction_quality){.texts = p->count};
    for (int i = 0; i < p->count; i++)
        q->correct += is_right(&p->list[i]);
    q->macro_f1 = macro_f1(labels, p->classes);
    set_interval(q);
    fill_bins(q, p);
}

/* ---- the least score ------------------------------------------------------------------------- */

static int compare_scores(const void *a, const void *b)
{
    const struct label_prediction *x = a, *y = b;
    return (x->score < y->score) - (x->score > y->score);
}

bool least_score_find(struct least_score *least, const struct label_predictions *p,
                      double precision, struct sl_err *err)
{
    *least = (struct least_score){.precision = precision};
    struct label_prediction *all = malloc(((size_t)p->count + 1) * sizeof *all);
    if (!all)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %d scores", p->count);
    for (int i = 0; i < p->count; i++)
        all[i] = p->list[i];
    qsort(all, (size_t)p->count, sizeof *all, compare_scores);
    for (int i = 0, right = 0; i < p->count; i++) {
        right += is_right(&all[i]);
        bool ties = i + 1 < p->count && all[i + 1].score >= all[i].score;
        if (ties || right < precision * (i + 1))
            continue;
        least->texts = i + 1;
        least->score = (double)all[i].score;
    }
    free(all);
    return true;
}
