/* prediction_quality.h - how good predictions are as a whole, and from which score on. */
#pragma once

#include "cli/evaluation/label_metrics.h"

struct prediction_quality {
    int texts, correct; /* correct: all labels are right */
    double low, high;   /* 95 % interval of the accuracy (Wilson 1927) */
    double calibration; /* expected calibration error of what the bins hold */
    double micro_f1;    /* over all labels of all texts */
    double macro_f1;    /* mean over the labels that occur */
};

/* labels: the metrics of the same predictions. */
void prediction_quality_measure(struct prediction_quality *quality,
                                const struct label_predictions *predictions,
                                const struct label_metrics *labels);

/* The lowest score of at most four decimals from which on so many predicted labels are right that
 * the 95 % interval (Wilson 1927) of this fraction begins at the precision or above. A fraction of
 * few labels may be high by chance: a thousand scores are tried, and some of them end well. */
struct minimum_score {
    double precision, score; /* the score is 0 if all predicted labels together are right enough */
    int reached, right;      /* labels with the score or more; 0: no score is high enough */
    double low, high;        /* the interval */
    int predicted;           /* labels in all */
    int needed;              /* labels that it takes at minimum, if all are right */
    double attainable;       /* the highest precision for which there is a score */
};

bool minimum_score_find(struct minimum_score *minimum, const struct label_predictions *predictions,
                        double precision, struct sl_err *err) SL_MUST_CHECK;
