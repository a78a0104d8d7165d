/* scatter_rows.c - writes rows back: h with rows h_{rows_i} = x_i; the others are unchanged. */
#include "arch/epsilon/epsilon.h"

#include <string.h>

enum { H, X };

enum { ROWS = 64 };

static void put_rows_forward_rows(void *ctx, int first, int last, int worker)
{
    const struct sl_node *n = ctx;
    const struct sl_rows *rows = n->args;
    const struct sl_tensor *x = n->in[X];
    (void)worker;
    for (int i = first; i < last; i++)
        memcpy(sl_row(n->out, rows ? rows->index[i] : i), sl_row(x, i),
               (size_t)x->cols * sizeof(float));
}

static void put_rows_forward(const struct sl_node *n)
{
    sl_node_parallel(n, n->in[X]->rows, ROWS, put_rows_forward_rows);
}

static const struct sl_op scatter = {.name = "scatter_rows", .forward = put_rows_forward};

struct sl_tensor *sl_scatter_rows(struct sl_tape *t, struct sl_tensor *h, struct sl_tensor *x,
                                  const struct sl_rows *rows)
{
    assert(!t->training);
    assert(x->rows == (rows ? rows->count : h->rows));
    assert(x->cols == h->cols);
    return sl_tape_run(t, (struct sl_node){.op = &scatter, .out = h, .in = {h, x}, .args = rows});
}
