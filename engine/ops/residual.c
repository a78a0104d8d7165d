/* residual.c - the residual stream: h with rows h_{rows_i} + scale gate_i dropout(f_i).
 *
 * Training: the result is a new tensor, because other ops need h for their gradients; h takes over
 * its gradient without a copy. Serving: h is updated in place, so a skipped row costs nothing. */
#include "ops/ops.h"
#include "ops/stream_rows.h"

#include <string.h>

enum { H, F, GATE };

enum { ROWS = 16 };

struct residual {
    const struct sl_rows *rows;
    float scale;
    struct sl_dropout dropout;
    uint64_t random_key;
};

static int row_of(const struct residual *a, int i)
{
    return a->rows ? a->rows->index[i] : i;
}

/* The factor of row i of f. */
static float factor_of(const struct sl_node *n, int i)
{
    const struct residual *a = n->args;
    return n->in[GATE] ? a->scale * *sl_row(n->in[GATE], i) : a->scale;
}

struct residual_ctx {
    const struct sl_node *n;
    float *workers; /* a row for each */
};

/* Row i of f after dropout, before the gate. spare: cols floats. */
static const float *update_of(const struct sl_node *n, int i, float *spare)
{
    const struct residual *a = n->args;
    const float *f = sl_row(n->in[F], i);
    if (!a->dropout.threshold)
        return f;
    uint32_t key = sl_dropout_row_key(n->tape, a->random_key, row_of(a, i));
    n->tape->kernels->dropout(spare, f, a->dropout, key, 0, n->out->cols);
    return spare;
}

static void residual_forward_rows(void *ctx, int first, int last, int worker)
{
    const struct residual_ctx *p = ctx;
    const struct sl_node *n = p->n;
    const struct residual *a = n->args;
    int cols = n->out->cols;
    float *spare = p->workers + (size_t)worker * (size_t)cols;
    for (int i = first; i < last; i++) {
        int row = row_of(a, i);
        float *y = sl_row(n->out, row);
        if (n->out != n->in[H] && !a->rows)
            memcpy(y, sl_row(n->in[H], row), (size_t)cols * sizeof *y);
        n->tape->kernels->axpy(y, factor_of(n, i), update_of(n, i, spare), cols);
    }
}

static size_t residual_scratch(const struct sl_node *n, bool backward)
{
    (void)backward;
    return (size_t)sl_thread_pool_size(n->tape->pool) * (size_t)n->out->cols * sizeof(float);
}

static void residual_forward(const struct sl_node *n)
{
    struct residual_ctx p = {.n = n, .workers = sl_tape_scratch(n, residual_scratch(n, false))};
    const struct residual *a = n->args;
    if (a->rows)
        sl_stream_copy(n);
    sl_parallel_for(n->tape->pool, n->in[F]->rows, ROWS, residual_forward_rows, &p);
}

/* With u = dropout'(dy):  df = scale gate u,  dgate = scale <u, f>. */
static void backward_row(const struct sl_node *n, int i, float *spare)
{
    const struct sl_kernels *k = n->tape->kernels;
    const struct residual *a = n->args;
    const struct sl_tensor *f = n->in[F], *gate = n->in[GATE];
    const float *u = sl_grad_row(n->out, row_of(a, i));
    int cols = n->out->cols;
    if (a->dropout.threshold) {
        uint32_t key = sl_dropout_row_key(n->tape, a->random_key, row_of(a, i));
        k->dropout(spare, u, a->dropout, key, 0, cols);
        u = spare;
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

static void residual_backward_rows(void *ctx, int first, int last, int worker)
{
    const struct residual_ctx *p = ctx;
    float *spare = p->workers + (size_t)worker * (size_t)p->n->out->cols;
    for (int i = first; i < last; i++)
        backward_row(p->n, i, spare);
}

static void residual_backward(const struct sl_node *n)
{
    struct residual_ctx p = {.n = n, .workers = sl_tape_scratch(n, residual_scratch(n, true))};
    sl_parallel_for(n->tape->pool, n->in[F]->rows, ROWS, residual_backward_rows, &p);
    sl_stream_pass_gradient(n);
}

static const struct sl_op residual = {.name = "residual",
                                      .scratch = residual_scratch,
                                      .forward = residual_forward,
                                      .backward = residual_backward,
                                      .passes = 1 + H};

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
