/* multiply.c - y = x by, element by element: the gate of a gated MLP (Shazeer 2020). */
#include "ops/ops.h"

enum { X, BY };

static void forward_row(const struct sl_node *n, int row)
{
    n->tape->kernels->multiply_to_operands(sl_row_any(n->out, row), sl_row(n->in[X], row),
                                           sl_row_any(n->in[BY], row), n->out->cols);
}

/* to = or += a b */
static void add_products(float *to, bool overwrite, const float *a, const float *b, int n)
{
    for (int i = 0; i < n; i++)
        to[i] = a[i] * b[i] + (overwrite ? 0.0f : to[i]);
}

static void backward_row(const struct sl_node *n, int row)
{
    const int cols = n->out->cols;
    const float *dy = sl_grad_row(n->out, row);
    n->tape->kernels->from_operands(n->spare, sl_row_any(n->in[BY], row), cols);
    add_products(sl_grad_row(n->in[X], row), n->overwrite[X], dy, n->spare, cols);
    add_products(sl_grad_row(n->in[BY], row), n->overwrite[BY], dy, sl_row(n->in[X], row), cols);
}

static const struct sl_op multiply = {.name = "multiply",
                                      .forward_row = forward_row,
                                      .backward_row = backward_row,
                                      .spare_rows = 1};

struct sl_tensor *sl_multiply(struct sl_tape *t, struct sl_tensor *x, struct sl_tensor *by)
{
    assert(x->rows == by->rows);
    assert(x->cols == by->cols);
    return sl_tape_run(t, (struct sl_node){.op = &multiply,
                                           .out = sl_operand_take(t, x->rows, x->cols),
                                           .in = {x, by}});
}
