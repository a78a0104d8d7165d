/* scatter_rows.c - writes rows back: h with rows h_{rows_i} = x_i; the others are unchanged. */
#include "arch/epsilon/epsilon.h"

#include <string.h>

enum { H, X };

static void forward_row(const struct sl_node *n, int i)
{
    memcpy(sl_row(n->out, sl_rows_at(n->args, i)), sl_row(n->in[X], i),
           (size_t)n->out->cols * sizeof(float));
}

static void scatter_forward(const struct sl_node *n)
{
    sl_node_rows(n, n->in[X]->rows, forward_row);
}

static const struct sl_op scatter = {.name = "scatter_rows",
                                     .forward = scatter_forward,
                                     .grain = 64};

struct sl_tensor *sl_scatter_rows(struct sl_tape *t, struct sl_tensor *h, struct sl_tensor *x,
                                  const struct sl_rows *rows)
{
    assert(!t->training);
    assert(x->rows == (rows ? rows->count : h->rows));
    assert(x->cols == h->cols);
    return sl_tape_run(t, (struct sl_node){.op = &scatter, .out = h, .in = {h, x}, .args = rows});
}
