/* histogram_attention.c - attention to a few bins among which the keys and values of a sequence, or
 * of its rows so far, are divided. "Histogram Quantized Scalar Attention": Epsilon, section 3.3.
 *
 * The paper projects every key to d_lat dimensions and multiplies it by the prototypes there. That
 * equals one product of the key and U W_bin / tau, which depends only on parameters: it is computed
 * once per step, and its gradient is propagated to the three parameters once per step. */
#include "arch/epsilon/epsilon.h"

#include <math.h>

static const float temperature_min = 1e-3f, tau_offset = 1e-8f;

static void linears_build(struct sl_builder *b, struct sl_histogram_attention *a, int width)
{
    /* Queries, keys and values are initialized as separate matrices, though keys and values are
     * stored as one. */
    struct sl_linear_shape shape = {
        .outs = width, .ins = width, .bound = sl_glorot(width, width).value, .bias = true};
    a->query = sl_linear_build(b, "attention.query", shape);
    a->project = sl_linear_build(b, "attention.output", shape);
    shape.outs = 2 * width;
    a->key_value = sl_linear_build(b, "attention.key_value", shape);
}

/* The cached state of a text in each step. */
static size_t step_floats(const struct sl_histogram_attention_shape *s)
{
    return sl_histogram_attend_causal_floats(s->width, s->heads, s->bins);
}

static const struct sl_buffer_hooks hooks;

struct sl_histogram_attention sl_histogram_attention_build(
    struct sl_builder *b, struct sl_histogram_attention_shape shape)
{
    struct sl_histogram_attention a = {.shape = shape};
    int dim = shape.width / shape.heads, bins = shape.bins;
    linears_build(b, &a, shape.width);
    a.latent = sl_parameter_add(b, "attention.latent_projection", SL_ROLE_SOURCE, shape.latents,
                                dim, sl_glorot(dim, shape.latents));
    /* In the order of the authors' initialiser: heads, bins, latents. */
    a.prototypes =
        sl_parameter_add(b, "attention.bin_prototypes", SL_ROLE_SOURCE, shape.heads * shape.latents,
                         bins, sl_glorot(bins * shape.latents, shape.heads * shape.latents));
    a.log_tau = sl_parameter_add(b, "attention.log_temperature", SL_ROLE_VECTOR, 1, shape.heads,
                                 sl_constant(0.0f));
    a.assign = sl_buffer_add(
        b, "attention.assign",
        (struct sl_buffer_shape){.kind = SL_BUFFER_DERIVED, .rows = shape.width, .cols = bins});
    if (shape.steps > 0)
        a.cache_at = sl_cache_state(b, (size_t)shape.steps * step_floats(&shape));
    sl_buffer_hooks_add(b, &hooks, &a, sizeof a);
    return a;
}

/* -- assign = U W_bin / tau ----------------------------------------------------------------- */

static float tau_of(const struct sl_histogram_attention *a, int head)
{
    return fmaxf(expf(a->log_tau->data[head]), temperature_min) + tau_offset;
}

/* One head's part of assign, head_dim x bins, and of U, latents x bins. */
struct part {
    size_t assign, prototypes;
    float inverse_tau;
};

static struct part part_of(const struct sl_histogram_attention *a, int head)
{
    size_t bins = (size_t)a->shape.bins;
    return (struct part){.assign = (size_t)head * (size_t)a->latent->cols * bins,
                         .prototypes = (size_t)head * (size_t)a->latent->rows * bins,
                         .inverse_tau = 1.0f / tau_of(a, head)};
}

static void materialize(const void *layer, const struct sl_kernels *k)
{
    const struct sl_histogram_attention *a = layer;
    int dim = a->latent->cols, bins = a->shape.bins;
    for (int h = 0; h < a->shape.heads; h++) {
        struct part part = part_of(a, h);
        float *assign = a->assign->data + part.assign;
        k->small_gemm(&(struct sl_small_gemm){.x = a->latent->data,
                                              .x_row = 1,
                                              .x_col = (size_t)dim,
                                              .b = a->prototypes->data + part.prototypes,
                                              .b_row = (size_t)bins,
                                              .y = assign,
                                              .y_row = (size_t)bins,
                                              .m = dim,
                                              .n = bins,
                                              .k = a->shape.latents});
        k->scale(assign, part.inverse_tau, assign, dim * bins);
    }
}

/* dW_bin = U G^T for G the gradient of assign by tau. */
static void latent_backward(const struct sl_histogram_attention *a, const struct sl_kernels *k,
                            const float *prototypes, const float *g)
{
    int dim = a->latent->cols, bins = a->shape.bins;
    float *dlatent = a->latent->grad;
    for (int l = 0; l < a->shape.latents; l++, prototypes += bins)
        for (int c = 0; c < dim; c++)
            *dlatent++ += k->dot(prototypes, g + (size_t)c * (size_t)bins, bins);
}

/* And dU = W_bin G; dlog_tau = -<tau G, assign> exp(log_tau) / tau, 0 where tau is at its
 * minimum. */
