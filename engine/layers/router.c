/* router.c - a small MLP computes each token's gate for the next block. TSA, sections 2.3 and 2.4:
 * p = sigmoid(w2 relu(w1 h + b1) + b2) is the probability of skipping. */
#include "layers/router.h"

#include <math.h>

struct sl_router sl_router_build(struct sl_builder *b, int width,
                                 const struct sl_router_config *config)
{
    struct sl_router r = {.hard = false};
    const int quarter = width / 4 > 16 ? width / 4 : 16;
    const int hidden = config->router_width > 0 ? config->router_width : quarter;
    r.up = sl_linear_build(b, "router.up",
                           (struct sl_linear_shape){.outs = hidden, .ins = width, .bias = true});
    r.down = sl_linear_build(
        b, "router.down",
        (struct sl_linear_shape){
            .outs = 1, .ins = hidden, .bias = true, .bias_start = config->router_bias});
    return r;
}

struct sl_router_training sl_router_training_of(const struct sl_router_config *config, int routers)
{
    const float count = routers > 0 ? (float)routers : 1.0f;
    return (struct sl_router_training){
        .loss = {config->compute_weight / count, config->gate_binarization_weight / count},
        .gate_limit = config->training_gate_limit,
        .warmup = config->penalty_warmup};
}

/* At this point of a training: blocks that have learnt nothing yet would only be skipped. */
static struct sl_router_training training_now(const struct sl_tape *t,
                                              struct sl_router_training training)
{
    const float risen = t->progress < training.warmup ? t->progress / training.warmup : 1.0f;
    training.loss.open_weight *= risen;
    training.loss.binarization_weight *= risen;
    return training;
}

static const struct sl_gate_policy *own_of(const struct sl_policy *p)
{
    return (const void *)p->own;
}

static float logit_of(float probability)
{
    return logf(probability / (1.0f - probability));
}

/* A row is active where z < limit, the logit of gate_limit. Hard gates compare with 0, so they do
 * not depend on the rounding of a logistic function. */
static float limit_of(const struct sl_policy *p)
{
    const struct sl_gate_policy *policy = own_of(p);
    return policy->gate == SL_GATE_MIXED ? logit_of(policy->gate_limit) : 0.0f;
}

/* The limit of each row of z; zeros while training and in a dry run. */
static const float *row_limits(struct sl_tape *t, const struct sl_tensor *z,
                               const struct sl_rows *candidates)
{
    float *limits = sl_tape_struct(t, (size_t)z->rows, sizeof *limits), limit = 0.0f;
    const struct sl_policy *last = NULL;
    for (int r = 0; !t->training && !sl_tape_is_dry(t) && r < z->rows; r++) {
        const struct sl_policy *policy = sl_row_policy(t, candidates ? candidates->index[r] : r);
        limit = policy == last ? limit : limit_of(policy);
        limits[r] = limit;
        last = policy;
    }
    return limits;
}

static void note_gates(struct sl_tape *t, const struct sl_tensor *z, const struct sl_tensor *g,
                       const float *limits)
{
    for (int r = 0; !sl_tape_is_dry(t) && r < z->rows; r++) {
        t->stats.gate_sum += (double)*sl_row(g, r);
        t->stats.active_sum += *sl_row(z, r) < limits[r] ? 1.0 : 0.0;
    }
    t->stats.gate_count += (double)z->rows;
    t->stats.active_count += (double)z->rows;
}

/* The indices in z of rows whose logit is below their limit, or NULL for all; in a dry run a list
 * of all, which needs most memory. */
static const struct sl_rows *active_rows(struct sl_tape *t, const struct sl_tensor *z,
                                         const float *limits)
{
    struct sl_rows *rows = sl_tape_struct(t, 1, sizeof *rows);
    int32_t *index = sl_tape_struct(t, (size_t)z->rows, sizeof *index);
    for (int r = 0; r < z->rows; r++)
        if (sl_tape_is_dry(t) || *sl_row(z, r) < limits[r])
            index[rows->count++] = r;
    rows->index = index;
    return rows->count == z->rows && !sl_tape_is_dry(t) ? NULL : rows;
}

/* Translates indices among some rows to rows of the batch. */
static const struct sl_rows *candidate_rows(struct sl_tape *t, const struct sl_rows *candidates,
                                            const struct sl_rows *places)
{
    if (!candidates || !places)
        return candidates ? candidates : places;
    struct sl_rows *rows = sl_tape_struct(t, 1, sizeof *rows);
    int32_t *index = sl_tape_struct(t, (size_t)places->count, sizeof *index);
    for (int i = 0; i < places->count; i++)
        index[i] = candidates->index[places->index[i]];
    *rows = (struct sl_rows){index, places->count};
    return rows;
}

/* The dense reference: every row runs, and skipped rows are multiplied by zero. */
static void close_gates(struct sl_tape *t, const struct sl_tensor *z, struct sl_tensor *g,
                        const float *limits, bool whole)
{
    for (int r = 0; !sl_tape_is_dry(t) && r < z->rows; r++) {
        float open = whole ? 1.0f : *sl_row(g, r);
        *sl_row(g, r) = *sl_row(z, r) < limits[r] ? open : 0.0f;
    }
}

struct sl_gate sl_router_apply(struct sl_tape *t, const struct sl_router *r, struct sl_tensor *h,
                               struct sl_router_training training, const struct sl_rows *candidates)
{
    struct sl_tensor *z = sl_mlp_apply(t, &r->up, &r->down, sl_gather_rows(t, h, candidates),
                                       (struct sl_linear_args){.activation = SL_RELU});
    struct sl_tensor *g = sl_one_minus_sigmoid(t, z);
    const float *limits = row_limits(t, z, candidates);
    note_gates(t, z, g, limits);
    if (t->training) {
        sl_gate_loss(t, g, training.loss);
        const bool closes = training.gate_limit < 1.0f;
        if (r->hard && !closes)
            return (struct sl_gate){0};
        if (closes)
            g = sl_close_gates(t, g,
                               (struct sl_close_gates_args){.logits = z,
                                                            .limit = logit_of(training.gate_limit),
                                                            .hard = r->hard});
        return (struct sl_gate){.value = g};
    }
    const struct sl_gate_policy *policy = own_of(t->policy);
    if (policy->gate == SL_GATE_SOFT)
        return (struct sl_gate){.value = r->hard ? NULL : g, .rows = candidates};
    const bool whole = r->hard || policy->gate == SL_GATE_HARD;
    if (t->policy->dense) {
        close_gates(t, z, g, limits, whole);
        return (struct sl_gate){.value = g};
    }
    const struct sl_rows *active = active_rows(t, z, limits);
    return (struct sl_gate){.value = whole ? NULL : sl_gather_rows(t, g, active),
                            .rows = candidate_rows(t, candidates, active)};
}

struct sl_tensor *sl_routed_blocks_apply(struct sl_tape *t, struct sl_routed_blocks b,
                                         struct sl_tensor *h, const struct sl_rows *reads)
{
    const struct sl_router_training training = training_now(t, b.training);
    for (int i = 0; i < b.depth; i++) {
        const struct sl_rows *candidates = i + 1 < b.depth ? NULL : reads;
        struct sl_gate gate = {.rows = candidates};
        if (i > 0)
            gate = sl_router_apply(t, &b.routers[i - 1], h, training, candidates);
        sl_gate_record(t, i, gate);
        h = sl_block_apply(t, &b.blocks[i], h, gate);
    }
    return h;
}
