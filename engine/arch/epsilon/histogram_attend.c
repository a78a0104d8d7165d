/* histogram_attend.c - queries attend to the bins of their segment. Epsilon, section 3.3, step 3.
 * Per head:
 *
 *     w_j = softmax_b(Q_j . keys_b / sqrt(head_dim));   out_j = sum_b dropout(w_jb) values_b */
#include "arch/epsilon/epsilon.h"
#include "arch/epsilon/histogram_bins.h"

#include <math.h>
#include <string.h>

enum { QUERY, BINS };

struct attend {
    struct sl_histogram_attend_args args;
    struct sl_bins_shape shape;
    struct sl_tiles tiles;
    struct sl_dropout dropout;
    uint64_t random_key;
    float *weights; /* heads x queries x bins: w, kept while training */
};

/* Scratch memory of one direction: results of tiles, and memory of workers. */
struct histogram_attend_ctx {
    const struct sl_node *n;
    float *partial; /* backward, per tile and head: gradients of the bins */
    char *workers;
    size_t worker_bytes, bytes;
};

/* One worker's memory for a head of a tile: two tiles of weights, or their gradients; the
 * transposed bins, keys then values; a tile of results. */
struct buffers {
    float *weights, *gradients, *transposed, *out;
};

static struct histogram_attend_ctx pass_layout(const struct sl_node *n, bool backward)
{
    const struct attend *a = n->args;
    size_t floats = sl_bins_floats(&a->shape), tile = SL_TILE_ROWS * (size_t)a->shape.bins;
    size_t pieces = backward ? (size_t)a->tiles.max * (size_t)a->shape.heads : 0;
    struct histogram_attend_ctx p = {.n = n};
    p.worker_bytes =
        sl_aligned((2 * tile + floats + SL_TILE_ROWS * (size_t)n->out->cols) * sizeof(float));
    p.bytes = sl_aligned(pieces * floats * sizeof(float)) +
              (size_t)sl_thread_pool_size(n->tape->pool) * p.worker_bytes;
    return p;
}

static size_t histogram_attend_scratch(const struct sl_node *n, bool backward)
{
    return pass_layout(n, backward).bytes;
}

static struct histogram_attend_ctx pass_of(const struct sl_node *n, bool backward)
{
    struct histogram_attend_ctx p = pass_layout(n, backward);
    char *base = sl_tape_scratch(n, p.bytes);
    p.partial = (float *)(void *)base;
    p.workers = base + p.bytes - (size_t)sl_thread_pool_size(n->tape->pool) * p.worker_bytes;
    return p;
}

static float *partial_of(const struct histogram_attend_ctx *p, int tile, int head)
{
    const struct attend *a = p->n->args;
    return p->partial + (size_t)(tile * a->shape.heads + head) * sl_bins_floats(&a->shape);
}

static struct buffers scratch_of(const struct histogram_attend_ctx *p, int worker)
{
    const struct attend *a = p->n->args;
    size_t tile = SL_TILE_ROWS * (size_t)a->shape.bins;
    float *at = (float *)(void *)(p->workers + (size_t)worker * p->worker_bytes);
    return (struct buffers){at, at + tile, at + 2 * tile,
                            at + 2 * tile + sl_bins_floats(&a->shape)};
}

/* The keys of a head's bins, a column for each; the values are half of sl_bins_floats further. */
static const float *bins_of(const struct sl_node *n, int segment, int head)
{
    const struct attend *a = n->args;
    return sl_row(n->in[BINS], segment) + (size_t)head * sl_bins_floats(&a->shape);
}

static const float *query_of(const struct sl_node *n, const struct sl_tile *tile, int head)
{
    const struct attend *a = n->args;
    return sl_row(n->in[QUERY], tile->first) + sl_head_column(&a->shape, head);
}

static float *weights_of(const struct sl_node *n, const struct sl_tile *tile, int head)
{
    const struct attend *a = n->args;
    size_t row = (size_t)head * (size_t)n->out->rows + (size_t)tile->first;
    return a->weights + row * (size_t)a->shape.bins;
}

static float scale_of(const struct attend *a)
{
    return 1.0f / sqrtf((float)a->shape.head_dim);
}

/* A tile of weights, or of their gradients, dropped out; x itself without dropout. */
static const float *drop(const struct sl_node *n, const struct sl_tile *tile, int head,
                         const float *x, float *out)
{
    const struct attend *a = n->args;
    size_t bins = (size_t)a->shape.bins;
    if (!a->dropout.threshold)
        return x;
    for (int i = 0; i < tile->count; i++) {
        int row = n->view->batch->row_base + tile->first + i;
        uint32_t key = sl_dropout_head_key(a->random_key, row, head, a->shape.heads);
        size_t at = (size_t)i * bins;
        n->tape->kernels->dropout(out + at, x + at, a->dropout, key, 0, a->shape.bins);
    }
    return out;
}

