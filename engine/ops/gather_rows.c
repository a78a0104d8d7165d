/* gather_rows.c - y_i = x_{rows_i}: selects rows. Either type of tensor. */
#include "ops/ops.h"

#include <string.h>

enum { X };

enum { ROWS = 16 };

static void take_rows_forward_rows(void *ctx, int first, int last, int worker)
{
    const struct sl_node *n = ctx;
    const struct sl_rows *rows = n->args;
    const size_t bytes = n->out->stride * sl_type_bytes(n->out->type);
    (void)worker;
    for (int i = first; i < last; i++)
        memcpy(sl_row_any(n->out, i), sl_row_any(n->in[X], rows->index[i]), bytes);
}

static void take_rows_forward(const struct sl_node *n)
{
    sl_node_parallel(n, n->out->rows, ROWS, take_rows_forward_rows);
}

/* Rows ascend, so none is taken twice and pieces do not overlap. */
static void take_rows_backward_rows(void *ctx, int first, int last, int worker)
{
    const struct sl_node *n = ctx;
    const struct sl_rows *rows = n->args;
    (void)worker;
    for (int i = first; i < last; i++)
        n->tape->kernels->axpy(sl_grad_row(n->in[X], rows->index[i]), 1.0f, sl_grad_row(n->out, i),
                               n->out->cols);
}

static void take_rows_backward(const struct sl_node *n)
{
    const struct sl_tensor *x = n->in[X];
    if (n->overwrite[X])
        memset(x->grad, 0, (size_t)x->rows * (size_t)x->cols * sizeof *x->grad);
    sl_node_parallel(n, n->out->rows, ROWS, take_rows_backward_rows);
}

static const struct sl_op gather = {.name = "take_rows",
                                    .forward = take_rows_forward,
                                    .backward = take_rows_backward};

struct sl_tensor *sl_gather_rows(struct sl_tape *t, struct sl_tensor *x, const struct sl_rows *rows)
{
    if (!rows)
        return x;
    struct sl_tensor *out = x->type == SL_F32 ? sl_tensor_take(t, rows->count, x->cols)
                                              : sl_operand_take(t, rows->count, x->cols);
    assert(out->stride == x->stride);
    return sl_tape_run(t, (struct sl_node){.op = &gather, .out = out, .in = {x}, .args = rows});
}
