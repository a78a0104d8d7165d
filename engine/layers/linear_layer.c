/* linear_layer.c - a weight and an optional bias. */
#include "layers/layers.h"

#include <math.h>
#include <stdio.h>

static const char *join(char full[SL_NAME_MAX], const char *name, const char *suffix)
{
    int length = snprintf(full, SL_NAME_MAX, "%s.%s", name, suffix);
    assert(length > 0);
    assert(length < SL_NAME_MAX);
    return full;
}

struct sl_linear_layer sl_linear_build(struct sl_builder *b, const char *name,
                                       struct sl_linear_shape shape)
{
    struct sl_init usual = sl_uniform(1.0f / sqrtf((float)shape.ins));
    struct sl_linear_layer layer = {0};
    struct sl_init start = shape.deviation > 0.0f ? sl_normal(shape.deviation) : usual;
    if (shape.bound > 0.0f)
        start = sl_uniform(shape.bound);
    char full[SL_NAME_MAX];
    layer.weight = sl_parameter_add(b, join(full, name, "weight"), SL_ROLE_MATRIX, shape.outs,
                                    shape.ins, start);
    bool fixed = shape.bias_zero || shape.bias_start < 0.0f || shape.bias_start > 0.0f;
    if (shape.bias)
        layer.bias = sl_parameter_add(b, join(full, name, "bias"), SL_ROLE_VECTOR, 1, shape.outs,
                                      fixed ? sl_constant(shape.bias_start) : usual);
    return layer;
}

struct sl_tensor *sl_linear_apply(struct sl_tape *t, const struct sl_linear_layer *layer,
                                  struct sl_tensor *x, struct sl_linear_args args)
{
    args.weight = layer->weight;
    args.bias = layer->bias;
    return sl_linear(t, x, args);
}

struct sl_tensor *sl_linear_add(struct sl_tape *t, const struct sl_linear_layer *layer,
                                struct sl_tensor *h, struct sl_tensor *x,
                                struct sl_residual_args update)
{
    const struct sl_linear_args args = {.weight = layer->weight, .bias = layer->bias};
    return sl_linear_residual(t, h, x, args, update);
}

struct sl_tensor *sl_mlp_apply(struct sl_tape *t, const struct sl_linear_layer *up,
                               const struct sl_linear_layer *down, struct sl_tensor *x,
                               struct sl_linear_args hidden)
{
    hidden.operand = true;
    x = sl_linear_apply(t, up, x, hidden);
    return sl_linear_apply(t, down, x, (struct sl_linear_args){0});
}