/* -- forward ------------------------------------------------------------------------------ */

static void softmax_weights(const struct sl_node *n, const struct sl_tile *tile, int head,
                            float *weights)
{
    const struct attend *a = n->args;
    int bins = a->shape.bins;
    struct sl_small_gemm p = {.x = query_of(n, tile, head),
                              .x_row = n->in[QUERY]->stride,
                              .x_col = 1,
                              .b = bins_of(n, tile->segment, head),
                              .b_row = (size_t)bins,
                              .y = weights,
                              .y_row = (size_t)bins,
                              .m = tile->count,
                              .n = bins,
                              .k = a->shape.head_dim};
    n->tape->kernels->small_gemm(&p);
    n->tape->kernels->scale(weights, scale_of(a), weights, tile->count * bins);
    n->tape->kernels->softmax_rows(weights, (size_t)bins, tile->count, bins);
}

/* One head's columns of a tile of results. */
static void weighted_values(const struct sl_node *n, const struct sl_tile *tile, int head,
                            const struct buffers *d, const float *weights)
{
    const struct attend *a = n->args;
    int dim = a->shape.head_dim, bins = a->shape.bins;
    const float *values = bins_of(n, tile->segment, head) + sl_bins_floats(&a->shape) / 2;
    sl_transpose(d->transposed, values, dim, bins);
    n->tape->kernels->small_gemm(
        &(struct sl_small_gemm){.x = weights,
                                .x_row = (size_t)bins,
                                .x_col = 1,
                                .b = d->transposed,
                                .b_row = (size_t)dim,
                                .y = d->out + sl_head_column(&a->shape, head),
                                .y_row = (size_t)n->out->cols,
                                .m = tile->count,
                                .n = dim,
                                .k = bins});
}

static void forward_tiles(void *ctx, int first, int last, int worker)
{
    const struct histogram_attend_ctx *p = ctx;
    const struct sl_node *n = p->n;
    const struct attend *a = n->args;
    struct buffers d = scratch_of(p, worker);
    for (int i = first; i < last; i++) {
        const struct sl_tile *tile = &a->tiles.at[i];
        for (int h = 0; h < a->shape.heads; h++) {
            float *weights = a->weights ? weights_of(n, tile, h) : d.weights;
            softmax_weights(n, tile, h, weights);
            weighted_values(n, tile, h, &d, drop(n, tile, h, weights, d.gradients));
        }
        for (int r = 0; r < tile->count; r++)
            n->tape->kernels->to_operands(sl_row_any(n->out, tile->first + r),
                                          d.out + (size_t)r * (size_t)n->out->cols, n->out->cols);
    }
}

static void histogram_attend_forward(const struct sl_node *n)
{
    const struct attend *a = n->args;
    struct histogram_attend_ctx p = pass_of(n, false);
    sl_parallel_for(n->tape->pool, a->tiles.count, 1, forward_tiles, &p);
}

/* -- backward ----------------------------------------------------------------------------- */

/* With dw = dropout'(dout values^T):  ds_j = w_j (dw_j - <w_j, dw_j>) / sqrt(head_dim), into
 * d->gradients. */
static void backward_weights(const struct sl_node *n, const struct sl_tile *tile, int head,
                             const struct buffers *d)
{
    const struct attend *a = n->args;
    int bins = a->shape.bins, width = n->out->cols;
    const float *w = weights_of(n, tile, head), scale = scale_of(a);
    n->tape->kernels->small_gemm(&(struct sl_small_gemm){
        .x = sl_grad_row(n->out, tile->first) + sl_head_column(&a->shape, head),
        .x_row = (size_t)width,
        .x_col = 1,
        .b = bins_of(n, tile->segment, head) + sl_bins_floats(&a->shape) / 2,
        .b_row = (size_t)bins,
        .y = d->gradients,
        .y_row = (size_t)bins,
        .m = tile->count,
        .n = bins,
        .k = a->shape.head_dim});
    (void)drop(n, tile, head, d->gradients, d->gradients);
    float *ds = d->gradients;
    for (int i = 0; i < tile->count; i++, w += bins, ds += bins) {
        float mean = n->tape->kernels->dot(w, ds, bins);
        for (int b = 0; b < bins; b++)
            ds[b] = w[b] * (ds[b] - mean) * scale;
    }
}

