/* multiply.c - y = x by, element by element: the gate of a gated MLP (Shazeer 2020). */
#include "ops/ops.h"

enum { X, BY };

enum { ROWS = 16 };

static void forward_rows(void *ctx, int first, int last, int worker)
{
    const struct sl_node *n = ctx;
    (void)worker;
    for (int i = first; i < last; i++)
        n->tape->kernels->multiply_to_operands(sl_row_any(n->out, i), sl_row(n->in[X], i),
                                               sl_row_any(n->in[BY], i), n->out->cols);
}

/* to = or += a b */
static void add_products(float *to, bool overwrite, const float *a, const float *b, int n)
{
    for (int i = 0; i < n; i++)
        to[i] = a[i] * b[i] + (overwrite ? 0.0f : to[i]);
}

struct backward_ctx {
    const struct sl_node *n;
    float *workers; /* a row for each */
};

static void backward_rows(void *ctx, int first, int last, int worker)
{
    const struct backward_ctx *p = ctx;
    const struct sl_node *n = p->n;
    const int cols = n->out->cols;
    float *by = p->workers + (size_t)worker * (size_t)cols;
    for (int i = first; i < last; i++) {
        const float *dy = sl_grad_row(n->out, i);
        n->tape->kernels->from_operands(by, sl_row_any(n->in[BY], i), cols);
        add_products(sl_grad_row(n->in[X], i), n->overwrite[X], dy, by, cols);
        add_products(sl_grad_row(n->in[BY], i), n->overwrite[BY], dy, sl_row(n->in[X], i), cols);
    }
}

static size_t multiply_scratch(const struct sl_node *n, bool backward)
{
    if (!backward)
        return 0;
    return (size_t)sl_thread_pool_size(n->tape->pool) * (size_t)n->out->cols * sizeof(float);
}

static void multiply_forward(const struct sl_node *n)
{
    sl_node_parallel(n, n->out->rows, ROWS, forward_rows);
}

static void multiply_backward(const struct sl_node *n)
{
    struct backward_ctx p = {.n = n, .workers = sl_tape_scratch(n, multiply_scratch(n, true))};
    sl_parallel_for(n->tape->pool, n->out->rows, ROWS, backward_rows, &p);
}

static const struct sl_op multiply = {.name = "multiply",
                                      .scratch = multiply_scratch,
                                      .forward = multiply_forward,
                                      .backward = multiply_backward};

struct sl_tensor *sl_multiply(struct sl_tape *t, struct sl_tensor *x, struct sl_tensor *by)
{
    assert(x->rows == by->rows);
    assert(x->cols == by->cols);
    return sl_tape_run(t, (struct sl_node){.op = &multiply,
                                           .out = sl_operand_take(t, x->rows, x->cols),
                                           .in = {x, by}});
}
