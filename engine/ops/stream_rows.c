/* stream_rows.c - copies a stream forward, and adds its gradient backward, row by row. */
#include "ops/stream_rows.h"

enum { STREAM };

static void copy_row(const struct sl_node *n, int row)
{
    memcpy(sl_row(n->out, row), sl_row(n->in[STREAM], row), (size_t)n->out->cols * sizeof(float));
}

void sl_stream_copy(const struct sl_node *n)
{
    if (n->out != n->in[STREAM])
        sl_node_rows(n, n->out->rows, copy_row);
}

static void add_row(const struct sl_node *n, int row)
{
    n->tape->kernels->axpy(sl_grad_row(n->in[STREAM], row), 1.0f, sl_grad_row(n->out, row),
                           n->out->cols);
}

void sl_stream_pass_gradient(const struct sl_node *n)
{
    if (n->in[STREAM]->grad != n->out->grad)
        sl_node_rows(n, n->out->rows, add_row);
}
