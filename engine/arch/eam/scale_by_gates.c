/* scale_by_gates.c - each expert's hidden features times its gate weight: z_{p c + j} = g_p x_{p c
 * + j}. */
#include "arch/eam/eam.h"

enum { X, GATE_WEIGHTS };

static int slice_cols(const struct sl_node *n)
{
    return n->out->cols / n->in[GATE_WEIGHTS]->cols;
}

/* A row of x as fp32. */
static float *fp32_row(const struct sl_node *n, int row)
{
    n->tape->kernels->from_operands(n->spare, sl_row_any(n->in[X], row), n->in[X]->cols);
    return n->spare;
}

static void forward_row(const struct sl_node *n, int row)
{
    const struct sl_kernels *k = n->tape->kernels;
    const float *gate_weights = sl_row(n->in[GATE_WEIGHTS], row);
    float *x = fp32_row(n, row), *at = x;
    int cols = slice_cols(n);
    for (int slice = 0; slice < n->in[GATE_WEIGHTS]->cols; slice++, at += cols)
        k->scale(at, gate_weights[slice], at, cols);
    k->to_operands(sl_row_any(n->out, row), x, n->out->cols);
}

/* dg_p = <dz_p, x_p>,  dx_p = g_p dz_p. */
static void backward_row(const struct sl_node *n, int row)
{
    const struct sl_kernels *k = n->tape->kernels;
    const float *gate_weights = sl_row(n->in[GATE_WEIGHTS], row), *dz = sl_grad_row(n->out, row);
    const float *x = fp32_row(n, row);
    float *dgate_weights = sl_grad_row(n->in[GATE_WEIGHTS], row), *dx = sl_grad_row(n->in[X], row);
    int cols = slice_cols(n);
    assert(n->overwrite[X]);
    for (int slice = 0; slice < n->in[GATE_WEIGHTS]->cols; slice++) {
        int at = slice * cols;
        float before = n->overwrite[GATE_WEIGHTS] ? 0.0f : dgate_weights[slice];
        dgate_weights[slice] = before + k->dot(dz + at, x + at, cols);
        k->scale(dx + at, gate_weights[slice], dz + at, cols);
    }
}

static const struct sl_op scale_by_gates = {.name = "scale_by_gates",
                                            .forward_row = forward_row,
                                            .backward_row = backward_row,
                                            .spare_rows = 1};

struct sl_tensor *sl_scale_by_gates(struct sl_tape *t, struct sl_tensor *x,
                                    struct sl_tensor *gate_weights)
{
    assert(x->type == t->kernels->operand);
    assert(x->rows == gate_weights->rows);
    assert(x->cols % gate_weights->cols == 0);
    struct sl_tensor *out = sl_operand_take(t, x->rows, x->cols);
    return sl_tape_run(
        t, (struct sl_node){.op = &scale_by_gates, .out = out, .in = {x, gate_weights}});
}
