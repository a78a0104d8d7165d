/* norm_layer.c - normalisation of rows; initially weight 1 and bias 0. */
#include "layers/layers.h"

#include <stdio.h>

static const float usual_epsilon = 1e-5f;

struct sl_norm sl_norm_build(struct sl_builder *b, const char *name, int width,
                             struct sl_norm_shape shape)
{
    char weight[SL_NAME_MAX], bias[SL_NAME_MAX];
    (void)snprintf(weight, sizeof weight, "%s.weight", name);
    (void)snprintf(bias, sizeof bias, "%s.bias", name);
    struct sl_norm norm = {.epsilon = shape.epsilon > 0.0f ? shape.epsilon : usual_epsilon,
                           .rms = shape.rms};
    norm.weight = sl_parameter_add(b, weight, SL_ROLE_VECTOR, 1, width, sl_constant(1.0f));
    if (!shape.without_bias)
        norm.bias = sl_parameter_add(b, bias, SL_ROLE_VECTOR, 1, width, sl_constant(0.0f));
    return norm;
}

static struct sl_norm_args args_of(const struct sl_norm *norm)
{
    return (struct sl_norm_args){norm->weight, norm->bias, norm->epsilon, norm->rms};
}

struct sl_tensor *sl_norm_apply(struct sl_tape *t, const struct sl_norm *norm, struct sl_tensor *x)
{
    return sl_norm_rows(t, norm, x, NULL);
}

struct sl_tensor *sl_norm_rows(struct sl_tape *t, const struct sl_norm *norm, struct sl_tensor *x,
                               const struct sl_rows *rows)
{
    return sl_normalize(t, x, args_of(norm), rows);
}

struct sl_tensor *sl_norm_stream(struct sl_tape *t, const struct sl_norm *norm, struct sl_tensor *x)
{
    return sl_normalize_stream(t, x, args_of(norm));
}