static void head_backward(const struct sl_histogram_attention *a, const struct sl_kernels *k,
                          int head)
{
    int dim = a->latent->cols, bins = a->shape.bins;
    struct part part = part_of(a, head);
    float *g = a->assign->grad + part.assign, dtau = expf(a->log_tau->data[head]);
    float along = k->dot(g, a->assign->data + part.assign, dim * bins);
    if (dtau > temperature_min)
        a->log_tau->grad[head] -= along * dtau * part.inverse_tau;
    k->scale(g, part.inverse_tau, g, dim * bins);
    k->small_gemm(&(struct sl_small_gemm){.x = a->latent->data,
                                          .x_row = (size_t)dim,
                                          .x_col = 1,
                                          .b = g,
                                          .b_row = (size_t)bins,
                                          .y = a->prototypes->grad + part.prototypes,
                                          .y_row = (size_t)bins,
                                          .m = a->shape.latents,
                                          .n = bins,
                                          .k = dim,
                                          .accumulate = true});
    latent_backward(a, k, a->prototypes->data + part.prototypes, g);
}

static void backprop(const void *layer, const struct sl_kernels *k)
{
    const struct sl_histogram_attention *a = layer;
    for (int h = 0; h < a->shape.heads; h++)
        head_backward(a, k, h);
}

static const struct sl_buffer_hooks hooks = {.materialize = materialize, .backprop = backprop};

/* -- use --------------------------------------------------------------------------------------- */

static struct sl_tensor *linear(struct sl_tape *t, const struct sl_linear_layer *layer,
                                struct sl_tensor *x)
{
    return sl_linear(t, x, (struct sl_linear_args){.weight = layer->weight, .bias = layer->bias});
}

/* entropy_weight: of each row. */
static struct sl_tensor *assign(struct sl_tape *t, const struct sl_histogram_attention *a,
                                struct sl_tensor *key_value, const bool *padding,
                                float entropy_weight)
{
    float weight = t->training ? entropy_weight / (float)a->shape.heads : 0.0f;
    return sl_histogram_assign(
        t, key_value,
        (struct sl_histogram_assign_args){.assign = a->assign,
                                          .padding = padding,
                                          .heads = a->shape.heads,
                                          .bin_padding = a->shape.bin_padding,
                                          .entropy_weight = weight});
}

struct sl_tensor *sl_histogram_attention_bin_means(struct sl_tape *t,
                                                   const struct sl_histogram_attention *a,
                                                   const struct sl_recurrence *s,
                                                   struct sl_tensor *x, float entropy_weight)
{
    struct sl_tensor *key_value = linear(t, &a->key_value, x);
    struct sl_tensor *assignments =
        assign(t, a, key_value, s->padding, entropy_weight * s->row_weight);
    return sl_histogram_bin_means(
        t, key_value, assignments,
        (struct sl_histogram_bin_means_args){.segments = s->segments, .heads = a->shape.heads});
}

struct sl_tensor *sl_histogram_attention_apply(struct sl_tape *t,
                                               const struct sl_histogram_attention *a,
                                               const struct sl_recurrence *s, struct sl_tensor *x,
                                               struct sl_tensor *bins, const struct sl_rows *rows)
{
    struct sl_tensor *query = linear(t, &a->query, sl_gather_rows(t, x, rows));
    struct sl_tensor *context =
        sl_histogram_attend(t, query, bins,
                            (struct sl_histogram_attend_args){.segments = s->segments,
                                                              .rows = rows,
                                                              .heads = a->shape.heads,
                                                              .dropout = a->shape.dropout});
    return linear(t, &a->project, context);
}

void sl_histogram_attention_begin(struct sl_tape *t, const struct sl_histogram_attention *a,
                                  struct sl_causal_recurrence *w)
{
    int rows = t->view->batch->rows;
    if (t->training || t->policy->dense)
        return;
    w->key_value = sl_tensor_take(t, rows, 2 * a->shape.width);
    w->assignments = sl_tensor_take(t, rows, a->shape.heads * a->shape.bins);
}

/* Halted rows keep their values; without any, the result is x. */
static struct sl_tensor *merge_computed(struct sl_tape *t, const struct sl_causal_recurrence *w,
                                        struct sl_tensor *kept, struct sl_tensor *x)
{
    return kept ? sl_scatter_rows(t, kept, x, w->computed_rows) : x;
}

struct sl_tensor *sl_histogram_attention_apply_causal(struct sl_tape *t,
                                                      const struct sl_histogram_attention *a,
                                                      const struct sl_causal_recurrence *w,
                                                      struct sl_tensor *x, float entropy_weight)
{
    struct sl_tensor *key_value = linear(t, &a->key_value, x);
    struct sl_tensor *assignments = assign(t, a, key_value, NULL, entropy_weight * w->row_weight);
    struct sl_tensor *query = linear(t, &a->query, sl_gather_rows(t, x, w->gate_index));
    size_t before = (size_t)(w->step - 1) * step_floats(&a->shape);
    struct sl_tensor *context = sl_histogram_attend_causal(
        t, query, merge_computed(t, w, w->key_value, key_value),
        merge_computed(t, w, w->assignments, assignments),
        (struct sl_histogram_attend_causal_args){.rows = w->gate.rows,
                                                 .heads = a->shape.heads,
                                                 .cache_at = a->cache_at + before,
                                                 .dropout = a->shape.dropout});
    return linear(t, &a->project, context);
}
