/* label_metrics.h - recall, precision and confusion per label. */
#pragma once

#include "base/json_writer.h"
#include "cli/evaluation/label_predictions.h"
#include "model/model.h"

/* With more labels, nobody looks at a confusion matrix. */
enum { LABEL_CONFUSION_MAX = 20 };

struct label_metrics {
    int texts;         /* texts with this label */
    int correct;       /* of them, those predicted as this label */
    int predicted;     /* all texts predicted as this label */
    int confused_with; /* the wrong label predicted most often for texts of this one; -1: none, as
                          where texts may have several labels */
    int confused;      /* how often */
};

/* One element per class; free() the array. */
struct label_metrics *label_metrics_count(const struct label_predictions *predictions,
                                          struct sl_err *err) SL_MUST_CHECK;
/* How often each class (column) was predicted for the texts of each label (row), where each has one
 * label; free() it. */
int *label_confusion_count(const struct label_predictions *predictions, struct sl_err *err)
    SL_MUST_CHECK;
/* These counts as a JSON array of rows; null where there are too many labels to look at, or a text
 * may have several. */
void label_confusion_write(struct sl_json_writer *json,
                           const struct label_predictions *predictions);
/* NAN where there is nothing to divide by. */
double label_recall(const struct label_metrics *label);
double label_precision(const struct label_metrics *label);
/* Prints a table with one line per label. */
void label_metrics_print(const struct sl_model *m, const struct label_metrics *labels);
/* The same as a JSON array. */
void label_metrics_write(struct sl_json_writer *json, const struct sl_model *m,
                         const struct label_metrics *labels);
