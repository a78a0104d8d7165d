/* diagonal_scale.c - y_ic = x_ic s_c: a diagonal matrix between two products. */
#include "arch/transevolve/transevolve.h"
#include "base/int_math.h"

#include <string.h>

enum { X };

enum { SCALES };

enum { BLOCK = 64, CHUNK = 128 }; /* rows whose ds are summed together; columns at a time */

static void diagonal_scale_forward_rows(void *ctx, int first, int last, int worker)
{
    const struct sl_node *n = ctx;
    const struct sl_kernels *k = n->tape->kernels;
    const float *s = n->parameter[SCALES]->data;
    float y[CHUNK];
    (void)worker;
    for (int r = first; r < last; r++)
        for (int c0 = 0; c0 < n->out->cols; c0 += CHUNK) {
            const float *x = sl_row(n->in[X], r);
            int end = sl_min(c0 + CHUNK, n->out->cols);
            for (int c = c0; c < end; c++)
                y[c - c0] = x[c] * s[c];
            size_t at = (size_t)c0 * sl_type_bytes(n->out->type);
            k->to_operands((char *)sl_row_any(n->out, r) + at, y, end - c0);
        }
}

static void diagonal_scale_forward(const struct sl_node *n)
{
    sl_node_parallel(n, n->out->rows, BLOCK, diagonal_scale_forward_rows);
}

struct backward_pass {
    const struct sl_node *n;
    float *partial; /* per block of rows: ds */
};

/* dx = dy s;  ds += dy x, over the rows of one block. */
static void backward_block(void *ctx, int first, int last, int worker)
{
    const struct backward_pass *p = ctx;
    const struct sl_node *n = p->n;
    const float *s = n->parameter[SCALES]->data;
    int cols = n->out->cols;
    float *ds = p->partial + (size_t)(first / BLOCK) * (size_t)cols;
    (void)worker;
    memset(ds, 0, (size_t)cols * sizeof *ds);
    for (int r = first; r < last; r++) {
        const float *x = sl_row(n->in[X], r), *dy = sl_grad_row(n->out, r);
        float *dx = sl_grad_row(n->in[X], r);
        for (int c = 0; c < cols; c++) {
            dx[c] = (n->overwrite[X] ? 0.0f : dx[c]) + dy[c] * s[c];
            ds[c] += dy[c] * x[c];
        }
    }
}

static int blocks_of(const struct sl_node *n)
{
    return sl_ceil_div(n->out->rows, BLOCK);
}

static size_t diagonal_scale_scratch(const struct sl_node *n, bool backward)
{
    return backward ? (size_t)blocks_of(n) * (size_t)n->out->cols * sizeof(float) : 0;
}

/* Blocks are summed in order, independent of the thread that computed them. */
static void diagonal_scale_backward(const struct sl_node *n)
{
    struct backward_pass p = {.n = n,
                              .partial = sl_tape_scratch(n, diagonal_scale_scratch(n, true))};
    int cols = n->out->cols;
    sl_parallel_for(n->tape->pool, n->out->rows, BLOCK, backward_block, &p);
    for (int b = 0; b < blocks_of(n); b++)
        n->tape->kernels->axpy(n->parameter[SCALES]->grad, 1.0f,
                               p.partial + (size_t)b * (size_t)cols, cols);
}

static const struct sl_op diagonal_scale = {.name = "diagonal_scale",
                                            .scratch = diagonal_scale_scratch,
                                            .forward = diagonal_scale_forward,
                                            .backward = diagonal_scale_backward};

struct sl_tensor *sl_diagonal_scale(struct sl_tape *t, struct sl_tensor *x,
                                    const struct sl_parameter *s)
{
    assert(s->cols >= x->cols);
    return sl_tape_run(t, (struct sl_node){.op = &diagonal_scale,
                                           .out = sl_operand_take(t, x->rows, x->cols),
                                           .in = {x},
                                           .parameter = {s}});
}
