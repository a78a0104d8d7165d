/* histogram_assign.c - softmax assignment of keys to bins. Epsilon, section 3.3, step 1, and
 * section 4.3. Per head:
 *
 *     a_i = softmax_b(K_i . A_b),  0 for what is left out
 *     loss += entropy_weight sum_i sum_b a_ib log a_ib */
#include "arch/epsilon/epsilon.h"
#include "arch/epsilon/histogram_bins.h"
#include "base/int_math.h"

#include <math.h>
#include <string.h>

enum { KEY_VALUE };

enum { ASSIGN };

static const float assignment_min = 1e-9f;

struct assign {
    struct sl_histogram_assign_args args;
    struct sl_bins_shape shape;
};

/* Scratch memory of one direction; pieces are SL_TILE_ROWS rows of the batch. */
struct histogram_assign_ctx {
    const struct sl_node *n;
    double *entropy_sums; /* forward, per piece */
    float *partial;       /* backward, per piece: the gradient of A */
    float *transposed;    /* backward: A, a row for each bin */
    float *workers;       /* backward: a tile of gradients for each */
};

static size_t pieces_of(const struct sl_node *n)
{
    return (size_t)sl_ceil_div(n->out->rows, SL_TILE_ROWS);
}

static size_t tile_floats(const struct assign *a)
{
    return SL_TILE_ROWS * (size_t)a->shape.bins;
}

static size_t histogram_assign_scratch(const struct sl_node *n, bool backward)
{
    const struct assign *a = n->args;
    size_t threads = (size_t)sl_thread_pool_size(n->tape->pool);
    size_t assign = sl_parameter_floats(n->parameter[ASSIGN]);
    if (!backward)
        return pieces_of(n) * sizeof(double);
    return ((pieces_of(n) + 1) * assign + threads * tile_floats(a)) * sizeof(float);
}

/* One head's keys, from a row on. */
static const float *keys_of(const struct sl_node *n, int row, int head)
{
    const struct assign *a = n->args;
    return sl_row(n->in[KEY_VALUE], row) + sl_head_column(&a->shape, head);
}

/* Numbers in one head's part of A. */
static size_t assign_floats(const struct assign *a)
{
    return sl_bins_floats(&a->shape) / 2;
}

static bool is_padding(const struct assign *a, int row)
{
    return a->args.padding && a->args.padding[row];
}

/* -- forward ------------------------------------------------------------------------------ */

/* The negative entropy of a row. */
static double entropy_loss(const float *assignments, int bins)
{
    double sum = 0.0;
    for (int b = 0; b < bins; b++)
        sum += (double)(assignments[b] * logf(fmaxf(assignments[b], assignment_min)));
    return sum;
}

/* The softmax of rows first to last - 1 of one head, whose bins begin at a column of n->out; zeros
 * for padding that has no bins. Returns the entropy loss of the others. */
static double assign_rows(const struct sl_node *n, int first, int last, size_t column)
{
    const struct assign *a = n->args;
    const int bins = a->shape.bins;
    double entropy = 0.0;
    n->tape->kernels->softmax_rows(sl_row(n->out, first) + column, n->out->stride, last - first,
                                   bins);
    for (int r = first; r < last; r++) {
        float *assignments = sl_row(n->out, r) + column;
        bool padding = is_padding(a, r);
        if (padding && !a->args.bin_padding)
            memset(assignments, 0, (size_t)bins * sizeof *assignments);
        if (!padding && a->args.entropy_weight > 0.0f)
            entropy += entropy_loss(assignments, bins);
    }
    return entropy;
}

static void histogram_assign_forward_rows(void *ctx, int first, int last, int worker)
{
    const struct histogram_assign_ctx *p = ctx;
    const struct sl_node *n = p->n;
    const struct assign *a = n->args;
    double entropy = 0.0;
    (void)worker;
    for (int h = 0; h < a->shape.heads; h++) {
        size_t column = (size_t)h * (size_t)a->shape.bins;
        n->tape->kernels->small_gemm(
            &(struct sl_small_gemm){.x = keys_of(n, first, h),
                                    .x_row = n->in[KEY_VALUE]->stride,
                                    .x_col = 1,
                                    .b = n->parameter[ASSIGN]->data + (size_t)h * assign_floats(a),
                                    .b_row = (size_t)a->shape.bins,
                                    .y = sl_row(n->out, first) + column,
                                    .y_row = n->out->stride,
                                    .m = last - first,
                                    .n = a->shape.bins,
                                    .k = a->shape.head_dim});
        entropy += assign_rows(n, first, last, column);
    }
    p->entropy_sums[first / SL_TILE_ROWS] = entropy;
}

static void histogram_assign_forward(const struct sl_node *n)
{
    const struct assign *a = n->args;
    struct histogram_assign_ctx p = {
        .n = n, .entropy_sums = sl_tape_scratch(n, histogram_assign_scratch(n, false))};
    sl_parallel_for(n->tape->pool, n->out->rows, SL_TILE_ROWS, histogram_assign_forward_rows, &p);
    double entropy = 0.0;
    for (size_t i = 0; i < pieces_of(n); i++)
        entropy += p.entropy_sums[i];
    n->tape->stats.aux_loss += entropy * (double)a->args.entropy_weight;
}

/* -- backward ----------------------------------------------------------------------------- */

