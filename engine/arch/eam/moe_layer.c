/* moe_layer.c - a mixture of experts: small MLPs, weighted by a gate for each row. Shazeer et al.
 * 2017; one expert for each row: Fedus et al. 2021.
 *
 *     g = softmax(W_g x + b_g)
 *     y = sum_k g_k (W2_k dropout(relu(W1_k x + b1_k)) + b2_k)
 *
 * With all K experts this is two matrix products: W1 stacks the experts' weights as rows, W2 as
 * columns, and between them the features of each expert are scaled by its gate. With a chosen few,
 * rows are sorted by expert, and each expert multiplies its own rows; W1_k and W2_k are then copies
 * of parts of W1 and W2, so one checkpoint works for both. In both cases the second biases are one
 * small product with the gates. */
#include "arch/eam/eam.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct sl_parameter *copy_build(struct sl_builder *b, const char *name, int expert,
                                             int rows, int cols)
{
    char full[SL_NAME_MAX];
    (void)snprintf(full, sizeof full, "experts.%d.%s", expert, name);
    return sl_buffer_add(
        b, full,
        (struct sl_buffer_shape){
            .kind = SL_BUFFER_DERIVED, .rows = rows, .cols = cols, .product = true});
}

static const struct sl_expert_weights *copies_build(struct sl_builder *b, const struct sl_moe *e)
{
    struct sl_expert_weights *each = sl_arena_take(b->arena, (size_t)e->count, sizeof *each);
    for (int k = 0; k < e->count; k++) {
        each[k].up = copy_build(b, "up", k, e->ffn_width, e->up->cols);
        each[k].down = copy_build(b, "down", k, e->down->rows, e->ffn_width);
    }
    return each;
}

static const struct sl_buffer_hooks hooks;

struct sl_moe sl_moe_build(struct sl_builder *b, struct sl_moe_shape shape)
{
    int d = shape.width, features = shape.count * shape.ffn_width;
    struct sl_init in = sl_uniform(1.0f / sqrtf((float)d));
    struct sl_init out = sl_uniform(1.0f / sqrtf((float)shape.ffn_width));
    enum sl_role role = shape.top_k > 0 ? SL_ROLE_SOURCE : SL_ROLE_MATRIX;
    struct sl_moe e = {.count = shape.count,
                       .ffn_width = shape.ffn_width,
                       .top_k = shape.top_k,
                       .dropout = shape.dropout,
                       .load_balancing_weight = shape.load_balancing_weight};
    e.gate = sl_linear_build(
        b, "experts.gate",
        (struct sl_linear_shape){.outs = shape.count, .ins = d, .bias = true, .bias_zero = true});
    e.up = sl_parameter_add(b, "experts.up.weight", role, features, d, in);
    e.up_bias = sl_parameter_add(b, "experts.up.bias", SL_ROLE_VECTOR, 1, features, in);
    e.down = sl_parameter_add(b, "experts.down.weight", role, d, features, out);
    e.down_bias = sl_parameter_add(b, "experts.down.bias", SL_ROLE_VECTOR, d, shape.count, out);
    e.down_bias->product = true;
    if (shape.top_k > 0) {
        e.each = copies_build(b, &e);
        sl_buffer_hooks_add(b, &hooks, &e, sizeof e);
    }
    return e;
}

/* -- copies of each expert's weights --------------------------------------------------------- */

static void materialize(const void *layer, const struct sl_kernels *kernels)
{
    const struct sl_moe *e = layer;
    (void)kernels;
    size_t each = (size_t)e->ffn_width, features = each * (size_t)e->count, d = (size_t)e->up->cols;
    for (size_t k = 0; k < (size_t)e->count; k++) {
        memcpy(e->each[k].up->data, e->up->data + k * each * d, each * d * sizeof(float));
        for (size_t r = 0; r < d; r++)
            memcpy(e->each[k].down->data + r * each, e->down->data + r * features + k * each,
                   each * sizeof(float));
    }
}

static void backprop(const void *layer, const struct sl_kernels *kernels)
{
    const struct sl_moe *e = layer;
    size_t each = (size_t)e->ffn_width, features = each * (size_t)e->count, d = (size_t)e->up->cols;
    for (size_t k = 0; k < (size_t)e->count; k++) {
        for (size_t r = 0; r < each; r++)
            kernels->axpy(e->up->grad + (k * each + r) * d, 1.0f, e->each[k].up->grad + r * d,
                          (int)d);
        for (size_t r = 0; r < d; r++)
            kernels->axpy(e->down->grad + r * features + k * each, 1.0f,
                          e->each[k].down->grad + r * each, e->ffn_width);
    }
}

