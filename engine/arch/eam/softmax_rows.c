/* softmax_rows.c - y_i = softmax(x_i), for short rows such as expert gates. */
#include "arch/eam/eam.h"

#include <string.h>

enum { X };

enum { ROWS = 64 };

static void softmax_rows_forward_rows(void *ctx, int first, int last, int worker)
{
    const struct sl_node *n = ctx;
    (void)worker;
    for (int r = first; r < last; r++) {
        float *y = sl_row(n->out, r);
        memcpy(y, sl_row(n->in[X], r), (size_t)n->out->cols * sizeof *y);
        n->tape->kernels->softmax(y, n->out->cols, NULL);
    }
}

static void softmax_forward(const struct sl_node *n)
{
    sl_node_parallel(n, n->out->rows, ROWS, softmax_rows_forward_rows);
}

/* dx = y (dy - <dy, y>). */
static void softmax_rows_backward_rows(void *ctx, int first, int last, int worker)
{
    const struct sl_node *n = ctx;
    int cols = n->out->cols;
    (void)worker;
    for (int r = first; r < last; r++) {
        const float *y = sl_row(n->out, r), *dy = sl_grad_row(n->out, r);
        float mean = n->tape->kernels->dot(dy, y, cols), *dx = sl_grad_row(n->in[X], r);
        for (int c = 0; c < cols; c++)
            dx[c] = (n->overwrite[X] ? 0.0f : dx[c]) + y[c] * (dy[c] - mean);
    }
}

static void softmax_backward(const struct sl_node *n)
{
    sl_node_parallel(n, n->out->rows, ROWS, softmax_rows_backward_rows);
}

static const struct sl_op softmax = {.name = "softmax_rows",
                                     .forward = softmax_forward,
                                     .backward = softmax_backward};

struct sl_tensor *sl_softmax_rows(struct sl_tape *t, struct sl_tensor *x)
{
    struct sl_tensor *out = sl_tensor_take(t, x->rows, x->cols);
    return sl_tape_run(t, (struct sl_node){.op = &softmax, .out = out, .in = {x}});
}
