/* learning_curve.h - would more texts help? The accuracy of the same predictions by models that are
 * fitted to an eighth, a quarter, half and all of the texts that they may learn from. */
#pragma once

#include "data/dataset.h"

enum { SL_LEARNING_PARTS = 8, SL_LEARNING_POINTS = 4 };

struct sl_learning_point {
    int texts; /* that a model was fitted to; the mean over folds */
    double accuracy;
};

struct sl_learning_curve {
    struct sl_learning_point points[SL_LEARNING_POINTS]; /* the last one: of all texts */
    int count;                                           /* 0: there are too few texts */
    /* How much the accuracy changed with the last doubling of the number of texts, and two standard
     * errors of that. Models predict the same texts, so only those count that one gets right and
     * the other wrong. Earlier doublings say little of the next one: curves become flat. */
    double gain, chance;
};

/* Sets which of SL_LEARNING_PARTS parts each text is in: each label's texts are dealt out at
 * random, so that the first parts are a smaller data set of the same kind. */
bool sl_learning_parts(const struct sl_dataset *set, int8_t *part, struct sl_err *err)
    SL_MUST_CHECK;

/* Adds a point; points have ever more texts. */
void sl_learning_curve_add(struct sl_learning_curve *curve, int texts, double accuracy);

/* The accuracy with twice as many texts, if the error goes on to fall by the same factor as with
 * the last doubling. Of a curve with two points or more. */
double sl_learning_curve_forecast(const struct sl_learning_curve *curve);
