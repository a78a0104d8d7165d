/* fill_bins.c - keys and values of a stretch of rows become those of a few bins. Epsilon, section
 * 3.3, steps 1 and 2; section 4.3. Per head:
 *
 *     a_i = softmax_b(K_i . A_b),  0 for what is left out;   M_b = sum_i a_ib + 1e-6
 *     keys_b = sum_i a_ib K_i / M_b;   values_b = sum_i a_ib V_i / M_b
 *     loss += price sum_i sum_b a_ib log a_ib */
#include "ops/bins.h"

#include <math.h>
#include <string.h>

enum { KEY_VALUE };

enum { ASSIGN };

static const float mass_least = 1e-6f, share_least = 1e-9f;

struct fill {
    struct sl_fill_args args;
    struct sl_bins_shape shape;
    struct sl_tiles tiles;
    float *shares; /* heads x rows x bins: a, kept while training */
    float *masses; /* stretches x heads x bins: M, likewise */
};

/* Scratch memory of one direction: what tiles give, what workers need. */
struct pass {
    const struct sl_node *n;
    double *prices; /* forward, per tile */
    float *partial; /* per tile and head */
    size_t partial_floats;
    float *turned; /* backward: A, a row for each bin */
    char *workers;
    size_t worker_bytes, bytes;
};

/* Forward, a tile gives one head's sums of keys, values and shares and takes a tile of shares;
 * backward, it gives the gradient of A and takes what `struct slopes` says. */
static struct pass pass_layout(const struct sl_node *n, bool backward)
{
    const struct fill *a = n->args;
    size_t dim = (size_t)a->shape.head_dim, bins = (size_t)a->shape.bins;
    size_t pieces = (size_t)a->tiles.most * (size_t)a->shape.heads, tile = SL_TILE_ROWS * bins;
    struct pass p = {.n = n};
    p.partial_floats = (backward ? dim : 2 * dim + 1) * bins;
    p.worker_bytes = sl_aligned((backward ? tile + (4 * dim + 1) * bins : tile) * sizeof(float));
    p.bytes = sl_aligned((size_t)a->tiles.most * sizeof(double)) +
              sl_aligned(pieces * p.partial_floats * sizeof(float)) +
              sl_aligned((size_t)a->shape.heads * dim * bins * sizeof(float)) +
              (size_t)sl_pool_threads(n->tape->pool) * p.worker_bytes;
    return p;
}

static size_t fill_scratch(const struct sl_node *n, bool backward)
{
    return pass_layout(n, backward).bytes;
}

static struct pass pass_of(const struct sl_node *n, bool backward)
{
    const struct fill *a = n->args;
    struct pass p = pass_layout(n, backward);
    size_t pieces = (size_t)a->tiles.most * (size_t)a->shape.heads;
    char *base = sl_tape_scratch(n, p.bytes);
    p.prices = (double *)(void *)base;
    base += sl_aligned((size_t)a->tiles.most * sizeof(double));
    p.partial = (float *)(void *)base;
    base += sl_aligned(pieces * p.partial_floats * sizeof(float));
    p.turned = (float *)(void *)base;
    p.workers = base + sl_aligned(sl_parameter_floats(n->parameter[ASSIGN]) * sizeof(float));
    return p;
}

static float *partial_of(const struct pass *p, int tile, int head)
{
    const struct fill *a = p->n->args;
    return p->partial + (size_t)(tile * a->shape.heads + head) * p->partial_floats;
}

static float *worker_floats(const struct pass *p, int worker)
{
    return (float *)(void *)(p->workers + (size_t)worker * p->worker_bytes);
}

/* One head's keys of a tile; its values are `width` further. */
static const float *keys_of(const struct sl_node *n, const struct sl_tile *tile, int head)
{
    const struct fill *a = n->args;
    return sl_row(n->in[KEY_VALUE], tile->first) + sl_head_column(&a->shape, head);
}

static int width_of(const struct sl_node *n)
{
    return n->in[KEY_VALUE]->cols / 2;
}

static const float *assign_of(const struct sl_node *n, int head)
{
    const struct fill *a = n->args;
    return n->parameter[ASSIGN]->data + (size_t)head * sl_bins_floats(&a->shape) / 2;
}

static float *shares_of(const struct sl_node *n, const struct sl_tile *tile, int head)
{
    const struct fill *a = n->args;
    size_t row = (size_t)head * (size_t)n->in[KEY_VALUE]->rows + (size_t)tile->first;
    return a->shares + row * (size_t)a->shape.bins;
}

