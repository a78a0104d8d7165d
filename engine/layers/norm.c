/* norm.c - layer normalisation: gain 1, shift 0, epsilon 1e-5 at first. */
#include "layers/layers.h"

#include <stdio.h>

static const float usual_epsilon = 1e-5f;

struct sl_norm sl_norm_build(struct sl_builder *b, const char *name, int width)
{
    char gain[SL_NAME_MAX], shift[SL_NAME_MAX];
    (void)snprintf(gain, sizeof gain, "%s.gain", name);
    (void)snprintf(shift, sizeof shift, "%s.shift", name);
    struct sl_norm norm = {.epsilon = usual_epsilon};
    norm.gain = sl_parameter_add(b, gain, SL_ROLE_VECTOR, 1, width, sl_constant(1.0f));
    norm.shift = sl_parameter_add(b, shift, SL_ROLE_VECTOR, 1, width, sl_constant(0.0f));
    return norm;
}

struct sl_tensor *sl_norm_apply(struct sl_tape *t, const struct sl_norm *norm, struct sl_tensor *x)
{
    return sl_layernorm(t, x, norm->gain, norm->shift, norm->epsilon);
}

struct sl_tensor *sl_norm_stream(struct sl_tape *t, const struct sl_norm *norm, struct sl_tensor *x)
{
    return sl_layernorm_stream(t, x, norm->gain, norm->shift, norm->epsilon);
}
