/* eval_labels.c - see eval_labels.h. */
#include "tools/eval_labels.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_COLUMNS_MAX = 32 };

/* Of the texts that have a label, counts of what they were taken for. */
static void judge(struct eval_label *found, int label, const int *counts, int classes)
{
    found->right = counts[label];
    found->mistaken_for = -1;
    for (int c = 0; c < classes; c++)
        if (c != label && counts[c] > found->mistaken) {
            found->mistaken = counts[c];
            found->mistaken_for = c;
        }
}

struct eval_label *eval_labels_count(const struct sl_dataset *set, const int32_t *taken_for,
                                     int classes, struct sl_err *err)
{
    size_t count = (size_t)classes;
    struct eval_label *labels = calloc(count, sizeof *labels);
    int *confusion = calloc(count * count, sizeof *confusion); /* a row for each label */
    if (!labels || !confusion) {
        sl_fail(err, SL_NO_MEMORY, "no memory to count %d labels", classes);
        free(labels);
        free(confusion);
        return NULL;
    }
    for (int i = 0; i < set->count; i++) {
        size_t label = (size_t)set->examples[i].label;
        labels[label].texts++;
        labels[taken_for[i]].predicted++;
        confusion[label * count + (size_t)taken_for[i]]++;
    }
    for (int c = 0; c < classes; c++)
        judge(&labels[c], c, confusion + (size_t)c * count, classes);
    free(confusion);
    return labels;
}

/* Of the texts that have the label those that were found, and of those taken for it the right ones.
 * NAN: there is none. */
static double recall(const struct eval_label *label)
{
    return label->texts > 0 ? (double)label->right / label->texts : (double)NAN;
}

static double precision(const struct eval_label *label)
{
    return label->predicted > 0 ? (double)label->right / label->predicted : (double)NAN;
}

static void print_share(double share)
{
    if (isfinite(share))
        printf("%10.2f %%", 100.0 * share);
    else
        printf("%12s", "-");
}

void eval_labels_print(const struct sl_model *m, const struct eval_label *labels)
{
    int width = (int)strlen("label");
    for (int c = 0; c < m->config.classes; c++)
        width = (int)fmax(width, fmin(NAME_COLUMNS_MAX, (double)strlen(m->labels[c])));
    printf("%-*s %8s %12s%12s  mostly mistaken for\n", width, "label", "texts", "recall",
           "precision");
    for (int c = 0; c < m->config.classes; c++) {
        const struct eval_label *label = &labels[c];
        printf("%-*s %8d ", width, m->labels[c], label->texts);
        print_share(recall(label));
        print_share(precision(label));
        if (label->mistaken_for >= 0)
            printf("  %s (%d)", m->labels[label->mistaken_for], label->mistaken);
        printf("\n");
    }
}

static json_t *share_json(double share)
{
    return isfinite(share) ? json_real(share) : json_null();
}

json_t *eval_labels_json(const struct sl_model *m, const struct eval_label *labels)
{
    json_t *list = json_array();
    for (int c = 0; c < m->config.classes; c++) {
        const struct eval_label *label = &labels[c];
        json_t *worst =
            label->mistaken_for >= 0 ? json_string(m->labels[label->mistaken_for]) : json_null();
        (void)json_array_append_new(
            list, json_pack("{s:s, s:i, s:i, s:i, s:o, s:o, s:o, s:i}", "label", m->labels[c],
                            "texts", label->texts, "correct", label->right, "predicted",
                            label->predicted, "recall", share_json(recall(label)), "precision",
                            share_json(precision(label)), "most_confused_with", worst, "confused",
                            label->mistaken));
    }
    return list;
}
