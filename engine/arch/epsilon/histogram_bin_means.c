/* histogram_bin_means.c - keys and values of bins: the means of those of a segment's rows. Epsilon,
 * section 3.3, step 2. Per head, with the assignments a of histogram_assign.c:
 *
 *     M_b = sum_i a_ib + 1e-6
 *     keys_b = sum_i a_ib K_i / M_b;   values_b = sum_i a_ib V_i / M_b */
#include "arch/epsilon/epsilon.h"
#include "arch/epsilon/histogram_bins.h"

#include <string.h>

enum { KEY_VALUE, ASSIGNMENTS };

struct bin_means {
    struct sl_histogram_bin_means_args args;
    struct sl_bins_shape shape;
    struct sl_tiles tiles;
    float *divisors; /* segments x heads x bins: M, kept while training */
};

/* Scratch memory of one direction: results of tiles, and memory of workers. */
struct histogram_bin_means_ctx {
    const struct sl_node *n;
    float *partial; /* forward, per tile and head: sums of keys, of values, of assignments */
    float *workers; /* backward: `struct bin_gradients` of each */
};

static size_t partial_floats(const struct bin_means *a)
{
    return sl_bins_floats(&a->shape) + (size_t)a->shape.bins;
}

static size_t worker_floats(const struct bin_means *a)
{
    return 2 * sl_bins_floats(&a->shape) + (size_t)a->shape.bins;
}

static size_t histogram_bin_means_scratch(const struct sl_node *n, bool backward)
{
    const struct bin_means *a = n->args;
    size_t pieces = (size_t)a->tiles.max * (size_t)a->shape.heads;
    size_t threads = (size_t)sl_thread_pool_size(n->tape->pool);
    return (backward ? threads * worker_floats(a) : pieces * partial_floats(a)) * sizeof(float);
}

static float *partial_of(const struct histogram_bin_means_ctx *p, int tile, int head)
{
    const struct bin_means *a = p->n->args;
    return p->partial + (size_t)(tile * a->shape.heads + head) * partial_floats(a);
}

/* One head's keys of a tile; its values are `width` further. */
static const float *keys_of(const struct sl_node *n, const struct sl_tile *tile, int head)
{
    const struct bin_means *a = n->args;
    return sl_row(n->in[KEY_VALUE], tile->first) + sl_head_column(&a->shape, head);
}

static int width_of(const struct sl_node *n)
{
    return n->in[KEY_VALUE]->cols / 2;
}

/* The column of a head's first assignment. */
static size_t assignment_column(const struct bin_means *a, int head)
{
    return (size_t)head * (size_t)a->shape.bins;
}

/* -- forward ------------------------------------------------------------------------------ */

/* The sums of a tile's rows in one head's bins: keys, values, assignments. */
static void sum_tile(const struct sl_node *n, const struct sl_tile *tile, int head, float *sums)
{
    static const float one = 1.0f;
    const struct bin_means *a = n->args;
    size_t bins = (size_t)a->shape.bins, half = (size_t)a->shape.head_dim * bins;
    struct sl_small_gemm p = {.x = keys_of(n, tile, head),
                              .x_row = 1,
                              .x_col = n->in[KEY_VALUE]->stride,
                              .b = sl_row(n->in[ASSIGNMENTS], tile->first) +
                                   assignment_column(a, head),
                              .b_row = n->in[ASSIGNMENTS]->stride,
                              .y_row = bins,
                              .m = a->shape.head_dim,
                              .n = a->shape.bins,
                              .k = tile->count};
    p.y = sums;
    n->tape->kernels->small_gemm(&p);
    p.x += width_of(n);
    p.y += half;
    n->tape->kernels->small_gemm(&p);
    p.x = &one;
    p.x_row = p.x_col = 0;
    p.y += half;
    p.m = 1;
    n->tape->kernels->small_gemm(&p);
}

static void forward_tiles(void *ctx, int first, int last, int worker)
{
    const struct histogram_bin_means_ctx *p = ctx;
    const struct bin_means *a = p->n->args;
    (void)worker;
    for (int i = first; i < last; i++)
        for (int h = 0; h < a->shape.heads; h++)
            sum_tile(p->n, &a->tiles.at[i], h, partial_of(p, i, h));
}

