/* diagonal_scale.c - y_ic = x_ic s_c: a diagonal matrix between two products. */
#include "arch/transevolve/transevolve.h"
#include "base/int_math.h"

enum { X };

enum { SCALES };

enum { CHUNK = 128 }; /* columns at a time */

static void forward_row(const struct sl_node *n, int row)
{
    const float *s = n->parameter[SCALES]->data, *x = sl_row(n->in[X], row);
    float y[CHUNK];
    for (int c0 = 0; c0 < n->out->cols; c0 += CHUNK) {
        int end = sl_min(c0 + CHUNK, n->out->cols);
        for (int c = c0; c < end; c++)
            y[c - c0] = x[c] * s[c];
        n->tape->kernels->to_operands(sl_columns(n->out, row, c0), y, end - c0);
    }
}

/* dx = dy s;  ds += dy x. */
static void backward_row(const struct sl_node *n, int row)
{
    const float *s = n->parameter[SCALES]->data, *x = sl_row(n->in[X], row);
    const float *dy = sl_grad_row(n->out, row);
    float *dx = sl_grad_row(n->in[X], row);
    for (int c = 0; c < n->out->cols; c++) {
        dx[c] = (n->overwrite[X] ? 0.0f : dx[c]) + dy[c] * s[c];
        n->sums[c] += dy[c] * x[c];
    }
}

static const struct sl_op diagonal_scale = {.name = "diagonal_scale",
                                            .forward_row = forward_row,
                                            .backward_row = backward_row,
                                            .grain = 64,
                                            .sums = true};

struct sl_tensor *sl_diagonal_scale(struct sl_tape *t, struct sl_tensor *x,
                                    const struct sl_parameter *s)
{
    assert(s->cols >= x->cols);
    return sl_tape_run(t, (struct sl_node){.op = &diagonal_scale,
                                           .out = sl_operand_take(t, x->rows, x->cols),
                                           .in = {x},
                                           .parameter = {s}});
}
