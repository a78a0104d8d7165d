/* scale_parts.c - each part of a row times its own share: z_{p c + j} = share_p x_{p c + j}. */
#include "arch/eam/eam.h"

enum { X, SHARES };

enum { ROWS = 16 };

struct scale_parts_ctx {
    const struct sl_node *n;
    float *workers; /* a row of x for each */
};

static size_t scale_parts_scratch(const struct sl_node *n, bool backward)
{
    (void)backward;
    return (size_t)sl_pool_threads(n->tape->pool) * (size_t)n->out->cols * sizeof(float);
}

static int part_cols(const struct sl_node *n)
{
    return n->out->cols / n->in[SHARES]->cols;
}

/* A row of x as fp32. */
static float *wide_row(const struct scale_parts_ctx *p, int row, int worker)
{
    const struct sl_tensor *x = p->n->in[X];
    float *wide = p->workers + (size_t)worker * (size_t)x->cols;
    p->n->tape->kernels->from_operands(wide, sl_row_any(x, row), x->cols);
    return wide;
}

static void scale_parts_forward_rows(void *ctx, int first, int last, int worker)
{
    const struct scale_parts_ctx *p = ctx;
    const struct sl_node *n = p->n;
    const struct sl_kernels *k = n->tape->kernels;
    int cols = part_cols(n);
    for (int r = first; r < last; r++) {
        const float *shares = sl_row(n->in[SHARES], r);
        float *wide = wide_row(p, r, worker), *at = wide;
        for (int part = 0; part < n->in[SHARES]->cols; part++, at += cols)
            k->scale(at, shares[part], at, cols);
        k->to_operands(sl_row_any(n->out, r), wide, n->out->cols);
    }
}

static void scale_parts_forward(const struct sl_node *n)
{
    struct scale_parts_ctx p = {.n = n,
                                .workers = sl_tape_scratch(n, scale_parts_scratch(n, false))};
    sl_parallel(n->tape->pool, n->out->rows, ROWS, scale_parts_forward_rows, &p);
}

/* dshare_p = <dz_p, x_p>,  dx_p = share_p dz_p. */
static void scale_parts_backward_rows(void *ctx, int first, int last, int worker)
{
    const struct scale_parts_ctx *p = ctx;
    const struct sl_node *n = p->n;
    const struct sl_kernels *k = n->tape->kernels;
    int cols = part_cols(n);
    for (int r = first; r < last; r++) {
        const float *shares = sl_row(n->in[SHARES], r), *dz = sl_grad_row(n->out, r);
        const float *wide = wide_row(p, r, worker);
        float *dshares = sl_grad_row(n->in[SHARES], r), *dx = sl_grad_row(n->in[X], r);
        for (int part = 0; part < n->in[SHARES]->cols; part++) {
            int at = part * cols;
            float before = n->overwrite[SHARES] ? 0.0f : dshares[part];
            dshares[part] = before + k->dot(dz + at, wide + at, cols);
            k->scale(dx + at, shares[part], dz + at, cols);
        }
    }
}

static void scale_parts_backward(const struct sl_node *n)
{
    assert(n->overwrite[X]);
    struct scale_parts_ctx p = {.n = n,
                                .workers = sl_tape_scratch(n, scale_parts_scratch(n, true))};
    sl_parallel(n->tape->pool, n->out->rows, ROWS, scale_parts_backward_rows, &p);
}

static const struct sl_op scale_parts = {.name = "scale_parts",
                                         .scratch = scale_parts_scratch,
                                         .forward = scale_parts_forward,
                                         .backward = scale_parts_backward};

struct sl_tensor *sl_scale_parts(struct sl_tape *t, struct sl_tensor *x, struct sl_tensor *shares)
{
    assert(x->type == t->kernels->operand);
    assert(x->rows == shares->rows);
    assert(x->cols % shares->cols == 0);
    struct sl_tensor *out = sl_operand_take(t, x->rows, x->cols);
    return sl_tape_run(t, (struct sl_node){.op = &scale_parts, .out = out, .in = {x, shares}});
}