static bool is_padding(const struct fill *a, int row)
{
    return a->args.padding && a->args.padding[row];
}

/* -- forward ------------------------------------------------------------------------------ */

/* The shares of a tile's rows in the bins, and what their entropy costs. */
static double share_out(const struct sl_node *n, const struct sl_tile *tile, int head,
                        float *shares)
{
    const struct fill *a = n->args;
    int bins = a->shape.bins;
    struct sl_product p = {.x = keys_of(n, tile, head),
                           .x_row = n->in[KEY_VALUE]->stride,
                           .x_col = 1,
                           .b = assign_of(n, head),
                           .b_row = (size_t)bins,
                           .y = shares,
                           .y_row = (size_t)bins,
                           .m = tile->count,
                           .n = bins,
                           .k = a->shape.head_dim};
    double price = 0.0;
    n->tape->kernels->product(&p);
    for (int i = 0; i < tile->count; i++, shares += bins) {
        bool padding = is_padding(a, tile->first + i);
        if (padding && !a->args.bin_padding) {
            memset(shares, 0, (size_t)bins * sizeof *shares);
            continue;
        }
        (void)n->tape->kernels->softmax(shares, bins);
        for (int b = 0; a->args.entropy_price > 0.0f && !padding && b < bins; b++)
            price += (double)(shares[b] * logf(fmaxf(shares[b], share_least)));
    }
    return price;
}

/* What the rows of a tile put into one head's bins: keys, values, shares. */
static void put_in(const struct sl_node *n, const struct sl_tile *tile, int head,
                   const float *shares, float *sums)
{
    static const float one = 1.0f;
    const struct fill *a = n->args;
    size_t bins = (size_t)a->shape.bins, half = (size_t)a->shape.head_dim * bins;
    struct sl_product p = {.x = keys_of(n, tile, head),
                           .x_row = 1,
                           .x_col = n->in[KEY_VALUE]->stride,
                           .b = shares,
                           .b_row = bins,
                           .y_row = bins,
                           .m = a->shape.head_dim,
                           .n = a->shape.bins,
                           .k = tile->count};
    p.y = sums;
    n->tape->kernels->product(&p);
    p.x += width_of(n);
    p.y += half;
    n->tape->kernels->product(&p);
    p.x = &one;
    p.x_row = p.x_col = 0;
    p.y += half;
    p.m = 1;
    n->tape->kernels->product(&p);
}

static void forward_tiles(void *ctx, int first, int last, int worker)
{
    const struct pass *p = ctx;
    const struct fill *a = p->n->args;
    for (int i = first; i < last; i++) {
        const struct sl_tile *tile = &a->tiles.at[i];
        p->prices[i] = 0.0;
        for (int h = 0; h < a->shape.heads; h++) {
            float *shares = a->shares ? shares_of(p->n, tile, h) : worker_floats(p, worker);
            p->prices[i] += share_out(p->n, tile, h, shares);
            put_in(p->n, tile, h, shares, partial_of(p, i, h));
        }
    }
}

/* One head of one stretch: the sums of its tiles, divided by the masses. */
static void finish(const struct pass *p, int stretch, int head)
{
    const struct fill *a = p->n->args;
    int bins = a->shape.bins, first = a->tiles.first[stretch], last = a->tiles.first[stretch + 1];
    float *sums = partial_of(p, first, head), *mass = sums + sl_bins_floats(&a->shape);
    float *out = sl_row(p->n->out, stretch) + (size_t)head * sl_bins_floats(&a->shape);
    assert(first < last);
    for (int i = first + 1; i < last; i++)
        p->n->tape->kernels->axpy(sums, 1.0f, partial_of(p, i, head), (int)p->partial_floats);
    for (int b = 0; b < bins; b++)
        mass[b] += mass_least;
    for (int c = 0; c < 2 * a->shape.head_dim; c++, sums += bins, out += bins)
        for (int b = 0; b < bins; b++)
            out[b] = sums[b] / mass[b];
    if (a->masses)
        memcpy(a->masses + (size_t)(stretch * a->shape.heads + head) * (size_t)bins, mass,
               (size_t)bins * sizeof *mass);
}

