/* layernorm.c - y = (x - mean) / sqrt(var + epsilon) * weight + bias.  Ba et al. 2016, eq. 4. */
#include "base/int_math.h"
#include "ops/ops.h"

#include <string.h>

enum { X };

enum { GAIN, SHIFT };

enum {
    ROWS = 16, /* of a piece */
    BLOCK = 64 /* rows whose gradients of weight and bias are summed together */
};

struct layernorm {
    float epsilon;
    bool stream;                /* the result is fp32 */
    const struct sl_rows *rows; /* of x; NULL: all */
    float *stats;               /* per row: mean and 1 / deviation; kept while training */
};

/* One row. With `spare`, the result goes there first and then over x. */
static void forward_row(const struct sl_node *n, int r, float *spare)
{
    const struct layernorm *a = n->args;
    const struct sl_kernels *k = n->tape->kernels;
    const struct sl_tensor *x = n->in[X];
    const float *weight = n->parameter[GAIN]->data, *bias = n->parameter[SHIFT]->data;
    float unused[2], *stats = a->stats ? a->stats + 2 * (size_t)r : unused;
    if (!a->stream) {
        k->layernorm(sl_row_any(n->out, r), sl_row(x, a->rows ? a->rows->index[r] : r), weight,
                     bias, a->epsilon, x->cols, stats);
        return;
    }
    bool over = n->out == x;
    float *y = over ? spare : sl_row(n->out, r);
    k->layernorm_f32(y, sl_row(x, r), weight, bias, a->epsilon, x->cols, stats);
    if (over)
        memcpy(sl_row(x, r), y, (size_t)x->cols * sizeof *y);
}

struct forward_pass {
    const struct sl_node *n;
    float *workers; /* a row for each */
};

static void layernorm_forward_rows(void *ctx, int first, int last, int worker)
{
    const struct forward_pass *p = ctx;
    float *spare = p->workers + (size_t)worker * (size_t)p->n->out->cols;
    for (int r = first; r < last; r++)
        forward_row(p->n, r, spare);
}

struct backward_pass {
    const struct sl_node *n;
    float *partial; /* per block of rows: the gradients of weight, then of bias */
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
        n->tape->kernels->layernorm_backward(
            sl_grad_row(x, r), n->overwrite[X], sl_grad_row(n->out, r), sl_row(x, r),
            n->parameter[GAIN]->data, a->stats + 2 * (size_t)r, dgain, dgain + x->cols, x->cols);
}

static int blocks_of(const struct sl_node *n)
{
    return sl_ceil_div(n->out->rows, BLOCK);
}

static size_t layernorm_scratch(const struct sl_node *n, bool backward)
{
    size_t row = (size_t)n->out->cols * sizeof(float);
    return row * (backward ? 2 * (size_t)blocks_of(n) : (size_t)sl_thread_pool_size(n->tape->pool));
}

static void layernorm_forward(const struct sl_node *n)
{
    struct forward_pass p = {.n = n, .workers = sl_tape_scratch(n, layernorm_scratch(n, false))};
    sl_parallel_for(n->tape->pool, n->out->rows, ROWS, layernorm_forward_rows, &p);
}

/* Blocks are summed in order, independent of the thread that computed them. */
static void layernorm_backward(const struct sl_node *n)
{
    struct backward_pass p = {.n = n, .partial = sl_tape_scratch(n, layernorm_scratch(n, true))};
    const struct sl_kernels *k = n->tape->kernels;
    int cols = n->out->cols;
    sl_parallel_for(n->tape->pool, n->out->rows, BLOCK, backward_block, &p);
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

static struct sl_tensor *record(struct sl_tape *t, struct sl_node n, struct layernorm a)
{
    struct layernorm *kept = sl_tape_struct(t, 1, sizeof *kept);
    const struct sl_tensor *x = n.in[X];
    assert(n.parameter[GAIN]->cols == x->cols);
    assert(n.parameter[SHIFT]->cols == x->cols);
    *kept = a;
    if (t->training)
        kept->stats = sl_tape_take(t, 2 * (size_t)x->rows, sizeof *kept->stats);
    n.op = &layernorm;
    n.args = kept;
    return sl_tape_run(t, n);
}

struct sl_tensor *sl_layernorm(struct sl_tape *t, struct sl_tensor *x,
                               const struct sl_parameter *weight, const struct sl_parameter *bias,
                               float epsilon, const struct sl_rows *rows)
{
    if (t->training) {
        x = sl_gather_rows(t, x, rows);
        rows = NULL;
    }
    struct sl_tensor *out = sl_operand_take(t, rows ? rows->count : x->rows, x->cols);
    return record(t, (struct sl_node){.out = out, .in = {x}, .parameter = {weight, bias}},
                  (struct layernorm){.epsilon = epsilon, .rows = rows});
}

struct sl_tensor *sl_layernorm_stream(struct sl_tape *t, struct sl_tensor *x,
                                      const struct sl_parameter *weight,
                                      const struct sl_parameter *bias, float epsilon)
{
    struct sl_tensor *out = t->training ? sl_tensor_take(t, x->rows, x->cols) : x;
    return record(t, (struct sl_node){.out = out, .in = {x}, .parameter = {weight, bias}},
                  (struct layernorm){.epsilon = epsilon, .stream = true});
}
