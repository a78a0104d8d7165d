/* normalize.c - y = (x - mean) / sqrt(var + epsilon) * weight + bias (Ba et al. 2016, eq. 4), or
 * without the mean (Zhang & Sennrich 2019, eq. 4). */
#include "base/int_math.h"
#include "ops/ops.h"

#include <string.h>

enum { X };

enum { WEIGHT, BIAS };

enum {
    ROWS = 16, /* of a piece */
    BLOCK = 64 /* rows whose gradients of weight and bias are summed together */
};

struct normalize {
    struct sl_norm_row row;     /* of x */
    bool stream;                /* the result is fp32 */
    const struct sl_rows *rows; /* of x; NULL: all */
    float *stats;               /* per row: mean and 1 / deviation; kept while training */
};

static void forward_rows(void *ctx, int first, int last, int worker)
{
    const struct sl_node *n = ctx;
    const struct normalize *a = n->args;
    const struct sl_kernels *k = n->tape->kernels;
    const struct sl_tensor *x = n->in[X];
    float unused[2];
    (void)worker;
    for (int r = first; r < last; r++) {
        float *stats = a->stats ? a->stats + 2 * (size_t)r : unused;
        if (a->stream)
            k->normalize_f32(sl_row(n->out, r), sl_row(x, r), &a->row, stats);
        else
            k->normalize(sl_row_any(n->out, r), sl_row(x, a->rows ? a->rows->index[r] : r), &a->row,
                         stats);
    }
}

struct backward_ctx {
    const struct sl_node *n;
    float *partial; /* per block of rows: the gradients of weight, then of bias */
};

static void backward_block(void *ctx, int first, int last, int worker)
{
    const struct backward_ctx *p = ctx;
    const struct sl_node *n = p->n;
    const struct normalize *a = n->args;
    const struct sl_tensor *x = n->in[X];
    float *dweight = p->partial + (size_t)(first / BLOCK) * 2 * (size_t)x->cols;
    (void)worker;
    memset(dweight, 0, 2 * (size_t)x->cols * sizeof *dweight);
    for (int r = first; r < last; r++)
        n->tape->kernels->normalize_backward(
            &a->row, &(struct sl_norm_gradient){.dy = sl_grad_row(n->out, r),
                                                .x = sl_row(x, r),
                                                .stats = a->stats + 2 * (size_t)r,
                                                .dx = sl_grad_row(x, r),
                                                .dweight = dweight,
                                                .dbias = a->row.bias ? dweight + x->cols : NULL,
                                                .overwrite = n->overwrite[X]});
}

static int blocks_of(const struct sl_node *n)
{
    return sl_ceil_div(n->out->rows, BLOCK);
}

static size_t normalize_scratch(const struct sl_node *n, bool backward)
{
    return backward ? 2 * (size_t)blocks_of(n) * (size_t)n->out->cols * sizeof(float) : 0;
}

static void normalize_forward(const struct sl_node *n)
{
    sl_node_parallel(n, n->out->rows, ROWS, forward_rows);
}

/* Blocks are summed in order, independent of the thread that computed them. */
static void normalize_backward(const struct sl_node *n)
{
    struct backward_ctx p = {.n = n, .partial = sl_tape_scratch(n, normalize_scratch(n, true))};
    const struct sl_kernels *k = n->tape->kernels;
    int cols = n->out->cols;
    sl_parallel_for(n->tape->pool, n->out->rows, BLOCK, backward_block, &p);
    for (int b = 0; b < blocks_of(n); b++) {
        const float *partial = p.partial + (size_t)b * 2 * (size_t)cols;
        k->axpy(n->parameter[WEIGHT]->grad, 1.0f, partial, cols);
        if (n->parameter[BIAS])
            k->axpy(n->parameter[BIAS]->grad, 1.0f, partial + cols, cols);
    }
}

static const struct sl_op normalize = {.name = "normalize",
                                       .scratch = normalize_scratch,
                                       .forward = normalize_forward,
                                       .backward = normalize_backward};

static struct sl_tensor *record(struct sl_tape *t, struct sl_tensor *out, struct sl_tensor *x,
                                struct sl_norm_args args, struct normalize a)
{
    struct normalize *kept = sl_tape_struct(t, 1, sizeof *kept);
    assert(args.weight->cols == x->cols);
    assert(!args.bias || args.bias->cols == x->cols);
    *kept = a;
    kept->row = (struct sl_norm_row){.weight = args.weight->data,
                                     .bias = args.bias ? args.bias->data : NULL,
                                     .epsilon = args.epsilon,
                                     .rms = args.rms,
                                     .n = x->cols};
    if (t->training)
        kept->stats = sl_tape_take(t, 2 * (size_t)x->rows, sizeof *kept->stats);
    return sl_tape_run(t, (struct sl_node){.op = &normalize,
                                           .out = out,
                                           .in = {x},
                                           .parameter = {args.weight, args.bias},
                                           .args = kept});
}

struct sl_tensor *sl_normalize(struct sl_tape *t, struct sl_tensor *x, struct sl_norm_args args,
                               const struct sl_rows *rows)
{
    if (t->training) {
        x = sl_gather_rows(t, x, rows);
        rows = NULL;
    }
    struct sl_tensor *out = sl_operand_take(t, rows ? rows->count : x->rows, x->cols);
    return record(t, out, x, args, (struct normalize){.rows = rows});
}

struct sl_tensor *sl_normalize_stream(struct sl_tape *t, struct sl_tensor *x,
                                      struct sl_norm_args args)
{
    struct sl_tensor *out = t->training ? sl_tensor_take(t, x->rows, x->cols) : x;
    return record(t, out, x, args, (struct normalize){.stream = true});
}
