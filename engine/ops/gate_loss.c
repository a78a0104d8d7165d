/* gate_loss.c - the auxiliary loss of open gates and of gates near 0.5. */
#include "ops/ops.h"

enum { X };

static void gate_loss_forward(const struct sl_node *n)
{
    const struct sl_gate_loss_args *a = n->args;
    double sum = 0.0;
    for (int r = 0; r < n->in[X]->rows; r++) {
        double x = (double)*sl_row(n->in[X], r);
        sum += (double)a->open_weight * x + (double)a->binarization_weight * 4.0 * x * (1.0 - x);
    }
    n->tape->stats.aux_loss += sum;
}

static void gate_loss_backward(const struct sl_node *n)
{
    const struct sl_gate_loss_args *a = n->args;
    for (int r = 0; r < n->in[X]->rows; r++) {
        float *dx = sl_grad_row(n->in[X], r), x = *sl_row(n->in[X], r);
        float gradient = a->open_weight + a->binarization_weight * 4.0f * (1.0f - 2.0f * x);
        *dx = gradient + (n->overwrite[X] ? 0.0f : *dx);
    }
}

static const struct sl_op gate_loss = {.name = "gate_loss",
                                       .forward = gate_loss_forward,
                                       .backward = gate_loss_backward};

void sl_gate_loss(struct sl_tape *t, struct sl_tensor *x, struct sl_gate_loss_args args)
{
    assert(x->cols == 1);
    struct sl_gate_loss_args *a = sl_tape_struct(t, 1, sizeof *a);
    a->open_weight = args.open_weight * t->view->batch->row_scale;
    a->binarization_weight = args.binarization_weight * t->view->batch->row_scale;
    (void)sl_tape_run(t, (struct sl_node){.op = &gate_loss, .in = {x}, .args = a});
}
