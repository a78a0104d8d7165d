/* calibration.c - minimizes the loss by golden-section searches, one inside the other. */
#include "train/calibration.h"

#include "layers/bag_of_words.h"

#include <math.h>

/* A logarithm of p_c, but for a constant. */
static double score_of(const struct sl_calibration *c, float logit)
{
    double z = (double)logit / c->temperature;
    return c->exponent > 0.0 ? c->exponent * sl_log_softplus(z + c->shift) : z;
}

double sl_calibrate(const struct sl_calibration *c, const float *logits, int classes, int label,
                    float *p)
{
    double top = -INFINITY, total = 0.0, of_label = score_of(c, logits[label]);
    for (int i = 0; i < classes; i++)
        top = (double)logits[i] > top ? (double)logits[i] : top;
    top = score_of(c, (float)top);
    for (int i = 0; i < classes; i++) {
        double e = exp(score_of(c, logits[i]) - top);
        total += e;
        if (p)
            p[i] = (float)e;
    }
    for (int i = 0; p && i < classes; i++)
        p[i] = (float)((double)p[i] / total);
    return log(total) - (of_label - top);
}

double sl_calibration_loss(const struct sl_calibration *c, const struct sl_predictions *p)
{
    double sum = 0.0;
    for (int i = 0; i < p->count; i++) {
        int row = p->rows[i];
        sum += sl_calibrate(c, p->logits + (size_t)row * (size_t)p->classes, p->classes,
                            p->labels[row], NULL);
    }
    return sum / p->count;
}

/* ---- searching ------------------------------------------------------------------------------- */

/* The loss with one number set, and the calibration that has it. */
typedef double loss_at(struct sl_calibration *c, const struct sl_predictions *p, double number);

/* Golden-section search for the number between low and high; *c becomes the best calibration. */
static double minimize(loss_at *loss, struct sl_calibration *c, const struct sl_predictions *p,
                       double low, double high)
{
    const double ratio = 0.618033988749895, tolerance = (high - low) / 256;
    double a = high - ratio * (high - low), b = low + ratio * (high - low);
    double at_a = loss(c, p, a), at_b = loss(c, p, b);
    while (high - low > tolerance) {
        if (at_a < at_b) {
            high = b;
            b = a;
            at_b = at_a;
            a = high - ratio * (high - low);
            at_a = loss(c, p, a);
        } else {
            low = a;
            a = b;
            at_a = at_b;
            b = low + ratio * (high - low);
            at_b = loss(c, p, b);
        }
    }
    return loss(c, p, 0.5 * (low + high));
}

static double loss_at_temperature(struct sl_calibration *c, const struct sl_predictions *p,
                                  double log_temperature)
{
    c->temperature = exp(log_temperature);
    return sl_calibration_loss(c, p);
}

static double loss_at_exponent(struct sl_calibration *c, const struct sl_predictions *p,
                               double log_exponent)
{
    c->exponent = exp(log_exponent);
    return sl_calibration_loss(c, p);
}

/* With the exponent that is best for the shift. */
static double loss_at_shift(struct sl_calibration *c, const struct sl_predictions *p, double shift)
{
    c->shift = shift;
    return minimize(loss_at_exponent, c, p, -2.0, 4.0);
}

struct sl_calibration sl_calibration_fit_temperature(const struct sl_predictions *predictions)
{
    struct sl_calibration c = {.temperature = 1.0};
    (void)minimize(loss_at_temperature, &c, predictions, -5.0, 3.0);
    return c;
}

struct sl_calibration sl_calibration_fit(const struct sl_predictions *predictions)
{
    const struct sl_calibration plain = sl_calibration_fit_temperature(predictions);
    struct sl_calibration c = plain;
    (void)minimize(loss_at_shift, &c, predictions, -8.0, 12.0);
    return sl_calibration_loss(&c, predictions) < sl_calibration_loss(&plain, predictions) ? c
                                                                                           : plain;
}
