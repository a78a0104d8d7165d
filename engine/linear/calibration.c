/* calibration.c - minimizes the loss by golden-section searches, one inside the other; for
 * independent labels by Newton's method. */
#include "linear/calibration.h"

#include "infer/logits.h"
#include "layers/bag_of_words.h"

#include <math.h>

/* A logarithm of p_c, but for a constant. */
static double score_of(const struct sl_calibration *c, float logit)
{
    double z = (double)logit / c->temperature;
    return c->exponent > 0.0 ? c->exponent * sl_log_softplus(z + c->shift) : z;
}

static double calibrate_independent(const struct sl_calibration *c, const float *logits,
                                    int classes, struct sl_label_list labels, float *p)
{
    double loss = 0.0;
    for (int i = 0, at = 0; i < classes; i++) {
        const double score = (double)logits[i] / c->temperature + c->shift;
        loss += sl_softplus(sl_label_list_next(labels, &at, i) ? -score : score);
        if (p)
            p[i] = (float)sl_sigmoid(score);
    }
    return loss;
}

static double calibrate_exclusive(const struct sl_calibration *c, const float *logits, int classes,
                                  int label, float *p)
{
    double top = -(double)INFINITY, total = 0.0, of_label = score_of(c, logits[label]);
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

double sl_calibrate(const struct sl_calibration *c, const float *logits, int classes,
                    struct sl_label_list labels, float *p)
{
    return c->independent ? calibrate_independent(c, logits, classes, labels, p)
                          : calibrate_exclusive(c, logits, classes, labels.ids[0], p);
}

double sl_calibration_loss(const struct sl_calibration *c, const struct sl_predictions *p)
{
    const int stride = p->stride > 0 ? p->stride : 1;
    double sum = 0.0;
    int count = 0;
    for (int i = 0; i < p->count; i += stride) {
        int row = p->rows[i];
        sum += sl_calibrate(c, p->logits + (size_t)row * (size_t)p->classes, p->classes,
                            sl_label_list(p->labels, row), NULL);
        count++;
    }
    return sum / count;
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

/* ---- independent labels ---------------------------------------------------------------------- */

/* The loss of sigmoid(scale z + shift), summed, with its derivatives by both. Platt's targets are
 * not quite 0 and 1: without a mistake among so many labels the next one may still be wrong. */
struct platt {
    double scale, shift;
    double loss, gradient[2], hessian[3]; /* hessian: scale twice, both, shift twice */
    double target[2];                     /* of a label that a text lacks, and has */
};

static void add_text(struct platt *f, const float *logits, int classes, struct sl_label_list labels)
{
    for (int i = 0, at = 0; i < classes; i++) {
        const double z = (double)logits[i], score = f->scale * z + f->shift, p = sl_sigmoid(score);
        const double target = f->target[sl_label_list_next(labels, &at, i)];
        const double slope = p - target, curve = p * (1.0 - p);
        f->loss += target * sl_softplus(-score) + (1.0 - target) * sl_softplus(score);
        f->gradient[0] += slope * z;
        f->gradient[1] += slope;
        f->hessian[0] += curve * z * z;
        f->hessian[1] += curve * z;
        f->hessian[2] += curve;
    }
}

static struct platt platt_at(const struct sl_predictions *p, const double target[2], double scale,
                             double shift)
{
    struct platt f = {.scale = scale, .shift = shift, .target = {target[0], target[1]}};
    for (int i = 0; i < p->count; i++)
        add_text(&f, p->logits + (size_t)p->rows[i] * (size_t)p->classes, p->classes,
                 sl_label_list(p->labels, p->rows[i]));
    return f;
}

static struct platt platt_begin(const struct sl_predictions *p)
{
    double has = 0.0;
    for (int i = 0; i < p->count; i++)
        has += sl_label_list(p->labels, p->rows[i]).count;
    const double lacks = (double)p->count * p->classes - has;
    const double target[2] = {1.0 / (lacks + 2.0), (has + 1.0) / (has + 2.0)};
    return platt_at(p, target, 1.0, 0.0);
}

/* A step of Newton's method. Where more logits are wrong than right, smaller scales are ever
 * better: at the bound of the temperature only the shift moves. */
static struct platt platt_step(const struct sl_predictions *p, const struct platt *f, double length)
{
    const double damping = 1e-9, scale_min = exp(-3.0), scale_max = exp(5.0), shift_max = 50.0;
    const double a = f->hessian[0] + damping, b = f->hessian[1], c = f->hessian[2] + damping,
                 det = a * c - b * b;
    double by_scale = (c * f->gradient[0] - b * f->gradient[1]) / det,
           by_shift = (a * f->gradient[1] - b * f->gradient[0]) / det;
    if (by_scale > 0.0 ? f->scale <= scale_min : f->scale >= scale_max) {
        by_scale = 0.0;
        by_shift = f->gradient[1] / c;
    }
    return platt_at(p, f->target, fmin(fmax(f->scale - length * by_scale, scale_min), scale_max),
                    fmin(fmax(f->shift - length * by_shift, -shift_max), shift_max));
}

/* The loss is convex, so that shorter steps end in an improvement, or at the minimum. */
static struct sl_calibration fit_independent(const struct sl_predictions *p)
{
    enum { STEPS = 50 };

    const double least_gain = 1e-7;
    struct platt f = platt_begin(p);
    double length = 1.0;
    for (int i = 0; i < STEPS && length > 1e-3; i++) {
        const struct platt next = platt_step(p, &f, length);
        if (!(next.loss < f.loss)) {
            length *= 0.5;
            continue;
        }
        const bool done = f.loss - next.loss < least_gain * f.loss;
        f = next;
        length = 1.0;
        if (done)
            break;
    }
    return (struct sl_calibration){
        .temperature = 1.0 / f.scale, .shift = f.shift, .independent = true};
}

/* ---- fitting --------------------------------------------------------------------------------- */

struct sl_calibration sl_calibration_fit_temperature(const struct sl_predictions *predictions)
{
    struct sl_calibration c = {.temperature = 1.0};
    if (predictions->independent)
        return fit_independent(predictions);
    (void)minimize(loss_at_temperature, &c, predictions, -5.0, 3.0);
    return c;
}

/* The searches one inside the other go over the rows two hundred times. */
static struct sl_predictions part_of(const struct sl_predictions *predictions)
{
    enum { LOGITS_MAX = 500000 };

    struct sl_predictions part = *predictions;
    part.stride = 1 + (int)((int64_t)part.count * part.classes / LOGITS_MAX);
    return part;
}

struct sl_calibration sl_calibration_fit(const struct sl_predictions *predictions)
{
    const struct sl_calibration plain = sl_calibration_fit_temperature(predictions);
    struct sl_calibration c = plain;
    if (predictions->independent)
        return plain;
    const struct sl_predictions part = part_of(predictions);
    (void)minimize(loss_at_shift, &c, &part, -8.0, 12.0);
    return sl_calibration_loss(&c, predictions) < sl_calibration_loss(&plain, predictions) ? c
                                                                                           : plain;
}
