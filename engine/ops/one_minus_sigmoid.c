/* one_minus_sigmoid.c - y = 1 / (1 + exp(x)): one minus the logistic function, without
 * cancellation. */
#include "ops/ops.h"

enum { X };

static void one_minus_sigmoid_forward(const struct sl_node *n)
{
    const struct sl_tensor *x = n->in[X];
    float *y = n->out->data;
    if (x->rows == 0)
        return;
    n->tape->kernels->scale(y, -1.0f, x->data, x->rows);
    n->tape->kernels->sigmoid(y, y, x->rows);
}

/* dx = -y (1 - y) dy. */
static void one_minus_sigmoid_backward(const struct sl_node *n)
{
    const struct sl_tensor *x = n->in[X];
    for (int r = 0; r < x->rows; r++) {
        const float *y = sl_row(n->out, r), *dy = sl_grad_row(n->out, r);
        float *dx = sl_grad_row(x, r);
        for (int c = 0; c < x->cols; c++)
            dx[c] = (n->overwrite[X] ? 0.0f : dx[c]) - y[c] * (1.0f - y[c]) * dy[c];
    }
}

static const struct sl_op complement = {.name = "one_minus_sigmoid",
                                        .forward = one_minus_sigmoid_forward,
                                        .backward = one_minus_sigmoid_backward};

struct sl_tensor *sl_one_minus_sigmoid(struct sl_tape *t, struct sl_tensor *x)
{
    assert(x->cols == 1 && x->stride == 1); /* so its rows are one vector */
    struct sl_tensor *out = sl_tensor_take(t, x->rows, 1);
    return sl_tape_run(t, (struct sl_node){.op = &complement, .out = out, .in = {x}});
}
