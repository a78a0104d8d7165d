/* norm_layer.c - layer normalisation; initially weight 1 and bias 0; epsilon 1e-5. */
#include "layers/layers.h"

#include <stdio.h>

static const float usual_epsilon = 1e-5f;

struct sl_norm sl_norm_build(struct sl_builder *b, const char *name, int width)
{
    char weight[SL_NAME_MAX], bias[SL_NAME_MAX];
    (void)snprintf(weight, sizeof weight, "%s.weight", name);
    (void)snprintf(bias, sizeof bias, "%s.bias", name);
    struct sl_norm norm = {.epsilon = usual_epsilon};
    norm.weight = sl_parameter_add(b, weight, SL_ROLE_VECTOR, 1, width, sl_constant(1.0f));
    norm.bias = sl_parameter_add(b, bias, SL_ROLE_VECTOR, 1, width, sl_constant(0.0f));
    return norm;
}

struct sl_tensor *sl_norm_apply(struct sl_tape *t, const struct sl_norm *norm, struct sl_tensor *x)
{
    return sl_norm_rows(t, norm, x, NULL);
}

struct sl_tensor *sl_norm_rows(struct sl_tape *t, const struct sl_norm *norm, struct sl_tensor *x,
                               const struct sl_rows *rows)
{
    return sl_layernorm(t, x, norm->weight, norm->bias, norm->epsilon, rows);
}

struct sl_tensor *sl_norm_stream(struct sl_tape *t, const struct sl_norm *norm, struct sl_tensor *x)
{
    return sl_layernorm_stream(t, x, norm->weight, norm->bias, norm->epsilon);
}
