/* layernorm.c - y = (x - mean) / sqrt(var + epsilon) * gain + shift.  Ba et al. 2016, eq. 4. */
#include "ops/ops.h"

#include <string.h>

enum { X };

enum { GAIN, SHIFT };

enum { BLOCK = 64 }; /* rows whose gradients of gain and shift are summed together */

struct layernorm {
    float epsilon;
    float *stats; /* per row: mean and 1 / deviation; kept while training */
};

static void forward_rows(void *ctx, int first, int last, int worker)
{
    const struct sl_node *n = ctx;
    const struct layernorm *a = n->args;
    const struct sl_tensor *x = n->in[X];
    float unused[2];
    (void)worker;
    for (int r = first; r < last; r++)
        n->tape->kernels->layernorm(sl_row_any(n->out, r), sl_row(x, r), n->parameter[GAIN]->data,
                                    n->parameter[SHIFT]->data, a->epsilon, x->cols,
                                    a->stats ? a->stats + 2 * r : unused);
}

static void layernorm_forward(const struct sl_node *n)
{
    sl_node_parallel(n, n->out->rows, BLOCK, forward_rows);
}

struct backward_pass {
    const struct sl_node *n;
    float *partial; /* per block of rows: the gradients of gain, then of shift */
};

static void backward_block(void *ctx, int first, int last, int worker)
{
    const struct backward_pass *p = ctx;
    const struct sl_node *n = p->n;
    const struct layernorm *a = n->args;
    const struct sl_tensor *x = n->in[X];
    float *dgain = p->partial + (size_t)(first / BLOCK) * 2 * (size_t)x->cols;
    (void)worker;
    memset(dgain, 0, 2 * (size_t)x->cols * sizeof *dgain);
    for (int r = first; r < last; r++)
        n->tape->kernels->layernorm_back(sl_grad_row(x, r), n->fresh[X], sl_grad_row(n->out, r),
                                         sl_row(x, r), n->parameter[GAIN]->data, a->stats + 2 * r,
                                         dgain, dgain + x->cols, x->cols);
}

static int blocks_of(const struct sl_node *n)
{
    return (n->out->rows + BLOCK - 1) / BLOCK;
}

static size_t layernorm_scratch(const struct sl_node *n, bool backward)
{
    return backward ? (size_t)blocks_of(n) * 2 * (size_t)n->out->cols * sizeof(float) : 0;
}

/* Blocks are summed in their order, whoever computed them. */
static void layernorm_backward(const struct sl_node *n)
{
    struct backward_pass p = {.n = n, .partial = sl_tape_scratch(n, layernorm_scratch(n, true))};
    const struct sl_kernels *k = n->tape->kernels;
    int cols = n->out->cols;
    sl_parallel(n->tape->pool, n->out->rows, BLOCK, backward_block, &p);
    for (int b = 0; b < blocks_of(n); b++) {
        const float *partial = p.partial + (size_t)b * 2 * (size_t)cols;
        k->axpy(n->parameter[GAIN]->grad, 1.0f, partial, cols);
        k->axpy(n->parameter[SHIFT]->grad, 1.0f, partial + cols, cols);
    }
}

static const struct sl_op layernorm = {.name = "layernorm",
                                       .scratch = layernorm_scratch,
                                       .forward = layernorm_forward,
                                       .backward = layernorm_backward};

struct sl_tensor *sl_layernorm(struct sl_tape *t, struct sl_tensor *x,
                               const struct sl_parameter *gain, const struct sl_parameter *shift,
                               float epsilon)
{
    assert(gain->cols == x->cols);
    assert(shift->cols == x->cols);
    struct layernorm *a = sl_tape_struct(t, 1, sizeof *a);
    a->epsilon = epsilon;
    struct sl_tensor *out = sl_operand_take(t, x->rows, x->cols);
    if (t->training)
        a->stats = sl_tape_take(t, 2 * (size_t)x->rows, sizeof *a->stats);
    return sl_tape_run(
        t, (struct sl_node){
               .op = &layernorm, .out = out, .in = {x}, .parameter = {gain, shift}, .args = a});
}
