/* close_gates.c - gates while training as they are when serving: y = g where the logit of skipping
 * is below a limit, else 0. A closed gate gets the gradient of an open one (the straight-through
 * estimator of Bengio et al. 2013): with none it could never open again. */
#include "arch/tsa/tsa.h"

enum { G };

struct closing {
    const struct sl_tensor *logits; /* only decide: they get no gradient here */
    float limit;
};

static void close_gates_forward(const struct sl_node *n)
{
    const struct closing *a = n->args;
    for (int r = 0; r < n->out->rows; r++)
        *sl_row(n->out, r) = *sl_row(a->logits, r) < a->limit ? *sl_row(n->in[G], r) : 0.0f;
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
                                 const struct sl_tensor *logits, float limit)
{
    assert(g->cols == 1 && logits->cols == 1 && g->rows == logits->rows);
    struct closing *a = sl_tape_struct(t, 1, sizeof *a);
    *a = (struct closing){logits, limit};
    struct sl_tensor *out = sl_tensor_take(t, g->rows, 1);
    return sl_tape_run(t, (struct sl_node){.op = &close_gates, .out = out, .in = {g}, .args = a});
}