static const struct sl_buffer_hooks hooks = {.materialize = materialize, .backprop = backprop};

/* -- all experts, or the top k -------------------------------------------------------------- */

static struct sl_tensor *apply_dense(struct sl_tape *t, const struct sl_moe *e, struct sl_tensor *x,
                                     struct sl_tensor *gate_weights, const int32_t *origin)
{
    struct sl_tensor *hidden = sl_linear(t, x,
                                         (struct sl_linear_args){.weight = e->up,
                                                                 .bias = e->up_bias,
                                                                 .activation = SL_RELU,
                                                                 .dropout = e->dropout,
                                                                 .operand = true,
                                                                 .origin = origin});
    hidden = sl_scale_by_gates(t, hidden, gate_weights);
    return sl_linear(t, hidden, (struct sl_linear_args){.weight = e->down});
}

/* Each expert's first weight, with its part of the biases. */
static const struct sl_group *up_weights(struct sl_tape *t, const struct sl_moe *e)
{
    struct sl_group *ups = sl_tape_struct(t, (size_t)e->count, sizeof *ups);
    struct sl_parameter *biases = sl_tape_struct(t, (size_t)e->count, sizeof *biases);
    for (int k = 0; k < e->count; k++) {
        size_t at = (size_t)k * (size_t)e->ffn_width;
        biases[k] = *e->up_bias;
        biases[k].data += at;
        biases[k].grad = biases[k].grad ? biases[k].grad + at : NULL;
        biases[k].cols = e->ffn_width;
        ups[k] = (struct sl_group){e->each[k].up, &biases[k]};
    }
    return ups;
}

static const struct sl_group *down_weights(struct sl_tape *t, const struct sl_moe *e)
{
    struct sl_group *downs = sl_tape_struct(t, (size_t)e->count, sizeof *downs);
    for (int k = 0; k < e->count; k++)
        downs[k].weight = e->each[k].down;
    return downs;
}

static struct sl_tensor *apply_top_k(struct sl_tape *t, const struct sl_moe *e, struct sl_tensor *x,
                                     struct sl_tensor *gate_weights,
                                     const struct sl_expert_assignment *assignment)
{
    struct sl_groups groups = {
        .each = up_weights(t, e), .first = assignment->first, .count = e->count};
    struct sl_tensor *hidden =
        sl_linear_groups(t, sl_dispatch_to_experts(t, x, assignment), groups,
                         (struct sl_linear_args){.activation = SL_RELU,
                                                 .dropout = e->dropout,
                                                 .operand = true,
                                                 .origin = assignment->origin});
    groups.each = down_weights(t, e);
    struct sl_tensor *y = sl_linear_groups(t, hidden, groups, (struct sl_linear_args){0});
    return sl_combine_experts(t, y, gate_weights, assignment);
}

/* A row stands for the tokens from its origin to that of the next. */
static void record_routing(struct sl_tape *t, const struct sl_tensor *gate_weights,
                           const int32_t *origin)
{
    if (!t->stats.routing)
        return;
    for (int r = 0; r < gate_weights->rows; r++) {
        int first = origin ? origin[r] : sl_rows_at(t->view->batch->wanted, r);
        int end = origin ? origin[r + 1] : first + 1;
        for (int row = first; row < end; row++)
            for (int expert = 0; expert < gate_weights->cols; expert++)
                sl_stats_set_routing(t, row, expert, sl_row(gate_weights, r)[expert]);
    }
}

struct sl_tensor *sl_moe_apply(struct sl_tape *t, const struct sl_moe *e, struct sl_tensor *x,
                               const int32_t *origin)
{
    struct sl_tensor *y,
        *gate_weights = sl_linear_apply(t, &e->gate, x, (struct sl_linear_args){0});
    gate_weights = sl_softmax_rows(t, gate_weights);
    if (e->each) {
        const struct sl_expert_assignment *assignment =
            sl_assign_experts(t, gate_weights, e->top_k, origin);
        if (t->training && e->load_balancing_weight > 0.0f)
            sl_load_balancing_loss(t, gate_weights, assignment, e->load_balancing_weight);
        gate_weights = sl_topk_gates(t, gate_weights, assignment);
        y = apply_top_k(t, e, x, gate_weights, assignment);
    } else {
        y = apply_dense(t, e, x, gate_weights, origin);
    }
    record_routing(t, gate_weights, origin);
    struct sl_tensor *biases =
        sl_linear(t, gate_weights, (struct sl_linear_args){.weight = e->down_bias});
    return sl_residual(t, y, biases, (struct sl_residual_args){0});
}