/* With da the gradient of the assignments and entropy_weight (log a_ib + 1):  dl_i = a_i (da_i -
 * <a_i, da_i>). */
static void backward_row(const struct sl_node *n, int row, size_t column, float *dl)
{
    const struct assign *a = n->args;
    int bins = a->shape.bins;
    const float *assignments = sl_row(n->out, row) + column;
    memcpy(dl, sl_grad_row(n->out, row) + column, (size_t)bins * sizeof *dl);
    bool has_entropy = a->args.entropy_weight > 0.0f && !is_padding(a, row);
    for (int b = 0; has_entropy && b < bins; b++)
        dl[b] += a->args.entropy_weight * (logf(fmaxf(assignments[b], assignment_min)) +
                                           (assignments[b] >= assignment_min ? 1.0f : 0.0f));
    float mean = n->tape->kernels->dot(assignments, dl, bins);
    for (int b = 0; b < bins; b++)
        dl[b] = assignments[b] * (dl[b] - mean);
}

/* dK_i += sum_b dl_ib A_b;  dA = K^T dl, of one piece. */
static void backward_products(const struct histogram_assign_ctx *pass, int first, int last,
                              int head, const float *dl)
{
    const struct sl_node *n = pass->n;
    const struct assign *a = n->args;
    int dim = a->shape.head_dim, bins = a->shape.bins;
    size_t at = (size_t)head * assign_floats(a);
    size_t piece = (size_t)(first / SL_TILE_ROWS) * sl_parameter_floats(n->parameter[ASSIGN]);
    n->tape->kernels->small_gemm(&(struct sl_small_gemm){.x = dl,
                                                         .x_row = (size_t)bins,
                                                         .x_col = 1,
                                                         .b = pass->transposed + at,
                                                         .b_row = (size_t)dim,
                                                         .y = sl_grad_row(n->in[KEY_VALUE], first) +
                                                              sl_head_column(&a->shape, head),
                                                         .y_row = (size_t)n->in[KEY_VALUE]->cols,
                                                         .m = last - first,
                                                         .n = dim,
                                                         .k = bins,
                                                         .accumulate = true});
    n->tape->kernels->small_gemm(&(struct sl_small_gemm){.x = keys_of(n, first, head),
                                                         .x_row = 1,
                                                         .x_col = n->in[KEY_VALUE]->stride,
                                                         .b = dl,
                                                         .b_row = (size_t)bins,
                                                         .y = pass->partial + piece + at,
                                                         .y_row = (size_t)bins,
                                                         .m = dim,
                                                         .n = bins,
                                                         .k = last - first});
}

static void histogram_assign_backward_rows(void *ctx, int first, int last, int worker)
{
    const struct histogram_assign_ctx *p = ctx;
    const struct sl_node *n = p->n;
    const struct assign *a = n->args;
    size_t bins = (size_t)a->shape.bins, cols = (size_t)n->in[KEY_VALUE]->cols;
    float *dl = p->workers + (size_t)worker * tile_floats(a);
    if (n->overwrite[KEY_VALUE])
        memset(sl_grad_row(n->in[KEY_VALUE], first), 0,
               (size_t)(last - first) * cols * sizeof(float));
    for (int h = 0; h < a->shape.heads; h++) {
        for (int r = first; r < last; r++)
            backward_row(n, r, (size_t)h * bins, dl + (size_t)(r - first) * bins);
        backward_products(p, first, last, h, dl);
    }
}

/* Pieces are summed in order, independent of the thread that computed them. */
static void histogram_assign_backward(const struct sl_node *n)
{
    const struct assign *a = n->args;
    const struct sl_parameter *assign = n->parameter[ASSIGN];
    size_t floats = sl_parameter_floats(assign);
    struct histogram_assign_ctx p = {
        .n = n, .partial = sl_tape_scratch(n, histogram_assign_scratch(n, true))};
    p.transposed = p.partial + pieces_of(n) * floats;
    p.workers = p.transposed + floats;
    for (int h = 0; h < a->shape.heads; h++) {
        size_t at = (size_t)h * assign_floats(a);
        sl_transpose(p.transposed + at, assign->data + at, a->shape.head_dim, a->shape.bins);
    }
    sl_parallel_for(n->tape->pool, n->out->rows, SL_TILE_ROWS, histogram_assign_backward_rows, &p);
    for (size_t i = 0; i < pieces_of(n); i++)
        n->tape->kernels->axpy(assign->grad, 1.0f, p.partial + i * floats, (int)floats);
}

static const struct sl_op assign = {.name = "histogram_assign",
                                    .scratch = histogram_assign_scratch,
                                    .forward = histogram_assign_forward,
                                    .backward = histogram_assign_backward};

struct sl_tensor *sl_histogram_assign(struct sl_tape *t, struct sl_tensor *key_value,
                                      struct sl_histogram_assign_args args)
{
    int width = key_value->cols / 2, bins = args.assign->cols;
    assert(key_value->type == SL_F32);
    assert(args.assign->rows == width);
    assert(width % args.heads == 0);
    struct assign *a = sl_tape_struct(t, 1, sizeof *a);
    a->args = args;
    a->shape = (struct sl_bins_shape){args.heads, width / args.heads, bins};
    return sl_tape_run(
        t, (struct sl_node){.op = &assign,
                            .out = sl_tensor_take(t, key_value->rows, args.heads * bins),
                            .in = {key_value},
                            .parameter = {args.assign},
                            .args = a});
}
