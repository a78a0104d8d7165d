/* spectral_linear.c - a linear layer whose weight is divided by its largest singular value.
 * Miyato et al. 2018, algorithm 1. */
#include "arch/epsilon/epsilon.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Iterations per training step. The authors of Epsilon iterate once in each of up to 8 passes
 * through the block. The first update needs more, because its vectors are random. */
enum { ROUNDS = 8, ROUNDS_FIRST = 20 };

static const float min_norm = 1e-12f;

static struct sl_parameter *vector(struct sl_builder *b, const char *name, const char *suffix,
                                   int count)
{
    char full[SL_NAME_MAX];
    (void)snprintf(full, sizeof full, "%s.%s", name, suffix);
    return sl_buffer_add(
        b, full,
        (struct sl_buffer_shape){
            .kind = SL_BUFFER_SAVED, .rows = 1, .cols = count, .init = sl_normal(1.0f)});
}

static const struct sl_buffer_hooks hooks;

struct sl_spectral_linear sl_spectral_linear_build(struct sl_builder *b, const char *name, int outs,
                                                   int ins)
{
    char raw[SL_NAME_MAX], normal[SL_NAME_MAX], bias[SL_NAME_MAX];
    (void)snprintf(raw, sizeof raw, "%s.weight", name);
    (void)snprintf(normal, sizeof normal, "%s.normalized_weight", name);
    (void)snprintf(bias, sizeof bias, "%s.bias", name);
    struct sl_spectral_linear s = {0};
    s.raw = sl_parameter_add(b, raw, SL_ROLE_SOURCE, outs, ins, sl_glorot(ins, outs));
    s.u = vector(b, name, "weight_u", outs);
    s.v = vector(b, name, "weight_v", ins);
    s.layer.weight =
        sl_buffer_add(b, normal,
                      (struct sl_buffer_shape){
                          .kind = SL_BUFFER_DERIVED, .rows = outs, .cols = ins, .product = true});
    s.layer.bias =
        sl_parameter_add(b, bias, SL_ROLE_VECTOR, 1, outs, sl_uniform(1.0f / sqrtf((float)ins)));
    sl_buffer_hooks_add(b, &hooks, &s, sizeof s);
    return s;
}

static const float *row_of(const struct sl_parameter *p, int row)
{
    return p->data + (size_t)row * (size_t)p->cols;
}

static float sigma_of(const struct sl_spectral_linear *s, const struct sl_kernels *k)
{
    double sigma = 0.0;
    for (int r = 0; r < s->raw->rows; r++)
        sigma +=
            (double)s->u->data[r] * (double)k->dot(row_of(s->raw, r), s->v->data, s->raw->cols);
    return fmaxf((float)sigma, min_norm);
}

static void materialize(const void *layer, const struct sl_kernels *k)
{
    const struct sl_spectral_linear *s = layer;
    k->scale(s->layer.weight->data, 1.0f / sigma_of(s, k), s->raw->data,
             s->raw->rows * s->raw->cols);
}

/* With G = dL/d(W / sigma):  dW = (G - <G, W / sigma> u v^T) / sigma. */
static void backprop(const void *layer, const struct sl_kernels *k)
{
    const struct sl_spectral_linear *s = layer;
    const struct sl_parameter *normal = s->layer.weight;
    float inverse = 1.0f / sigma_of(s, k);
    double along = 0.0;
    for (int r = 0; r < normal->rows; r++) {
        const float *g = normal->grad + (size_t)r * (size_t)normal->cols;
        along += (double)k->dot(g, row_of(normal, r), normal->cols);
    }
    for (int r = 0; r < normal->rows; r++) {
        size_t at = (size_t)r * (size_t)normal->cols;
        float *dw = s->raw->grad + at;
        k->axpy(dw, inverse, normal->grad + at, normal->cols);
        k->axpy(dw, -inverse * (float)along * s->u->data[r], s->v->data, normal->cols);
    }
}

static void normalise(const struct sl_parameter *x, const struct sl_kernels *k)
{
    float norm = sqrtf(k->dot(x->data, x->data, x->cols));
    k->scale(x->data, 1.0f / fmaxf(norm, min_norm), x->data, x->cols);
}

/* v = W^T u / |W^T u|;  u = W v / |W v|. */
static void iterate(const struct sl_spectral_linear *s, const struct sl_kernels *k)
{
    memset(s->v->data, 0, (size_t)s->v->cols * sizeof *s->v->data);
    for (int r = 0; r < s->raw->rows; r++)
        k->axpy(s->v->data, s->u->data[r], row_of(s->raw, r), s->v->cols);
    normalise(s->v, k);
    for (int r = 0; r < s->raw->rows; r++)
        s->u->data[r] = k->dot(row_of(s->raw, r), s->v->data, s->v->cols);
    normalise(s->u, k);
}

static void update(const void *layer, const struct sl_kernels *k, bool fresh)
{
    const struct sl_spectral_linear *s = layer;
    for (int i = 0; i < (fresh ? ROUNDS_FIRST : ROUNDS); i++)
        iterate(s, k);
}

static const struct sl_buffer_hooks hooks = {.materialize = materialize,
                                             .backprop = backprop,
                                             .update = update};
