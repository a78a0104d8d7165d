/* calibration.h - turns logits of texts that a model has not seen into probabilities that are right
 * as often as they say.
 *
 *     p_c is proportional to exp(z_c / temperature)                       with exponent 0
 *                            softplus(z_c / temperature + shift)^exponent  else
 *     p_c = sigmoid(z_c / temperature + shift)                   if labels are independent
 *
 * The first is temperature scaling (Guo et al., "On Calibration of Modern Neural Networks", 2017).
 * The second keeps the order of labels, too, and suits scores of the squared loss: they do not grow
 * like logarithms of probabilities. It becomes the first as the shift goes to minus infinity. The
 * last is Platt scaling (Platt, "Probabilistic Outputs for Support Vector Machines", 1999), the
 * same for all labels. */
#pragma once

#include "data/label_lists.h"

struct sl_calibration {
    double temperature, shift, exponent;
    bool independent; /* any number of labels may be right, not exactly one */
};

/* Rows of a matrix of logits, and the labels of all rows. */
struct sl_predictions {
    const float *logits; /* a row per text, `classes` columns */
    const struct sl_label_lists *labels;
    const int32_t *rows; /* which of them were predicted */
    int count, classes;
    bool independent; /* as above */
    int stride;       /* only every so many-th row counts; 0: every one */
};

/* Sets the probabilities of one text (p may be NULL or the logits) and returns -log p of its
 * labels: that these are right and, if labels are independent, that the others are not. */
double sl_calibrate(const struct sl_calibration *c, const float *logits, int classes,
                    struct sl_label_list labels, float *p);

/* The mean of that. */
double sl_calibration_loss(const struct sl_calibration *c,
                           const struct sl_predictions *predictions);

/* Minimize that loss: with the temperature alone, and then with shift and exponent, on a part of
 * very many rows or labels. Both use temperature and shift if labels are independent. */
struct sl_calibration sl_calibration_fit_temperature(const struct sl_predictions *predictions);
struct sl_calibration sl_calibration_fit(const struct sl_predictions *predictions);
