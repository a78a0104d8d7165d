/* normalize.c - y = (x - mean) / sqrt(var + epsilon) * weight + bias (Ba et al. 2016, eq. 4), or
 * without the mean (Zhang & Sennrich 2019, eq. 4). */
#include "ops/ops.h"

enum { X };

struct normalize {
    struct sl_norm_row row;     /* of x */
    bool stream;                /* the result is fp32 */
    const struct sl_rows *rows; /* of x; NULL: all */
    float *stats;               /* per row: mean and 1 / deviation; kept while training */
};

static void forward_row(const struct sl_node *n, int i)
{
    const struct normalize *a = n->args;
    const struct sl_kernels *k = n->tape->kernels;
    float unused[2], *stats = a->stats ? a->stats + 2 * (size_t)i : unused;
    const float *x = sl_row(n->in[X], sl_rows_at(a->rows, i));
    if (a->stream)
        k->normalize_f32(sl_row(n->out, i), x, &a->row, stats);
    else
        k->normalize(sl_row_any(n->out, i), x, &a->row, stats);
}

static void backward_row(const struct sl_node *n, int i)
{
    const struct normalize *a = n->args;
    n->tape->kernels->normalize_backward(
        &a->row, &(struct sl_norm_gradient){.dy = sl_grad_row(n->out, i),
                                            .x = sl_row(n->in[X], i),
                                            .stats = a->stats + 2 * (size_t)i,
                                            .dx = sl_grad_row(n->in[X], i),
                                            .dweight = n->sums,
                                            .dbias = a->row.bias ? n->sums + n->out->cols : NULL,
                                            .overwrite = n->overwrite[X]});
}

static const struct sl_op normalize = {.name = "normalize",
                                       .forward_row = forward_row,
                                       .backward_row = backward_row,
                                       .sums = true};

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
