/* label_metrics.c - counts right and confused predictions per label. */
#include "cli/evaluation/label_metrics.h"

#include "cli/evaluation/label_names.h"

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

static void write_counts(struct sl_json_writer *json, const int *counts, int classes)
{
    sl_json_begin_array(json);
    for (int c = 0; c < classes; c++)
        sl_json_add_int(json, counts[c]);
    sl_json_end_array(json);
}

void label_confusion_write(struct sl_json_writer *json, const struct label_predictions *p)
{
    if (p->set->multi_label || p->classes > LABEL_CONFUSION_MAX) {
        sl_json_add_null(json);
        return;
    }
    int *confusion = label_confusion_count(p, NULL);
    json->out->failed |= !confusion;
    sl_json_begin_array(json);
    for (int label = 0; confusion && label < p->classes; label++)
        write_counts(json, confusion + (size_t)label * (size_t)p->classes, p->classes);
    sl_json_end_array(json);
    free(confusion);
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

void label_metrics_write(struct sl_json_writer *json, const struct sl_model *m,
                         const struct label_metrics *labels)
{
    sl_json_begin_array(json);
    for (int c = 0; c < m->config.classes; c++) {
        const struct label_metrics *label = &labels[c];
        sl_json_add(json,
                    "{'label':%s,'texts':%d,'correct':%d,'predicted':%d,'recall':%f,"
                    "'precision':%f",
                    m->labels[c], label->texts, label->correct, label->predicted,
                    label_recall(label), label_precision(label));
        if (!m->config.multi_label)
            sl_json_add(json, "'most_confused_with':%s,'confused':%d",
                        label->confused_with >= 0 ? m->labels[label->confused_with] : NULL,
                        label->confused);
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
}
