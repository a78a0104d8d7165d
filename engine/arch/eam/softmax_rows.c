/* softmax_rows.c - y_i = softmax(x_i), for short rows such as expert gates. */
#include "arch/eam/eam.h"

#include <string.h>

enum { X };

static void forward_row(const struct sl_node *n, int row)
{
    float *y = sl_row(n->out, row);
    memcpy(y, sl_row(n->in[X], row), (size_t)n->out->cols * sizeof *y);
    n->tape->kernels->softmax(y, n->out->cols, NULL);
}

/* dx = y (dy - <dy, y>). */
static void backward_row(const struct sl_node *n, int row)
{
    int cols = n->out->cols;
    const float *y = sl_row(n->out, row), *dy = sl_grad_row(n->out, row);
    float mean = n->tape->kernels->dot(dy, y, cols), *dx = sl_grad_row(n->in[X], row);
    for (int c = 0; c < cols; c++)
        dx[c] = (n->overwrite[X] ? 0.0f : dx[c]) + y[c] * (dy[c] - mean);
}

static const struct sl_op softmax = {.name = "softmax_rows",
                                     .forward_row = forward_row,
                                     .backward_row = backward_row,
                                     .grain = 64};

struct sl_tensor *sl_softmax_rows(struct sl_tape *t, struct sl_tensor *x)
{
    struct sl_tensor *out = sl_tensor_take(t, x->rows, x->cols);
    return sl_tape_run(t, (struct sl_node){.op = &softmax, .out = out, .in = {x}});
}
