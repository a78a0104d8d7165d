/* label_predictions.h - the labels that a model predicts for texts that it has not learnt from, and
 * how good these predictions are. */
#pragma once

#include "data/dataset.h"
#include "linear/linear_training.h"
#include "train/evaluate.h"

/* A text's label, and what was predicted; of several labels each. */
struct label_prediction {
    int32_t example; /* its number in the set */
    int32_t label,
        predicted; /* -1: where texts may have several labels, the one is not the other */
    float score;   /* the probability of the predicted label, else of the label */
};

enum { CALIBRATION_BINS = 15 };

/* Predictions with similar scores. */
struct calibration_bin {
    int64_t count, right;
    double score; /* their sum */
};

struct label_predictions {
    const struct sl_dataset *set;
    struct label_prediction *list; /* in the order of texts */
    int count, classes;
    size_t room;
    bool failed;            /* memory was lacking */
    int texts, texts_right; /* all labels of which are */
    /* By score, of equal width: of each text the predicted label; where it may have several, every
     * label that there is, and whether it has it. */
    struct calibration_bin bins[CALIBRATION_BINS];
};

/* From the cross-validation. */
bool label_predictions_of_search(struct label_predictions *predictions,
                                 const struct sl_linear_training *l, struct sl_err *err)
    SL_MUST_CHECK;
/* Of an evaluation of the set, by the model. */
bool label_predictions_of_model(struct label_predictions *predictions, const struct sl_model *model,
                                const struct sl_dataset *set, const struct sl_policy *policy,
                                struct sl_evaluation *evaluation, struct sl_err *err) SL_MUST_CHECK;
void label_predictions_close(struct label_predictions *predictions); /* a zeroed one is fine */
