/* calibration.h - turns logits of texts that a model has not seen into probabilities that are right
 * as often as they say.
 *
 *     p_c is proportional to exp(z_c / temperature)                       with exponent 0
 *                            softplus(z_c / temperature + shift)^exponent  else
 *
 * The first is temperature scaling (Guo et al., "On Calibration of Modern Neural Networks", 2017).
 * The second keeps the order of labels, too, and suits scores of the squared loss: they do not grow
 * like logarithms of probabilities. It becomes the first as the shift goes to minus infinity. */
#pragma once

#include <stdint.h>

struct sl_calibration {
    double temperature, shift, exponent;
};

/* Rows of a matrix of logits, and the labels of all rows. */
struct sl_predictions {
    const float *logits; /* a row per text, `classes` columns */
    const int32_t *labels;
    const int32_t *rows; /* which of them were predicted */
    int count, classes;
};

/* Sets the probabilities of one text (p may be NULL or the logits) and returns -log p_label. */
double sl_calibrate(const struct sl_calibration *c, const float *logits, int classes, int label,
                    float *p);

/* The mean of -log p_label. */
double sl_calibration_loss(const struct sl_calibration *c,
                           const struct sl_predictions *predictions);

/* Minimize that loss: with the temperature alone, and then with shift and exponent. */
struct sl_calibration sl_calibration_fit_temperature(const struct sl_predictions *predictions);
struct sl_calibration sl_calibration_fit(const struct sl_predictions *predictions);
