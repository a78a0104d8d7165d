/* label_metrics.c - see label_metrics.h. */
#include "cli/label_metrics.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_COLUMNS_MAX = 32 };

/* counts: how often each class was predicted for the texts of this label. */
static void summarize(struct label_metrics *found, int label, const int *counts, int classes)
{
    found->correct = counts[label];
    found->confused_with = -1;
    for (int c = 0; c < classes; c++)
        if (c != label && counts[c] > found->confused) {
            found->confused = counts[c];
            found->confused_with = c;
        }
}

int *label_confusion_count(const struct label_predictions *p, struct sl_err *err)
{
    size_t classes = (size_t)p->classes;
    int *confusion = calloc(classes * classes, sizeof *confusion);
    if (!confusion)
        sl_fail(err, SL_NO_MEMORY, "no memory to count %d labels", p->classes);
    for (int i = 0; confusion && i < p->count; i++)
        confusion[(size_t)p->list[i].label * classes + (size_t)p->list[i].predicted]++;
    return confusion;
}

struct label_metrics *label_metrics_count(const struct label_predictions *p, struct sl_err *err)
{
    size_t classes = (size_t)p->classes;
    struct label_metrics *labels = calloc(classes, sizeof *labels);
    int *confusion = labels ? label_confusion_count(p, err) : NULL;
    if (!labels)
        sl_fail(err, SL_NO_MEMORY, "no memory to count %d labels", p->classes);
    if (!confusion) {
        free(labels);
        return NULL;
    }
    for (int i = 0; i < p->count; i++) {
        labels[p->list[i].label].texts++;
        labels[p->list[i].predicted].predicted++;
    }
    for (int c = 0; c < p->classes; c++)
        summarize(&labels[c], c, confusion + (size_t)c * classes, p->classes);
    free(confusion);
    return labels;
}

double label_recall(const struct label_metrics *label)
{
    return label->texts > 0 ? (double)label->correct / label->texts : (double)NAN;
}

double label_precision(const struct label_metrics *label)
{
    return label->predicted > 0 ? (double)label->correct / label->predicted : (double)NAN;
}

static void print_fraction(double fraction)
{
    if (isfinite(fraction))
        printf("%10.2f %%", 100.0 * fraction);
    else
        printf("%12s", "-");
}

void label_metrics_print(const struct sl_model *m, const struct label_metrics *labels)
{
    int width = (int)strlen("label");
    for (int c = 0; c < m->config.classes; c++)
        width = (int)fmax(width, fmin(NAME_COLUMNS_MAX, (double)strlen(m->labels[c])));
    printf("%-*s %8s %12s%12s  most confused with\n", width, "label", "texts", "recall",
           "precision");
    for (int c = 0; c < m->config.classes; c++) {
        const struct label_metrics *label = &labels[c];
        printf("%-*s %8d ", width, m->labels[c], label->texts);
        print_fraction(label_recall(label));
        print_fraction(label_precision(label));
        if (label->confused_with >= 0)
            printf("  %s (%d)", m->labels[label->confused_with], label->confused);
        printf("\n");
    }
}

static json_t *fraction_json(double fraction)
{
    return isfinite(fraction) ? json_real(fraction) : json_null();
}

json_t *label_metrics_json(const struct sl_model *m, const struct label_metrics *labels)
{
    json_t *list = json_array();
    for (int c = 0; c < m->config.classes; c++) {
        const struct label_metrics *label = &labels[c];
        json_t *worst =
            label->confused_with >= 0 ? json_string(m->labels[label->confused_with]) : json_null();
        (void)json_array_append_new(
            list, json_pack("{s:s, s:i, s:i, s:i, s:o, s:o, s:o, s:i}", "label", m->labels[c],
                            "texts", label->texts, "correct", label->correct, "predicted",
                            label->predicted, "recall", fraction_json(label_recall(label)),
                            "precision", fraction_json(label_precision(label)),
                            "most_confused_with", worst, "confused", label->confused));
    }
    return list;
}
