/* two_class_logits.c - y_i = (0, x_i): two classes from a single logit. */
#include "arch/transevolve/transevolve.h"

enum { X };

static void two_class_logits_forward(const struct sl_node *n)
{
    for (int r = 0; r < n->out->rows; r++) {
        float *y = sl_row(n->out, r);
        y[0] = 0.0f;
        y[1] = *sl_row(n->in[X], r);
    }
}

static void two_class_logits_backward(const struct sl_node *n)
{
    for (int r = 0; r < n->out->rows; r++) {
        float *dx = sl_grad_row(n->in[X], r);
        *dx = (n->overwrite[X] ? 0.0f : *dx) + sl_grad_row(n->out, r)[1];
    }
}

static const struct sl_op against_zero = {.name = "two_class_logits",
                                          .forward = two_class_logits_forward,
                                          .backward = two_class_logits_backward};

struct sl_tensor *sl_two_class_logits(struct sl_tape *t, struct sl_tensor *x)
{
    assert(x->cols == 1);
    struct sl_tensor *out = sl_tensor_take(t, x->rows, 2);
    return sl_tape_run(t, (struct sl_node){.op = &against_zero, .out = out, .in = {x}});
}
