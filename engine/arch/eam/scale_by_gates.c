/* scale_by_gates.c - each expert's hidden features times its gate weight: z_{p c + j} = g_p x_{p c
 * + j}. */
#include "arch/eam/eam.h"

enum { X, GATE_WEIGHTS };

enum { ROWS = 16 };

struct scale_by_gates_ctx {
    const struct sl_node *n;
    float *workers; /* a row of x for each */
};

static size_t scale_by_gates_scratch(const struct sl_node *n, bool backward)
{
    (void)backward;
    return (size_t)sl_thread_pool_size(n->tape->pool) * (size_t)n->out->cols * sizeof(float);
}

static int slice_cols(const struct sl_node *n)
{
    return n->out->cols / n->in[GATE_WEIGHTS]->cols;
}

/* A row of x as fp32. */
static float *fp32_row(const struct scale_by_gates_ctx *p, int row, int worker)
{
    const struct sl_tensor *x = p->n->in[X];
    float *x_fp32 = p->workers + (size_t)worker * (size_t)x->cols;
    p->n->tape->kernels->from_operands(x_fp32, sl_row_any(x, row), x->cols);
    return x_fp32;
}

static void scale_by_gates_forward_rows(void *ctx, int first, int last, int worker)
{
    const struct scale_by_gates_ctx *p = ctx;
    const struct sl_node *n = p->n;
    const struct sl_kernels *k = n->tape->kernels;
    int cols = slice_cols(n);
    for (int r = first; r < last; r++) {
        const float *gate_weights = sl_row(n->in[GATE_WEIGHTS], r);
        float *x_fp32 = fp32_row(p, r, worker), *at = x_fp32;
        for (int slice = 0; slice < n->in[GATE_WEIGHTS]->cols; slice++, at += cols)
            k->scale(at, gate_weights[slice], at, cols);
        k->to_operands(sl_row_any(n->out, r), x_fp32, n->out->cols);
    }
}

static void scale_by_gates_forward(const struct sl_node *n)
{
    struct scale_by_gates_ctx p = {.n = n,
                                   .workers = sl_tape_scratch(n, scale_by_gates_scratch(n, false))};
    sl_parallel_for(n->tape->pool, n->out->rows, ROWS, scale_by_gates_forward_rows, &p);
}

/* dg_p = <dz_p, x_p>,  dx_p = g_p dz_p. */
static void scale_by_gates_backward_rows(void *ctx, int first, int last, int worker)
{
    const struct scale_by_gates_ctx *p = ctx;
    const struct sl_node *n = p->n;
    const struct sl_kernels *k = n->tape->kernels;
    int cols = slice_cols(n);
    for (int r = first; r < last; r++) {
        const float *gate_weights = sl_row(n->in[GATE_WEIGHTS], r), *dz = sl_grad_row(n->out, r);
        const float *x_fp32 = fp32_row(p, r, worker);
        float *dgate_weights = sl_grad_row(n->in[GATE_WEIGHTS], r), *dx = sl_grad_row(n->in[X], r);
        for (int slice = 0; slice < n->in[GATE_WEIGHTS]->cols; slice++) {
            int at = slice * cols;
            float before = n->overwrite[GATE_WEIGHTS] ? 0.0f : dgate_weights[slice];
            dgate_weights[slice] = before + k->dot(dz + at, x_fp32 + at, cols);
            k->scale(dx + at, gate_weights[slice], dz + at, cols);
        }
    }
}

static void scale_by_gates_backward(const struct sl_node *n)
{
    assert(n->overwrite[X]);
    struct scale_by_gates_ctx p = {.n = n,
                                   .workers = sl_tape_scratch(n, scale_by_gates_scratch(n, true))};
    sl_parallel_for(n->tape->pool, n->out->rows, ROWS, scale_by_gates_backward_rows, &p);
}

static const struct sl_op scale_by_gates = {.name = "scale_by_gates",
                                            .scratch = scale_by_gates_scratch,
                                            .forward = scale_by_gates_forward,
                                            .backward = scale_by_gates_backward};

struct sl_tensor *sl_scale_by_gates(struct sl_tape *t, struct sl_tensor *x,
                                    struct sl_tensor *gate_weights)
{
    assert(x->type == t->kernels->operand);
    assert(x->rows == gate_weights->rows);
    assert(x->cols % gate_weights->cols == 0);
    struct sl_tensor *out = sl_operand_take(t, x->rows, x->cols);
    return sl_tape_run(
        t, (struct sl_node){.op = &scale_by_gates, .out = out, .in = {x, gate_weights}});
}
