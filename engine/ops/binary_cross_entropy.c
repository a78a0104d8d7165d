/* binary_cross_entropy.c - adds the cross-entropy of independent labels to the loss: of a logit x
 * and a target y, log(1 + e^x) - y x. */
#include "ops/ops.h"

#include <math.h>

enum { X };

static void binary_cross_entropy_forward(const struct sl_node *n)
{
    const struct sl_binary_cross_entropy_args *a = n->args;
    const int cols = n->in[X]->cols;
    double sum = 0.0;
    for (int r = 0; r < n->in[X]->rows; r++) {
        const float *x = sl_row(n->in[X], r), *y = a->targets + (size_t)r * (size_t)cols;
        for (int c = 0; c < cols; c++) {
            const double logit = (double)x[c];
            sum += fmax(logit, 0.0) + log1p(exp(-fabs(logit))) - (double)y[c] * logit;
        }
    }
    n->tape->stats.loss += sum * (double)a->weight;
}

/* dx = weight (sigmoid(x) - y) */
static void binary_cross_entropy_backward(const struct sl_node *n)
{
    const struct sl_binary_cross_entropy_args *a = n->args;
    const int cols = n->in[X]->cols;
    for (int r = 0; r < n->in[X]->rows; r++) {
        const float *x = sl_row(n->in[X], r), *y = a->targets + (size_t)r * (size_t)cols;
        float *dx = sl_grad_row(n->in[X], r);
        for (int c = 0; c < cols; c++) {
            const float g = a->weight * (1.0f / (1.0f + expf(-x[c])) - y[c]);
            dx[c] = n->overwrite[X] ? g : dx[c] + g;
        }
    }
}

static const struct sl_op binary_cross_entropy = {.name = "binary_cross_entropy",
                                                  .forward = binary_cross_entropy_forward,
                                                  .backward = binary_cross_entropy_backward};

void sl_binary_cross_entropy(struct sl_tape *t, struct sl_tensor *x,
                             struct sl_binary_cross_entropy_args args)
{
    struct sl_binary_cross_entropy_args *a = sl_tape_struct(t, 1, sizeof *a);
    *a = args;
    a->weight *= t->view->batch->loss_scale;
    (void)sl_tape_run(t, (struct sl_node){.op = &binary_cross_entropy, .in = {x}, .args = a});
}