/* One head of one segment: the sums of its tiles, divided by the divisors. */
static void finish(const struct histogram_bin_means_ctx *p, int segment, int head)
{
    const struct bin_means *a = p->n->args;
    int bins = a->shape.bins, first = a->tiles.first[segment], last = a->tiles.first[segment + 1];
    float *sums = partial_of(p, first, head), *divisor = sums + sl_bins_floats(&a->shape);
    float *out = sl_row(p->n->out, segment) + (size_t)head * sl_bins_floats(&a->shape);
    assert(first < last);
    for (int i = first + 1; i < last; i++)
        p->n->tape->kernels->axpy(sums, 1.0f, partial_of(p, i, head), (int)partial_floats(a));
    for (int b = 0; b < bins; b++)
        divisor[b] = sl_bin_divisor(divisor[b]);
    for (int c = 0; c < 2 * a->shape.head_dim; c++, sums += bins, out += bins)
        for (int b = 0; b < bins; b++)
            out[b] = sums[b] / divisor[b];
    if (a->divisors)
        memcpy(a->divisors + (size_t)(segment * a->shape.heads + head) * (size_t)bins, divisor,
               (size_t)bins * sizeof *divisor);
}

static void forward_segments(void *ctx, int first, int last, int worker)
{
    const struct histogram_bin_means_ctx *p = ctx;
    const struct bin_means *a = p->n->args;
    (void)worker;
    for (int i = first; i < last; i++)
        finish(p, i / a->shape.heads, i % a->shape.heads);
}

static void histogram_bin_means_forward(const struct sl_node *n)
{
    const struct bin_means *a = n->args;
    struct histogram_bin_means_ctx p = {
        .n = n, .partial = sl_tape_scratch(n, histogram_bin_means_scratch(n, false))};
    sl_parallel_for(n->tape->pool, a->tiles.count, 1, forward_tiles, &p);
    sl_parallel_for(n->tape->pool, n->out->rows * a->shape.heads, 4, forward_segments, &p);
}

/* -- backward ----------------------------------------------------------------------------- */

/* Of one head of one segment: the gradients of its bins divided by M, and their transpose; and
 * (keys_b . dkeys_b + values_b . dvalues_b) / M_b. */
struct bin_gradients {
    float *by_column, *by_bin, *centre;
};

static struct bin_gradients bin_gradients_of(const struct histogram_bin_means_ctx *p, int segment,
                                             int head, int worker)
{
    const struct sl_node *n = p->n;
    const struct bin_means *a = n->args;
    int bins = a->shape.bins, cols = 2 * a->shape.head_dim;
    size_t floats = sl_bins_floats(&a->shape), at = (size_t)head * floats;
    const float *out = sl_row(n->out, segment) + at, *dout = sl_grad_row(n->out, segment) + at;
    const float *divisor = a->divisors + (size_t)(segment * a->shape.heads + head) * (size_t)bins;
    float *by_column = p->workers + (size_t)worker * worker_floats(a),
          *centre = by_column + 2 * floats;
    memset(centre, 0, (size_t)bins * sizeof *centre);
    for (int c = 0; c < cols; c++, out += bins, dout += bins)
        for (int b = 0; b < bins; b++) {
            float gradient = dout[b] / divisor[b];
            by_column[c * bins + b] = gradient;
            centre[b] += out[b] * gradient;
        }
    sl_transpose(by_column + floats, by_column, cols, bins);
    return (struct bin_gradients){by_column, by_column + floats, centre};
}

