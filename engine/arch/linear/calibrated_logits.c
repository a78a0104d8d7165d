/* calibrated_logits.c - y = a log(softplus(x)): logits whose softmax is proportional to
 * softplus(x)^a. */
#include "arch/linear/linear_classifier.h"
#include "layers/bag_of_words.h"

#include <math.h>

enum { X };

struct calibration {
    float exponent;
};

static void calibrated_logits_forward(const struct sl_node *n)
{
    const struct calibration *a = n->args;
    for (int r = 0; r < n->out->rows; r++) {
        const float *x = sl_row(n->in[X], r);
        float *y = sl_row(n->out, r);
        for (int c = 0; c < n->out->cols; c++)
            y[c] = (float)((double)a->exponent * sl_log_softplus((double)x[c]));
    }
}

/* dx = a sigmoid(x) / softplus(x) dy, which is a dy where exp(x) is small. */
static void calibrated_logits_backward(const struct sl_node *n)
{
    const struct calibration *a = n->args;
    for (int r = 0; r < n->out->rows; r++) {
        const float *x = sl_row(n->in[X], r), *dy = sl_grad_row(n->out, r);
        float *dx = sl_grad_row(n->in[X], r);
        for (int c = 0; c < n->out->cols; c++) {
            double log_sigmoid = -log1p(exp(-(double)x[c]));
            double ratio = x[c] < -30.0f ? 1.0 : exp(log_sigmoid - sl_log_softplus((double)x[c]));
            dx[c] = (n->overwrite[X] ? 0.0f : dx[c]) +
                    (float)((double)a->exponent * ratio * (double)dy[c]);
        }
    }
}

static const struct sl_op calibrated_logits = {.name = "calibrated_logits",
                                               .forward = calibrated_logits_forward,
                                               .backward = calibrated_logits_backward};

struct sl_tensor *sl_calibrated_logits(struct sl_tape *t, struct sl_tensor *x, float exponent)
{
    struct calibration *a = sl_tape_struct(t, 1, sizeof *a);
    struct sl_tensor *out = sl_tensor_take(t, x->rows, x->cols);
    *a = (struct calibration){exponent};
    return sl_tape_run(
        t, (struct sl_node){.op = &calibrated_logits, .args = a, .out = out, .in = {x}});
}

double sl_calibrated_score(double y, float exponent)
{
    if (!(exponent > 0.0f))
        return y;
    const double softplus = exp(y / (double)exponent);
    return softplus > 30.0 ? softplus : log(expm1(softplus));
}
