/* automatic_report.h - what a training without an architecture found: the texts, the recipes that
 * it tried, and how good the chosen one is on texts left out of training. */
#pragma once

#include "cli/label_metrics.h"
#include "train/linear_training.h"

/* Texts, labels, duplicates and contradictions. */
void automatic_report_texts(const struct sl_linear_training *l, const char *why_no_base, bool json);

/* A line for the last trial. context: a bool, whether JSON is wanted. */
void automatic_report_trial(void *context, const struct sl_linear_search *search);

struct automatic_report {
    const struct sl_linear_training *l;
    struct label_metrics *labels;
    int texts, correct;       /* that were predicted */
    double low, high;         /* 95 % interval of the accuracy (Wilson 1927) */
    double loss, calibration; /* expected calibration error of the predicted label, 15 bins */
    /* Predictions with at least this score have this precision, and are this many; 0: none has. */
    double least_precision, least_score;
    int confident;
};

/* least_precision: 0: no least score is wanted. */
bool automatic_report_open(struct automatic_report *report, const struct sl_linear_training *l,
                           double least_precision, struct sl_err *err) SL_MUST_CHECK;
void automatic_report_close(struct automatic_report *report);
void automatic_report_print(const struct automatic_report *report, const char *directory,
                            bool json);
/* A JSON object for config.json; free() it. */
char *automatic_report_provenance(const struct automatic_report *report, const char *data,
                                  struct sl_err *err) SL_MUST_CHECK;
