/* label_predictions.h - the labels that a model predicts for texts that it has not learnt from, and
 * how good these predictions are. */
#pragma once

#include "data/dataset.h"
#include "train/evaluate.h"
#include "train/linear_training.h"

struct label_prediction {
    int32_t example; /* its number in the set */
    int32_t label, predicted;
    float score; /* of the predicted label: its probability */
};

struct label_predictions {
    const struct sl_dataset *set;
    struct label_prediction *list;
    int count, classes;
};

/* From the cross-validation. */
bool label_predictions_of_search(struct label_predictions *predictions,
                                 const struct sl_linear_training *l, struct sl_err *err)
    SL_MUST_CHECK;
/* From an evaluation of the set. */
bool label_predictions_of_evaluation(struct label_predictions *predictions,
                                     const struct sl_dataset *set,
                                     const struct sl_predicted_label *labels, int classes,
                                     struct sl_err *err) SL_MUST_CHECK;
void label_predictions_close(struct label_predictions *predictions); /* a zeroed one is fine */

enum { CALIBRATION_BINS = 15 };

/* Predictions with similar scores. */
struct calibration_bin {
    int texts, correct;
    double score; /* their mean */
};

struct prediction_quality {
    int texts, correct;
    double low, high;   /* 95 % interval of the accuracy (Wilson 1927) */
    double calibration; /* expected calibration error of the predicted label */
    double macro_f1;    /* mean over the labels that occur */
    struct calibration_bin bins[CALIBRATION_BINS]; /* by score, of equal width */
};

struct label_metrics;

/* labels: the metrics of the same predictions. */
void prediction_quality_measure(struct prediction_quality *quality,
                                const struct label_predictions *predictions,
                                const struct label_metrics *labels);

/* The lowest score from which on this fraction of the predictions is right, and how many reach it;
 * 0: there is none. */
struct least_score {
    double precision, score;
    int texts;
};

bool least_score_find(struct least_score *least, const struct label_predictions *predictions,
                      double precision, struct sl_err *err) SL_MUST_CHECK;