/* dQ_j = sum_b ds_jb keys_b. */
static void backward_query(const struct sl_node *n, const struct sl_tile *tile, int head,
                           const struct buffers *d)
{
    const struct attend *a = n->args;
    int bins = a->shape.bins, dim = a->shape.head_dim;
    sl_transpose(d->transposed, bins_of(n, tile->segment, head), dim, bins);
    n->tape->kernels->small_gemm(&(struct sl_small_gemm){
        .x = d->gradients,
        .x_row = (size_t)bins,
        .x_col = 1,
        .b = d->transposed,
        .b_row = (size_t)dim,
        .y = sl_grad_row(n->in[QUERY], tile->first) + sl_head_column(&a->shape, head),
        .y_row = (size_t)n->in[QUERY]->cols,
        .m = tile->count,
        .n = dim,
        .k = bins,
        .accumulate = !n->overwrite[QUERY]});
}

/* dkeys_b = sum_j ds_jb Q_j;  dvalues_b = sum_j dropout(w_jb) dout_j: of one tile. */
static void backward_bins(const struct sl_node *n, const struct sl_tile *tile, int head,
                          const struct buffers *d, float *dbins)
{
    const struct attend *a = n->args;
    struct sl_small_gemm p = {.x = query_of(n, tile, head),
                              .x_row = 1,
                              .x_col = n->in[QUERY]->stride,
                              .b = d->gradients,
                              .b_row = (size_t)a->shape.bins,
                              .y_row = (size_t)a->shape.bins,
                              .m = a->shape.head_dim,
                              .n = a->shape.bins,
                              .k = tile->count};
    p.y = dbins;
    n->tape->kernels->small_gemm(&p);
    p.x = sl_grad_row(n->out, tile->first) + sl_head_column(&a->shape, head);
    p.x_col = (size_t)n->out->cols;
    p.b = drop(n, tile, head, weights_of(n, tile, head), d->weights);
    p.y += sl_bins_floats(&a->shape) / 2;
    n->tape->kernels->small_gemm(&p);
}

static void backward_tiles(void *ctx, int first, int last, int worker)
{
    const struct histogram_attend_ctx *p = ctx;
    const struct attend *a = p->n->args;
    struct buffers d = scratch_of(p, worker);
    for (int i = first; i < last; i++)
        for (int h = 0; h < a->shape.heads; h++) {
            const struct sl_tile *tile = &a->tiles.at[i];
            backward_weights(p->n, tile, h, &d);
            backward_query(p->n, tile, h, &d);
            backward_bins(p->n, tile, h, &d, partial_of(p, i, h));
        }
}

/* Tiles are summed in order, independent of the thread that computed them. */
static void backward_segments(void *ctx, int first, int last, int worker)
{
    const struct histogram_attend_ctx *p = ctx;
    const struct attend *a = p->n->args;
    struct sl_tensor *bins = p->n->in[BINS];
    (void)worker;
    for (int s = first; s < last; s++) {
        float *dbins = sl_grad_row(bins, s);
        if (p->n->overwrite[BINS])
            memset(dbins, 0, (size_t)bins->cols * sizeof *dbins);
        for (int i = a->tiles.first[s]; i < a->tiles.first[s + 1]; i++)
            p->n->tape->kernels->axpy(dbins, 1.0f, partial_of(p, i, 0), bins->cols);
    }
}

static void histogram_attend_backward(const struct sl_node *n)
{
    const struct attend *a = n->args;
    struct histogram_attend_ctx p = pass_of(n, true);
    sl_parallel_for(n->tape->pool, a->tiles.count, 1, backward_tiles, &p);
    sl_parallel_for(n->tape->pool, n->in[BINS]->rows, 1, backward_segments, &p);
}

static const struct sl_op attend = {.name = "histogram_attend",
                                    .scratch = histogram_attend_scratch,
                                    .forward = histogram_attend_forward,
                                    .backward = histogram_attend_backward};

struct sl_tensor *sl_histogram_attend(struct sl_tape *t, struct sl_tensor *query,
                                      struct sl_tensor *bins, struct sl_histogram_attend_args args)
{
    assert(query->type == SL_F32);
    assert(bins->rows == args.segments.count);
    assert(bins->cols % (2 * query->cols) == 0);
    assert(!args.rows || args.rows->count == query->rows);
    assert(!args.rows || !t->training);
    struct attend *a = sl_tape_struct(t, 1, sizeof *a);
    a->args = args;
    a->shape = (struct sl_bins_shape){args.heads, query->cols / args.heads,
                                      bins->cols / (2 * query->cols)};
    a->tiles = sl_tiles_create(t, &args.segments, args.rows, query->rows);
    if (t->training && args.dropout > 0.0f) {
        a->dropout = sl_dropout_of(args.dropout);
        a->random_key = sl_tape_random(t);
    }
    size_t weights = (size_t)query->rows * (size_t)args.heads * (size_t)a->shape.bins;
    struct sl_tensor *out = sl_operand_take(t, query->rows, query->cols);
    if (t->training)
        a->weights = sl_tape_take(t, weights, sizeof *a->weights);
    return sl_tape_run(t,
                       (struct sl_node){.op = &attend, .out = out, .in = {query, bins}, .args = a});
}
