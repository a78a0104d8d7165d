/* random_rotation.c - y = f((x U) s V + b): a projection of which only a diagonal is trained.
 *
 * U and V are sines and cosines of frozen random numbers and of the time at which the layer stands
 * (TransEvolve, equations 10 and 11, normalised as its code does it):
 *     U_ap = sin(pi time q c_aq) / sqrt(outs) for p < ins / 2, cos after that, q = p mod ins / 2,
 *     c ~ N(0, 1), the paper's N(0, ins^2) already divided by ins;     V likewise, from outs.
 * The rest of either rotation, past the rank of the diagonal, is multiplied by zeros and left
 * out. */
#include "arch/transevolve/transevolve.h"
#include "base/random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Row p, column a of the matrix is, with q = p mod span / 2 and a normal number w for each (a, q),
 *     value sin(pi time q w) for p < span / 2,     value cos(pi time q w) after that.
 * Arguments reach 10^4: their fraction needs a double. */
static double rotation_element(const struct sl_init *init, uint64_t key, int row, int col, int cols)
{
    int half = init->args[0] / 2, time = init->args[1], pair = row % half;
    (void)cols;
    double turns = sl_random_normal(key, (uint64_t)col * (uint64_t)half + (uint64_t)pair);
    double angle = M_PI * time * pair * turns;
    return (double)init->value * (row < half ? sin(angle) : cos(angle));
}

static struct sl_init rotation_init(float value, int span, int time, const char *stream)
{
    return (struct sl_init){
        .element = rotation_element, .value = value, .args = {span, time}, .stream = stream};
}

/* The stream of one factor's frozen numbers. Trained models depend on these very names. */
static const char *stream_of(struct sl_builder *b, const char *rotation, const char *factor)
{
    char *stream = sl_arena_take(b->arena, SL_NAME_MAX, 1);
    (void)snprintf(stream, SL_NAME_MAX, "%s.%s", rotation, factor);
    return stream;
}

static const char *part(char full[SL_NAME_MAX], const char *name, const char *suffix)
{
    (void)snprintf(full, SL_NAME_MAX, "%s.%s", name, suffix);
    return full;
}

static const struct sl_buffer_hooks hooks;

struct sl_random_rotation sl_random_rotation_build(struct sl_builder *b, const char *name,
                                                   struct sl_random_rotation_shape shape)
{
    char full[SL_NAME_MAX];
    int rank = shape.ins < shape.outs ? shape.ins : shape.outs;
    float size = 1.0f / sqrtf((float)shape.outs);
    assert(shape.ins % 2 == 0);
    assert(shape.outs % 2 == 0);
    struct sl_buffer_shape fixed = {.kind = SL_BUFFER_FIXED, .product = true};
    struct sl_random_rotation r = {0};
    r.scales = sl_parameter_add(b, part(full, name, "scales"), SL_ROLE_VECTOR, 1, shape.ins,
                                sl_uniform(shape.bound));
    r.bias = sl_parameter_add(b, part(full, name, "bias"), SL_ROLE_VECTOR, 1, shape.outs,
                              sl_constant(0.0f));
    fixed.rows = rank;
    fixed.cols = shape.ins;
    fixed.init = rotation_init(size, shape.ins, shape.time, stream_of(b, shape.stream, "in"));
    r.in = sl_buffer_add(b, part(full, name, "in"), fixed);
    fixed.rows = shape.outs;
    fixed.cols = rank;
    fixed.init = rotation_init(size, shape.outs, shape.time, stream_of(b, shape.stream, "out"));
    r.out = sl_buffer_add(b, part(full, name, "out"), fixed);
    r.weight = sl_buffer_add(
        b, part(full, name, "weight"),
        (struct sl_buffer_shape){
            .kind = SL_BUFFER_DERIVED, .rows = shape.outs, .cols = shape.ins, .product = true});
    sl_buffer_hooks_add(b, &hooks, &r, sizeof r);
    return r;
}

static bool is_trained(const struct sl_random_rotation *r)
{
    return r->scales->grad;
}

struct sl_tensor *sl_random_rotation_apply(struct sl_tape *t, const struct sl_random_rotation *r,
                                           struct sl_tensor *x, struct sl_linear_args args)
{
    args.weight = r->weight;
    args.bias = r->bias;
    if (is_trained(r)) {
        x = sl_linear(t, x, (struct sl_linear_args){.weight = r->in});
        x = sl_diagonal_scale(t, x, r->scales);
        args.weight = r->out;
    }
    return sl_linear(t, x, args);
}

/* W^T_o = sum_k s_k V_ko U^T_k. */
static void materialize(const void *layer, const struct sl_kernels *kernels)
{
    const struct sl_random_rotation *r = layer;
    if (is_trained(r))
        return;
    int ins = r->weight->cols, rank = r->in->rows;
    for (int o = 0; o < r->weight->rows; o++) {
        float *row = r->weight->data + (size_t)o * (size_t)ins;
        const float *v = r->out->data + (size_t)o * (size_t)rank;
        memset(row, 0, (size_t)ins * sizeof *row);
        for (int k = 0; k < rank; k++)
            kernels->axpy(row, r->scales->data[k] * v[k], r->in->data + (size_t)k * (size_t)ins,
                          ins);
    }
}

static const struct sl_buffer_hooks hooks = {.materialize = materialize};
