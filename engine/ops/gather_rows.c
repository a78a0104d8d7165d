/* gather_rows.c - y_i = x_{rows_i}: selects rows, or copies all. Either type of tensor. */
#include "ops/ops.h"

#include <string.h>

enum { X };

static void forward_row(const struct sl_node *n, int i)
{
    memcpy(sl_row_any(n->out, i), sl_row_any(n->in[X], sl_rows_at(n->args, i)),
           n->out->stride * sl_type_bytes(n->out->type));
}

/* Rows ascend, so none is taken twice and pieces do not overlap. */
static void backward_row(const struct sl_node *n, int i)
{
    n->tape->kernels->axpy(sl_grad_row(n->in[X], sl_rows_at(n->args, i)), 1.0f,
                           sl_grad_row(n->out, i), n->out->cols);
}

static void gather_backward(const struct sl_node *n)
{
    const struct sl_tensor *x = n->in[X];
    if (n->overwrite[X])
        memset(x->grad, 0, (size_t)x->rows * (size_t)x->cols * sizeof *x->grad);
    sl_node_rows(n, n->out->rows, backward_row);
}

static const struct sl_op gather = {.name = "gather_rows",
                                    .forward_row = forward_row,
                                    .backward = gather_backward};

static struct sl_tensor *gathered(struct sl_tape *t, struct sl_tensor *x,
                                  const struct sl_rows *rows)
{
    const int count = rows ? rows->count : x->rows;
    struct sl_tensor *out =
        x->type == SL_F32 ? sl_tensor_take(t, count, x->cols) : sl_operand_take(t, count, x->cols);
    assert(out->stride == x->stride);
    return sl_tape_run(t, (struct sl_node){.op = &gather, .out = out, .in = {x}, .args = rows});
}

struct sl_tensor *sl_gather_rows(struct sl_tape *t, struct sl_tensor *x, const struct sl_rows *rows)
{
    return rows ? gathered(t, x, rows) : x;
}

struct sl_tensor *sl_copy_rows(struct sl_tape *t, struct sl_tensor *x, const struct sl_rows *rows)
{
    return rows || !t->training ? gathered(t, x, rows) : x;
}
