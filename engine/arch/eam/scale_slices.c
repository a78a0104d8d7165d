/* scale_slices.c - each slice of a row times its own weight: z_{p c + j} = w_p x_{p c + j}. */
#include "arch/eam/eam.h"

enum { X, GATE_WEIGHTS };

enum { ROWS = 16 };

struct scale_slices_ctx {
    const struct sl_node *n;
    float *workers; /* a row of x for each */
};

static size_t scale_slices_scratch(const struct sl_node *n, bool backward)
{
    (void)backward;
    return (size_t)sl_pool_threads(n->tape->pool) * (size_t)n->out->cols * sizeof(float);
}

static int part_cols(const struct sl_node *n)
{
    return n->out->cols / n->in[GATE_WEIGHTS]->cols;
}

/* A row of x as fp32. */
static float *wide_row(const struct scale_slices_ctx *p, int row, int worker)
{
    const struct sl_tensor *x = p->n->in[X];
    float *wide = p->workers + (size_t)worker * (size_t)x->cols;
    p->n->tape->kernels->from_operands(wide, sl_row_any(x, row), x->cols);
    return wide;
}

static void scale_slices_forward_rows(void *ctx, int first, int last, int worker)
{
    const struct scale_slices_ctx *p = ctx;
    const struct sl_node *n = p->n;
    const struct sl_kernels *k = n->tape->kernels;
    int cols = part_cols(n);
    for (int r = first; r < last; r++) {
        const float *gate_weights = sl_row(n->in[GATE_WEIGHTS], r);
        float *wide = wide_row(p, r, worker), *at = wide;
        for (int part = 0; part < n->in[GATE_WEIGHTS]->cols; part++, at += cols)
            k->scale(at, gate_weights[part], at, cols);
        k->to_operands(sl_row_any(n->out, r), wide, n->out->cols);
    }
}

static void scale_slices_forward(const struct sl_node *n)
{
    struct scale_slices_ctx p = {.n = n,
                                 .workers = sl_tape_scratch(n, scale_slices_scratch(n, false))};
    sl_parallel(n->tape->pool, n->out->rows, ROWS, scale_slices_forward_rows, &p);
}

/* dshare_p = <dz_p, x_p>,  dx_p = share_p dz_p. */
static void scale_slices_backward_rows(void *ctx, int first, int last, int worker)
{
    const struct scale_slices_ctx *p = ctx;
    const struct sl_node *n = p->n;
    const struct sl_kernels *k = n->tape->kernels;
    int cols = part_cols(n);
    for (int r = first; r < last; r++) {
        const float *gate_weights = sl_row(n->in[GATE_WEIGHTS], r), *dz = sl_grad_row(n->out, r);
        const float *wide = wide_row(p, r, worker);
        float *dgate_weights = sl_grad_row(n->in[GATE_WEIGHTS], r), *dx = sl_grad_row(n->in[X], r);
        for (int part = 0; part < n->in[GATE_WEIGHTS]->cols; part++) {
            int at = part * cols;
            float before = n->overwrite[GATE_WEIGHTS] ? 0.0f : dgate_weights[part];
            dgate_weights[part] = before + k->dot(dz + at, wide + at, cols);
            k->scale(dx + at, gate_weights[part], dz + at, cols);
        }
    }
}

static void scale_slices_backward(const struct sl_node *n)
{
    assert(n->overwrite[X]);
    struct scale_slices_ctx p = {.n = n,
                                 .workers = sl_tape_scratch(n, scale_slices_scratch(n, true))};
    sl_parallel(n->tape->pool, n->out->rows, ROWS, scale_slices_backward_rows, &p);
}

static const struct sl_op scale_slices = {.name = "scale_slices",
                                          .scratch = scale_slices_scratch,
                                          .forward = scale_slices_forward,
                                          .backward = scale_slices_backward};

struct sl_tensor *sl_scale_slices(struct sl_tape *t, struct sl_tensor *x,
                                  struct sl_tensor *gate_weights)
{
    assert(x->type == t->kernels->operand);
    assert(x->rows == gate_weights->rows);
    assert(x->cols % gate_weights->cols == 0);
    struct sl_tensor *out = sl_operand_take(t, x->rows, x->cols);
    return sl_tape_run(t,
                       (struct sl_node){.op = &scale_slices, .out = out, .in = {x, gate_weights}});
}
