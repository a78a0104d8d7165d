/* label_metrics.c - see label_metrics.h. */
#include "cli/evaluation/label_metrics.h"

#include "cli/evaluation/label_names.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_COLUMNS_MAX = 32 };

/* counts: how often each class was predicted for the texts of this label. */
static void summarize(struct label_metrics *found, int label, const int *counts, int classes)
{
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

static bool find_confused(struct label_metrics *labels, const struct label_predictions *p,
                          struct sl_err *err)
{
    int *confusion = label_confusion_count(p, err);
    for (int c = 0; confusion && c < p->classes; c++)
        summarize(&labels[c], c, confusion + (size_t)c * (size_t)p->classes, p->classes);
    free(confusion);
    return confusion != NULL;
}

struct label_metrics *label_metrics_count(const struct label_predictions *p, struct sl_err *err)
{
    struct label_metrics *labels = calloc((size_t)p->classes, sizeof *labels);
    if (!labels) {
        sl_fail(err, SL_NO_MEMORY, "no memory to count %d labels", p->classes);
        return NULL;
    }
    for (int c = 0; c < p->classes; c++)
        labels[c].confused_with = -1;
    for (int i = 0; i < p->count; i++) {
        const struct label_prediction *one = &p->list[i];
        if (one->label >= 0)
            labels[one->label].texts++;
        if (one->predicted >= 0)
            labels[one->predicted].predicted++;
        if (one->label == one->predicted)
            labels[one->label].correct++;
    }
    if (p->set->multi_label || find_confused(labels, p, err))
        return labels;
    free(labels);
    return NULL;
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
    char name[LABEL_QUOTED];
    int width = (int)strlen("label");
    for (int c = 0; c < m->config.classes; c++) {
        const size_t bytes = strlen(label_quoted(m->labels[c], name));
        width = (int)fmax(width, fmin(NAME_COLUMNS_MAX, (double)bytes));
    }
    printf("%-*s %8s %12s%12s%s\n", width, "label", "texts", "recall", "precision",
           m->config.multi_label ? "" : "  most confused with");
    for (int c = 0; c < m->config.classes; c++) {
        const struct label_metrics *label = &labels[c];
        printf("%-*s %8d ", width, label_quoted(m->labels[c], name), label->texts);
        print_fraction(label_recall(label));
        print_fraction(label_precision(label));
        if (label->confused_with >= 0)
            printf("  %s (%d)", label_quoted(m->labels[label->confused_with], name),
                   label->confused);
        printf("\n");
    }
}

static json_t *fraction_json(double fraction)
{
    return isfinite(fraction) ? json_real(fraction) : json_null();
}

static void add_confused(json_t *o, const struct sl_model *m, const struct label_metrics *label)
{
    (void)json_object_set_new(
        o, "most_confused_with",
        label->confused_with >= 0 ? json_string(m->labels[label->confused_with]) : json_null());
    (void)json_object_set_new(o, "confused", json_integer(label->confused));
}

json_t *label_metrics_json(const struct sl_model *m, const struct label_metrics *labels)
{
    json_t *list = json_array();
    for (int c = 0; c < m->config.classes; c++) {
        const struct label_metrics *label = &labels[c];
        json_t *one = json_pack("{s:s, s:i, s:i, s:i, s:o, s:o}", "label", m->labels[c], "texts",
                                label->texts, "correct", label->correct, "predicted",
                                label->predicted, "recall", fraction_json(label_recall(label)),
                                "precision", fraction_json(label_precision(label)));
        if (!m->config.multi_label)
            add_confused(one, m, label);
        (void)json_array_append_new(list, one);
    }
    return list;
}