/* da_ib = (K_i . dkeys_b + V_i . dvalues_b - c_b) / M_b. */
static void backward_assignments(const struct sl_node *n, const struct sl_tile *tile, int head,
                                 const struct bin_gradients *s)
{
    const struct bin_means *a = n->args;
    struct sl_tensor *assignments = n->in[ASSIGNMENTS];
    struct sl_small_gemm p = {.x = keys_of(n, tile, head),
                              .x_row = n->in[KEY_VALUE]->stride,
                              .x_col = 1,
                              .b = s->by_column,
                              .b_row = (size_t)a->shape.bins,
                              .y = sl_grad_row(assignments, tile->first) +
                                   assignment_column(a, head),
                              .y_row = (size_t)assignments->cols,
                              .m = tile->count,
                              .n = a->shape.bins,
                              .k = a->shape.head_dim,
                              .accumulate = !n->overwrite[ASSIGNMENTS]};
    n->tape->kernels->small_gemm(&p);
    p.x += width_of(n);
    p.b += (size_t)a->shape.head_dim * p.b_row;
    p.accumulate = true;
    n->tape->kernels->small_gemm(&p);
    for (int i = 0; i < tile->count; i++)
        n->tape->kernels->axpy(p.y + (size_t)i * p.y_row, -1.0f, s->centre, a->shape.bins);
}

/* dK_i = sum_b a_ib dkeys_b / M_b;  dV_i = sum_b a_ib dvalues_b / M_b. */
static void histogram_bin_means_backward_rows(const struct sl_node *n, const struct sl_tile *tile,
                                              int head, const struct bin_gradients *s)
{
    const struct bin_means *a = n->args;
    int dim = a->shape.head_dim;
    struct sl_small_gemm p = {
        .x = sl_row(n->in[ASSIGNMENTS], tile->first) + assignment_column(a, head),
        .x_row = n->in[ASSIGNMENTS]->stride,
        .x_col = 1,
        .b = s->by_bin,
        .b_row = 2 * (size_t)dim,
        .y = sl_grad_row(n->in[KEY_VALUE], tile->first) + sl_head_column(&a->shape, head),
        .y_row = (size_t)n->in[KEY_VALUE]->cols,
        .m = tile->count,
        .n = dim,
        .k = a->shape.bins,
        .accumulate = !n->overwrite[KEY_VALUE]};
    n->tape->kernels->small_gemm(&p);
    p.b += dim;
    p.y += width_of(n);
    n->tape->kernels->small_gemm(&p);
}

static void backward_tiles(void *ctx, int first, int last, int worker)
{
    const struct histogram_bin_means_ctx *p = ctx;
    const struct bin_means *a = p->n->args;
    for (int i = first; i < last; i++)
        for (int h = 0; h < a->shape.heads; h++) {
            const struct sl_tile *tile = &a->tiles.at[i];
            struct bin_gradients s = bin_gradients_of(p, tile->segment, h, worker);
            backward_assignments(p->n, tile, h, &s);
            histogram_bin_means_backward_rows(p->n, tile, h, &s);
        }
}

static void histogram_bin_means_backward(const struct sl_node *n)
{
    const struct bin_means *a = n->args;
    struct histogram_bin_means_ctx p = {
        .n = n, .workers = sl_tape_scratch(n, histogram_bin_means_scratch(n, true))};
    sl_parallel_for(n->tape->pool, a->tiles.count, 1, backward_tiles, &p);
}

static const struct sl_op bin_means = {.name = "histogram_bin_means",
                                       .scratch = histogram_bin_means_scratch,
                                       .forward = histogram_bin_means_forward,
                                       .backward = histogram_bin_means_backward};

struct sl_tensor *sl_histogram_bin_means(struct sl_tape *t, struct sl_tensor *key_value,
                                         struct sl_tensor *assignments,
                                         struct sl_histogram_bin_means_args args)
{
    int width = key_value->cols / 2, bins = assignments->cols / args.heads;
    assert(key_value->type == SL_F32);
    assert(assignments->rows == key_value->rows);
    assert(width % args.heads == 0);
    struct bin_means *a = sl_tape_struct(t, 1, sizeof *a);
    a->args = args;
    a->shape = (struct sl_bins_shape){args.heads, width / args.heads, bins};
    a->tiles = sl_tiles_create(t, &args.segments, NULL, key_value->rows);
    struct sl_tensor *out = sl_tensor_take(t, args.segments.count, 2 * width * bins);
    if (t->training)
        a->divisors = sl_tape_take(t, (size_t)args.segments.count * (size_t)assignments->cols,
                                   sizeof *a->divisors);
    return sl_tape_run(
        t,
        (struct sl_node){.op = &bin_means, .out = out, .in = {key_value, assignments}, .args = a});
}
