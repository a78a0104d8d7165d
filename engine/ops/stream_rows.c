/* stream_rows.c - copies a stream forward, and adds its gradient backward, row by row. */
#include "ops/stream_rows.h"

enum { STREAM };

enum { ROWS = 16 };

static void copy_rows(void *ctx, int first, int last, int worker)
{
    const struct sl_node *n = ctx;
    (void)worker;
    memcpy(sl_row(n->out, first), sl_row(n->in[STREAM], first),
           (size_t)(last - first) * (size_t)n->out->cols * sizeof(float));
}

void sl_stream_copy(const struct sl_node *n)
{
    if (n->out != n->in[STREAM])
        sl_node_parallel(n, n->out->rows, ROWS, copy_rows);
}

static void add_rows(void *ctx, int first, int last, int worker)
{
    const struct sl_node *n = ctx;
    (void)worker;
    for (int r = first; r < last; r++)
        n->tape->kernels->axpy(sl_grad_row(n->in[STREAM], r), 1.0f, sl_grad_row(n->out, r),
                               n->out->cols);
}

void sl_stream_pass_gradient(const struct sl_node *n)
{
    if (n->in[STREAM]->grad != n->out->grad)
        sl_node_parallel(n, n->out->rows, ROWS, add_rows);
}
