/* gather_rows.c - y_i = x_{rows_i}: selects rows, or copies all. Either type of tensor. */
#include "ops/ops.h"

#include <string.h>

enum { X };

enum { ROWS = 16 };

static int row_of(const struct sl_node *n, int i)
{
    const struct sl_rows *rows = n->args;
    return rows ? rows->index[i] : i;
}

static void gather_forward_rows(void *ctx, int first, int last, int worker)
{
    const struct sl_node *n = ctx;
    const size_t bytes = n->out->stride * sl_type_bytes(n->out->type);
    (void)worker;
    for (int i = first; i < last; i++)
        memcpy(sl_row_any(n->out, i), sl_row_any(n->in[X], row_of(n, i)), bytes);
}

static void gather_forward(const struct sl_node *n)
{
    sl_node_parallel(n, n->out->rows, ROWS, gather_forward_rows);
}

/* Rows ascend, so none is taken twice and pieces do not overlap. */
static void gather_backward_rows(void *ctx, int first, int last, int worker)
{
    const struct sl_node *n = ctx;
    (void)worker;
    for (int i = first; i < last; i++)
        n->tape->kernels->axpy(sl_grad_row(n->in[X], row_of(n, i)), 1.0f, sl_grad_row(n->out, i),
                               n->out->cols);
}

static void gather_backward(const struct sl_node *n)
{
    const struct sl_tensor *x = n->in[X];
    if (n->overwrite[X])
        memset(x->grad, 0, (size_t)x->rows * (size_t)x->cols * sizeof *x->grad);
    sl_node_parallel(n, n->out->rows, ROWS, gather_backward_rows);
}

static const struct sl_op gather = {.name = "gather_rows",
                                    .forward = gather_forward,
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