static void forward_stretches(void *ctx, int first, int last, int worker)
{
    const struct pass *p = ctx;
    const struct fill *a = p->n->args;
    (void)worker;
    for (int i = first; i < last; i++)
        finish(p, i / a->shape.heads, i % a->shape.heads);
}

static void fill_forward(const struct sl_node *n)
{
    const struct fill *a = n->args;
    struct pass p = pass_of(n, false);
    sl_parallel(n->tape->pool, a->tiles.count, 1, forward_tiles, &p);
    sl_parallel(n->tape->pool, n->out->rows * a->shape.heads, 4, forward_stretches, &p);
    double price = 0.0;
    for (int i = 0; i < a->tiles.count; i++)
        price += p.prices[i];
    n->tape->notes.price += price * (double)a->args.entropy_price;
}

/* -- backward ----------------------------------------------------------------------------- */

/* Of one head of one stretch: the gradients of its bins by M, both ways round; and
 * (keys_b . dkeys_b + values_b . dvalues_b) / M_b. Then a tile of gradients of shares. */
struct slopes {
    float *by_column, *by_bin, *centre, *shares;
};

static struct slopes slopes_of(const struct pass *p, int stretch, int head, int worker)
{
    const struct sl_node *n = p->n;
    const struct fill *a = n->args;
    int bins = a->shape.bins, cols = 2 * a->shape.head_dim;
    size_t floats = sl_bins_floats(&a->shape), at = (size_t)head * floats;
    const float *out = sl_row(n->out, stretch) + at, *dout = sl_grad_row(n->out, stretch) + at;
    const float *mass = a->masses + (size_t)(stretch * a->shape.heads + head) * (size_t)bins;
    float *by_column = worker_floats(p, worker), *centre = by_column + 2 * floats;
    memset(centre, 0, (size_t)bins * sizeof *centre);
    for (int c = 0; c < cols; c++, out += bins, dout += bins)
        for (int b = 0; b < bins; b++) {
            float slope = dout[b] / mass[b];
            by_column[c * bins + b] = slope;
            centre[b] += out[b] * slope;
        }
    sl_turn(by_column + floats, by_column, cols, bins);
    return (struct slopes){by_column, by_column + floats, centre, centre + bins};
}

/* da_ib = (K_i . dkeys_b + V_i . dvalues_b - c_b) / M_b + price (log a_ib + 1), and through the
 * softmax dl_i = a_i (da_i - <a_i, da_i>), into s->shares. */
static void backward_shares(const struct sl_node *n, const struct sl_tile *tile, int head,
                            const struct slopes *s)
{
    const struct fill *a = n->args;
    size_t bins = (size_t)a->shape.bins;
    const float *shares = shares_of(n, tile, head);
    struct sl_product p = {.x = keys_of(n, tile, head),
                           .x_row = n->in[KEY_VALUE]->stride,
                           .x_col = 1,
                           .b = s->by_column,
                           .b_row = bins,
                           .y = s->shares,
                           .y_row = bins,
                           .m = tile->count,
                           .n = a->shape.bins,
                           .k = a->shape.head_dim};
    n->tape->kernels->product(&p);
    p.x += width_of(n);
    p.b += (size_t)a->shape.head_dim * bins;
    p.accumulate = true;
    n->tape->kernels->product(&p);
    for (int i = 0; i < tile->count; i++, shares += bins) {
        float *d = s->shares + (size_t)i * bins;
        bool priced = a->args.entropy_price > 0.0f && !is_padding(a, tile->first + i);
        for (size_t b = 0; b < bins; b++)
            d[b] -= s->centre[b];
        for (size_t b = 0; priced && b < bins; b++)
            d[b] += a->args.entropy_price * (logf(fmaxf(shares[b], share_least)) +
                                             (shares[b] >= share_least ? 1.0f : 0.0f));
        float mean = n->tape->kernels->dot(shares, d, a->shape.bins);
        for (size_t b = 0; b < bins; b++)
            d[b] = shares[b] * (d[b] - mean);
    }
}

