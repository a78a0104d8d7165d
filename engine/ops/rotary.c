/* rotary.c - rotary positions: heads are rotated by angles that grow with the position (Su et al.
 * 2021). */
#include "ops/ops.h"

#include <string.h>

enum { X };

static struct sl_rotation rotation_of(const struct sl_node *n, int i, bool back)
{
    const struct sl_rotary_args *a = n->args;
    const int position = n->view->row_position[sl_rows_at(a->rows, i)];
    assert(position < a->table->rows);
    return (struct sl_rotation){.waves = a->table->data + (size_t)position * (size_t)a->table->cols,
                                .half = a->table->cols / 2,
                                .head_dim = a->head_dim,
                                .heads = a->heads,
                                .back = back};
}

/* y = x rotated. */
static void rotate_row(const struct sl_node *n, int i, bool back, float *y, const float *x)
{
    const struct sl_rotary_args *a = n->args;
    const size_t rotated = (size_t)a->heads * (size_t)a->head_dim;
    const struct sl_rotation r = rotation_of(n, i, back);
    n->tape->kernels->rotate(y, x, &r);
    memcpy(y + rotated, x + rotated, ((size_t)n->out->cols - rotated) * sizeof *y);
}

static void forward_row(const struct sl_node *n, int i)
{
    rotate_row(n, i, false, n->spare, sl_row(n->in[X], i));
    n->tape->kernels->to_operands(sl_row_any(n->out, i), n->spare, n->out->cols);
}

static void backward_row(const struct sl_node *n, int i)
{
    float *dx = sl_grad_row(n->in[X], i);
    rotate_row(n, i, true, n->overwrite[X] ? dx : n->spare, sl_grad_row(n->out, i));
    if (!n->overwrite[X])
        n->tape->kernels->axpy(dx, 1.0f, n->spare, n->out->cols);
}

static const struct sl_op rotary = {.name = "rotary",
                                    .forward_row = forward_row,
                                    .backward_row = backward_row,
                                    .spare_rows = 1};

struct sl_tensor *sl_rotary(struct sl_tape *t, struct sl_tensor *x, struct sl_rotary_args args)
{
    struct sl_rotary_args *kept = sl_tape_struct(t, 1, sizeof *kept);
    *kept = args;
    assert(x->rows == (args.rows ? args.rows->count : t->view->batch->rows));
    assert(args.table->cols <= args.head_dim);
    assert(args.heads * args.head_dim <= x->cols);
    return sl_tape_run(t, (struct sl_node){.op = &rotary,
                                           .out = sl_operand_take(t, x->rows, x->cols),
                                           .in = {x},
                                           .args = kept});
}
