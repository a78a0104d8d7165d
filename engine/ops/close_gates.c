/* close_gates.c - gates while training as they are when serving: y = g, or 1, where the logit of
 * skipping is below a limit, else 0. Whatever y is, dy goes to g (the straight-through estimator of
 * Bengio et al. 2013): without a gradient a closed gate could never open again. */
#include "ops/ops.h"

enum { G };

static void close_gates_forward(const struct sl_node *n)
{
    const struct sl_close_gates_args *a = n->args;
    for (int r = 0; r < n->out->rows; r++) {
        const float open = a->hard ? 1.0f : *sl_row(n->in[G], r);
        *sl_row(n->out, r) = *sl_row(a->logits, r) < a->limit ? open : 0.0f;
    }
}

/* dg = dy. */
static void close_gates_backward(const struct sl_node *n)
{
    for (int r = 0; r < n->out->rows; r++) {
        float *dg = sl_grad_row(n->in[G], r);
        *dg = *sl_grad_row(n->out, r) + (n->overwrite[G] ? 0.0f : *dg);
    }
}

static const struct sl_op close_gates = {.name = "close_gates",
                                         .forward = close_gates_forward,
                                         .backward = close_gates_backward};

struct sl_tensor *sl_close_gates(struct sl_tape *t, struct sl_tensor *g,
                                 struct sl_close_gates_args args)
{
    assert(g->cols == 1 && args.logits->cols == 1 && g->rows == args.logits->rows);
    struct sl_close_gates_args *a = sl_tape_struct(t, 1, sizeof *a);
    *a = args;
    struct sl_tensor *out = sl_tensor_take(t, g->rows, 1);
    return sl_tape_run(t, (struct sl_node){.op = &close_gates, .out = out, .in = {g}, .args = a});
}
