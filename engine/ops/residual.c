/* residual.c - the residual stream: h with rows h_{rows_i} + scale gate_i dropout(f_i).
 *
 * Training: the result is a new tensor, because other ops need h for their gradients; h takes over
 * its gradient without a copy. Serving: h is updated in place, so a skipped row costs nothing. */
#include "ops/ops.h"
#include "ops/stream_rows.h"

#include <string.h>

enum { H, F, GATE };

struct residual {
    const struct sl_rows *rows;
    float scale;
    struct sl_dropout dropout;
    uint64_t random_key;
};

/* The factor of row i of f. */
static float factor_of(const struct sl_node *n, int i)
{
    const struct residual *a = n->args;
    return n->in[GATE] ? a->scale * *sl_row(n->in[GATE], i) : a->scale;
}

/* Row i of f after dropout, before the gate. */
static const float *update_of(const struct sl_node *n, int i)
{
    const struct residual *a = n->args;
    const float *f = sl_row(n->in[F], i);
    if (!a->dropout.threshold)
        return f;
    uint32_t key = sl_dropout_row_key(n->view, a->random_key, sl_rows_at(a->rows, i));
    n->tape->kernels->dropout(n->spare, f, a->dropout, key, 0, n->out->cols);
    return n->spare;
}

static void forward_row(const struct sl_node *n, int i)
{
    const struct residual *a = n->args;
    int cols = n->out->cols, row = sl_rows_at(a->rows, i);
    float *y = sl_row(n->out, row);
    if (n->out != n->in[H] && !a->rows)
        memcpy(y, sl_row(n->in[H], row), (size_t)cols * sizeof *y);
    n->tape->kernels->axpy(y, factor_of(n, i), update_of(n, i), cols);
}

static void residual_forward(const struct sl_node *n)
{
    const struct residual *a = n->args;
    if (a->rows)
        sl_stream_copy(n);
    sl_node_rows(n, n->in[F]->rows, forward_row);
}

/* With u = dropout'(dy):  df = scale gate u,  dgate = scale <u, f>. */
static void backward_row(const struct sl_node *n, int i)
{
    const struct sl_kernels *k = n->tape->kernels;
    const struct residual *a = n->args;
    const struct sl_tensor *f = n->in[F], *gate = n->in[GATE];
    const float *u = sl_grad_row(n->out, sl_rows_at(a->rows, i));
    int cols = n->out->cols;
    if (a->dropout.threshold) {
        uint32_t key = sl_dropout_row_key(n->view, a->random_key, sl_rows_at(a->rows, i));
        k->dropout(n->spare, u, a->dropout, key, 0, cols);
        u = n->spare;
    }
    if (gate) {
        float dgate = a->scale * k->dot(u, sl_row(f, i), cols);
        *sl_grad_row(gate, i) = dgate + (n->overwrite[GATE] ? 0.0f : *sl_grad_row(gate, i));
    }
    if (n->overwrite[F])
        k->scale(sl_grad_row(f, i), factor_of(n, i), u, cols);
    else
        k->axpy(sl_grad_row(f, i), factor_of(n, i), u, cols);
}

static void residual_backward(const struct sl_node *n)
{
    sl_node_rows(n, n->in[F]->rows, backward_row);
    sl_stream_pass_gradient(n);
}

static const struct sl_op residual = {.name = "residual",
                                      .forward = residual_forward,
                                      .backward = residual_backward,
                                      .passes = 1 + H,
                                      .spare_rows = 1};

struct sl_tensor *sl_residual(struct sl_tape *t, struct sl_tensor *h, struct sl_tensor *f,
                              struct sl_residual_args args)
{
    assert(f->rows == (args.rows ? args.rows->count : h->rows));
    assert(f->cols == h->cols);
    assert(!args.gate || args.gate->rows == f->rows);
    struct residual *a = sl_tape_struct(t, 1, sizeof *a);
    a->rows = args.rows;
    a->scale = args.scale > 0.0f ? args.scale : 1.0f;
    if (t->training && args.dropout > 0.0f) {
        a->dropout = sl_dropout_of(args.dropout);
        a->random_key = sl_tape_random(t);
    }
    struct sl_tensor *out = t->training ? sl_tensor_take(t, h->rows, h->cols) : h;
    return sl_tape_run(
        t, (struct sl_node){.op = &residual, .out = out, .in = {h, f, args.gate}, .args = a});
}