/* dK_i = sum_b a_ib dkeys_b / M_b + sum_b dl_ib A_b;  dV_i = sum_b a_ib dvalues_b / M_b. */
static void backward_rows(const struct pass *pass, const struct sl_tile *tile, int head,
                          const struct slopes *s)
{
    const struct sl_node *n = pass->n;
    const struct fill *a = n->args;
    int dim = a->shape.head_dim;
    size_t bins = (size_t)a->shape.bins;
    struct sl_product p = {.x = shares_of(n, tile, head),
                           .x_row = bins,
                           .x_col = 1,
                           .b = s->by_bin,
                           .b_row = 2 * (size_t)dim,
                           .y = sl_grad_row(n->in[KEY_VALUE], tile->first) +
                                sl_head_column(&a->shape, head),
                           .y_row = (size_t)n->in[KEY_VALUE]->cols,
                           .m = tile->count,
                           .n = dim,
                           .k = a->shape.bins,
                           .accumulate = !n->fresh[KEY_VALUE]};
    struct sl_product through = p;
    n->tape->kernels->product(&p);
    through.x = s->shares;
    through.b = pass->turned + (size_t)head * (size_t)dim * bins;
    through.b_row = (size_t)dim;
    through.accumulate = true;
    n->tape->kernels->product(&through);
    p.b += dim;
    p.y += width_of(n);
    n->tape->kernels->product(&p);
}

/* dA = K^T dl, of one tile. */
static void backward_assign(const struct sl_node *n, const struct sl_tile *tile, int head,
                            const float *dl, float *dassign)
{
    const struct fill *a = n->args;
    size_t bins = (size_t)a->shape.bins;
    n->tape->kernels->product(&(struct sl_product){.x = keys_of(n, tile, head),
                                                   .x_row = 1,
                                                   .x_col = n->in[KEY_VALUE]->stride,
                                                   .b = dl,
                                                   .b_row = bins,
                                                   .y = dassign,
                                                   .y_row = bins,
                                                   .m = a->shape.head_dim,
                                                   .n = a->shape.bins,
                                                   .k = tile->count});
}

static void backward_tiles(void *ctx, int first, int last, int worker)
{
    const struct pass *p = ctx;
    const struct fill *a = p->n->args;
    for (int i = first; i < last; i++)
        for (int h = 0; h < a->shape.heads; h++) {
            const struct sl_tile *tile = &a->tiles.at[i];
            struct slopes s = slopes_of(p, tile->stretch, h, worker);
            backward_shares(p->n, tile, h, &s);
            backward_rows(p, tile, h, &s);
            backward_assign(p->n, tile, h, s.shares, partial_of(p, i, h));
        }
}

/* Tiles are summed in their order, whoever computed them. */
static void fill_backward(const struct sl_node *n)
{
    const struct fill *a = n->args;
    struct pass p = pass_of(n, true);
    int floats = a->shape.head_dim * a->shape.bins;
    for (int h = 0; h < a->shape.heads; h++)
        sl_turn(p.turned + (size_t)h * (size_t)floats, assign_of(n, h), a->shape.head_dim,
                a->shape.bins);
    sl_parallel(n->tape->pool, a->tiles.count, 1, backward_tiles, &p);
    for (int i = 0; i < a->tiles.count; i++)
        n->tape->kernels->axpy(n->parameter[ASSIGN]->grad, 1.0f, partial_of(&p, i, 0),
                               a->shape.heads * floats);
}

static const struct sl_op fill = {.name = "fill_bins",
                                  .scratch = fill_scratch,
                                  .forward = fill_forward,
                                  .backward = fill_backward};

struct sl_tensor *sl_fill_bins(struct sl_tape *t, struct sl_tensor *key_value,
                               struct sl_fill_args args)
{
    int width = key_value->cols / 2, stretches = args.stretches.count;
    assert(key_value->type == SL_F32);
    assert(args.assign->rows == width);
    assert(width % args.heads == 0);
    struct fill *a = sl_tape_struct(t, 1, sizeof *a);
    a->args = args;
    a->shape = (struct sl_bins_shape){args.heads, width / args.heads, args.assign->cols};
    a->tiles = sl_tiles_cut(t, &args.stretches, NULL, key_value->rows);
    size_t per_row = (size_t)args.heads * (size_t)a->shape.bins;
    struct sl_tensor *out = sl_tensor_take(t, stretches, 2 * width * a->shape.bins);
    if (t->training) {
        a->shares = sl_tape_take(t, (size_t)key_value->rows * per_row, sizeof *a->shares);
        a->masses = sl_tape_take(t, (size_t)stretches * per_row, sizeof *a->masses);
    }
    return sl_tape_run(
        t, (struct sl_node){
               .op = &fill, .out = out, .in = {key_value}, .parameter = {args.assign}, .args = a});
}
