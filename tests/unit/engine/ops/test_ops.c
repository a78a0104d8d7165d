/* test_ops.c - every op alone: its gradients with respect to every input and parameter against
 * finite differences. A row of the table is an op in one of its uses. */
#include "support/op_check.h"

#include "arch/eam/eam.h"
#include "arch/epsilon/epsilon.h"
#include "arch/linear/linear_classifier.h"
#include "arch/transevolve/transevolve.h"
#include "base/random.h"
#include "layers/router.h"
#include "support/test.h"

#include <math.h>

/* -- the uses
 * ------------------------------------------------------------------------------------ */

static struct sl_tensor *use_linear(struct sl_tape *t, struct op_inputs *in)
{
    return sl_linear(t, in->tensors[0],
                     (struct sl_linear_args){.weight = &in->parameters[0],
                                             .bias = &in->parameters[1],
                                             .activation = SL_GELU,
                                             .dropout = 0.3f});
}

static struct sl_tensor *use_linear_relu_operand(struct sl_tape *t, struct op_inputs *in)
{
    return sl_linear(t, in->tensors[0],
                     (struct sl_linear_args){.weight = &in->parameters[0],
                                             .bias = &in->parameters[1],
                                             .activation = SL_RELU,
                                             .operand = true});
}

static struct sl_tensor *use_linear_twice(struct sl_tape *t, struct op_inputs *in)
{
    struct sl_linear_args args = {.weight = &in->parameters[0]};
    struct sl_tensor *x = in->tensors[0];
    struct sl_tensor *y = sl_linear(t, x, args);
    return sl_residual(t, y, sl_linear(t, x, args), (struct sl_residual_args){0});
}

static struct sl_norm_args norm_of(const struct op_inputs *in, float epsilon)
{
    return (struct sl_norm_args){
        .weight = &in->parameters[0], .bias = &in->parameters[1], .epsilon = epsilon};
}

static struct sl_tensor *use_layernorm(struct sl_tape *t, struct op_inputs *in)
{
    return sl_normalize(t, in->tensors[0], norm_of(in, 1e-5f), NULL);
}

static struct sl_tensor *use_rmsnorm(struct sl_tape *t, struct op_inputs *in)
{
    return sl_normalize(
        t, in->tensors[0],
        (struct sl_norm_args){.weight = &in->parameters[0], .epsilon = 1e-2f, .rms = true}, NULL);
}

static struct sl_tensor *use_centernorm(struct sl_tape *t, struct op_inputs *in)
{
    return sl_centernorm(t, in->tensors[0], &in->parameters[0], &in->parameters[1]);
}

static struct sl_tensor *use_layernorm_stream(struct sl_tape *t, struct op_inputs *in)
{
    return sl_normalize_stream(t, in->tensors[0], norm_of(in, 1e-3f));
}

static struct sl_tensor *use_diagonal_scale(struct sl_tape *t, struct op_inputs *in)
{
    return sl_diagonal_scale(t, in->tensors[0], &in->parameters[0]);
}

/* A weight that is fixed has no gradient; what comes before it has, and so has the bias. */
static struct sl_tensor *use_linear_fixed(struct sl_tape *t, struct op_inputs *in)
{
    const struct sl_kernels *k = t->kernels;
    struct sl_parameter *w = sl_tape_struct(t, 1, sizeof *w);
    *w = (struct sl_parameter){.rows = OUTS, .cols = COLS, .product = true};
    w->data = sl_tape_struct(t, (size_t)OUTS * COLS, sizeof *w->data);
    for (int i = 0; i < OUTS * COLS; i++)
        w->data[i] = op_weight(i);
    w->packed = sl_tape_struct(t, k->pack_bytes(COLS, OUTS), 1);
    w->packed_back = sl_tape_struct(t, k->pack_bytes(OUTS, COLS), 1);
    k->pack(w->packed, w->data, SL_F32, COLS, true, COLS, OUTS, 0, OUTS);
    k->pack(w->packed_back, w->data, SL_F32, COLS, false, OUTS, COLS, 0, COLS);
    return sl_linear(t, in->tensors[0],
                     (struct sl_linear_args){.weight = w, .bias = &in->parameters[0]});
}

static struct sl_tensor *use_against_zero(struct sl_tape *t, struct op_inputs *in)
{
    return sl_two_class_logits(t, in->tensors[0]);
}

/* Two depths of one meeting; keys and values are one, and so is what one depth gives the other. */
static struct sl_tensor *evolve(struct sl_tape *t, struct op_inputs *in, bool bidirectional)
{
    struct sl_tensor *key = in->tensors[1];
    struct sl_transevolve_score_table *meeting = sl_transevolve_scores(
        t, in->tensors[0], key, in->tensors[2],
        (struct sl_transevolve_scores_args){.heads = 2, .bidirectional = bidirectional});
    struct sl_tensor *value = sl_transevolve_attention(
        t, meeting, key, (struct sl_transevolve_attention_args){.depth = 1});
    return sl_transevolve_attention(t, meeting, value,
                                    (struct sl_transevolve_attention_args){.depth = 0});
}

static struct sl_tensor *use_evolve(struct sl_tape *t, struct op_inputs *in)
{
    return evolve(t, in, false);
}

static struct sl_tensor *use_evolve_both_ways(struct sl_tape *t, struct op_inputs *in)
{
    return evolve(t, in, true);
}

static struct sl_tensor *use_lookup(struct sl_tape *t, struct op_inputs *in)
{
    return sl_embedding_lookup(t, (struct sl_embedding_lookup_args){.tokens = &in->parameters[0],
                                                                    .positions = &in->parameters[1],
                                                                    .scale = 1.5f,
                                                                    .dropout = 0.2f});
}

static struct sl_tensor *use_lookup_padded(struct sl_tape *t, struct op_inputs *in)
{
    return sl_embedding_lookup(t, (struct sl_embedding_lookup_args){.tokens = &in->parameters[0],
                                                                    .positions = &in->parameters[1],
                                                                    .scale = 1.5f,
                                                                    .padding_token = 1});
}

static struct sl_tensor *use_lookup_pairs(struct sl_tape *t, struct op_inputs *in)
{
    t->word_dropout = 0.3f;
    return sl_embedding_lookup(t, (struct sl_embedding_lookup_args){.tokens = &in->parameters[0],
                                                                    .positions = &in->parameters[1],
                                                                    .bigrams = &in->parameters[2],
                                                                    .scale = 1.5f,
                                                                    .dropout = 0.2f,
                                                                    .padding_token = 1});
}

static struct sl_tensor *use_bag(struct sl_tape *t, struct op_inputs *in)
{
    return sl_add_ngram_logits(t, in->tensors[0],
                               (struct sl_ngram_logits_args){
                                   .table = &in->parameters[0], .scale = 0.7f, .padding_token = 1});
}

/* The second time its input has a gradient already. */
static struct sl_tensor *use_bag_twice(struct sl_tape *t, struct op_inputs *in)
{
    return sl_residual(t, use_bag(t, in), in->tensors[0], (struct sl_residual_args){0});
}

static struct sl_tensor *use_residual(struct sl_tape *t, struct op_inputs *in)
{
    return sl_residual(t, in->tensors[0], in->tensors[1],
                       (struct sl_residual_args){.gate = in->tensors[2], .dropout = 0.25f});
}

static const int32_t chosen[] = {0, 2, 3, 7, 12};
static const struct sl_rows some = {chosen, 5};

static struct sl_tensor *use_residual_rows(struct sl_tape *t, struct op_inputs *in)
{
    return sl_residual(t, in->tensors[0], in->tensors[1],
                       (struct sl_residual_args){
                           .gate = in->tensors[2], .rows = &some, .dropout = 0.25f, .scale = 0.4f});
}

static struct sl_tensor *use_interpolate(struct sl_tape *t, struct op_inputs *in)
{
    return sl_interpolate(t, in->tensors[0], in->tensors[1],
                          (struct sl_interpolate_args){.gate = in->tensors[2], .rows = &some});
}

static struct sl_tensor *use_interpolate_ungated(struct sl_tape *t, struct op_inputs *in)
{
    return sl_interpolate(t, in->tensors[0], in->tensors[1],
                          (struct sl_interpolate_args){.rows = &some});
}

static struct sl_tensor *use_lookup_types(struct sl_tape *t, struct op_inputs *in)
{
    return sl_embedding_lookup(t, (struct sl_embedding_lookup_args){.tokens = &in->parameters[0],
                                                                    .positions = &in->parameters[1],
                                                                    .types = &in->parameters[2],
                                                                    .position_offset = 2,
                                                                    .scale = 1.0f});
}

static struct sl_tensor *use_gather(struct sl_tape *t, struct op_inputs *in)
{
    return sl_gather_rows(t, in->tensors[0], &some);
}

static struct sl_tensor *use_complement(struct sl_tape *t, struct op_inputs *in)
{
    return sl_one_minus_sigmoid(t, in->tensors[0]);
}

static struct sl_tensor *use_multiply(struct sl_tape *t, struct op_inputs *in)
{
    return sl_multiply(t, in->tensors[0], in->tensors[1]);
}

/* The batch's sequences, of which the last row of the first and all of the second are padding. */
static const int32_t beginnings[] = {0, 6, 7, ROWS};
static const struct sl_segments segments = {beginnings, 3};
static const bool padding[ROWS] = {[5] = true, [6] = true};

/* Shares, and what the rows fill bins with by them. */
static struct sl_tensor *use_histogram_bin_means(struct sl_tape *t, struct op_inputs *in)
{
    struct sl_tensor *shares = sl_histogram_assign(
        t, in->tensors[0],
        (struct sl_histogram_assign_args){
            .assign = &in->parameters[0], .padding = padding, .heads = 4, .entropy_weight = 0.7f});
    return sl_histogram_bin_means(
        t, in->tensors[0], shares,
        (struct sl_histogram_bin_means_args){.segments = segments, .heads = 4});
}

static struct sl_tensor *use_share_bins(struct sl_tape *t, struct op_inputs *in)
{
    return sl_histogram_assign(t, in->tensors[0],
                               (struct sl_histogram_assign_args){.assign = &in->parameters[0],
                                                                 .padding = padding,
                                                                 .heads = 2,
                                                                 .bin_padding = true,
                                                                 .entropy_weight = 0.7f});
}

static struct sl_tensor *use_histogram_attend_causal(struct sl_tape *t, struct op_inputs *in)
{
    return sl_histogram_attend_causal(
        t, in->tensors[0], in->tensors[1], sl_softmax_rows(t, in->tensors[2]),
        (struct sl_histogram_attend_causal_args){.heads = 2, .dropout = 0.2f});
}

/* The second time every input has a gradient already. */
static struct sl_tensor *use_histogram_attend_causal_twice(struct sl_tape *t, struct op_inputs *in)
{
    struct sl_tensor *shares = sl_softmax_rows(t, in->tensors[2]), *y = NULL;
    for (int i = 0; i < 2; i++) {
        struct sl_tensor *z =
            sl_histogram_attend_causal(t, in->tensors[0], in->tensors[1], shares,
                                       (struct sl_histogram_attend_causal_args){.heads = 1});
        y = y ? sl_residual(t, y, z, (struct sl_residual_args){0}) : z;
    }
    return y;
}

static struct sl_tensor *use_histogram_attend(struct sl_tape *t, struct op_inputs *in)
{
    return sl_histogram_attend(
        t, in->tensors[0], in->tensors[1],
        (struct sl_histogram_attend_args){.segments = segments, .heads = 2, .dropout = 0.2f});
}

/* Three steps, after which some rows have halted and others have not. */
static struct sl_tensor *halting_step(struct sl_tape *t, struct op_inputs *in, int outputs)
{
    struct sl_halting_state halting = {
        .max_steps = 3,
        .steps = sl_tape_struct(t, ROWS, sizeof *halting.steps),
        .remainder = sl_tape_struct(t, ROWS, sizeof *halting.remainder),
        .remainder_grad = sl_tape_take(t, ROWS, sizeof *halting.remainder_grad),
        .padding = sl_tape_struct(t, ROWS, sizeof *halting.padding)};
    struct sl_halting_state *kept = sl_tape_struct(t, 1, sizeof *kept);
    struct sl_tensor *y = sl_tensor_take(t, outputs, COLS), *h = in->tensors[0];
    struct sl_tensor *z = in->tensors[1];
    memset(y->data, 0, (size_t)outputs * COLS * sizeof(float));
    memcpy(halting.padding, padding, sizeof padding);
    for (int r = 0; r < ROWS; r++)
        halting.remainder[r] = 1.0f;
    *kept = halting;
    for (int step = 1; step <= 3; step++) {
        y = sl_halting_step(t, y, h, z,
                            (struct sl_halting_step_args){.halting = kept,
                                                          .every_row = outputs == ROWS,
                                                          .step = step,
                                                          .kl_weight = 0.6f,
                                                          .log_prior = -0.5f * (float)step,
                                                          .log_prior_remainder = -2.5f});
        h = sl_residual(t, h, in->tensors[0], (struct sl_residual_args){.scale = 0.7f});
        z = sl_residual(t, z, in->tensors[1], (struct sl_residual_args){.scale = 0.9f});
    }
    return y;
}

static struct sl_tensor *use_halting_step(struct sl_tape *t, struct op_inputs *in)
{
    return halting_step(t, in, 3);
}

/* Every row has an output. */
static struct sl_tensor *use_halting_step_every_row(struct sl_tape *t, struct op_inputs *in)
{
    return halting_step(t, in, ROWS);
}

static struct sl_tensor *use_cross_entropy(struct sl_tape *t, struct op_inputs *in)
{
    static const float class_weights[OUTS] = {0.5f, 2.0f};
    struct sl_cross_entropy_args args = {.targets = t->view->batch->targets, .weight = 0.7f};
    sl_cross_entropy(t, in->tensors[0], args);
    args.class_weights = class_weights;
    sl_cross_entropy(t, in->tensors[0], args);
    return NULL;
}

/* The teacher's logits do not depend on what is varied. */
static struct sl_tensor *use_distillation(struct sl_tape *t, struct op_inputs *in)
{
    static const float class_weights[OUTS] = {0.5f, 2.0f};
    struct sl_tensor *teacher = sl_tensor_take(t, ROWS, OUTS);
    for (int i = 0; i < ROWS * OUTS; i++)
        sl_row(teacher, 0)[i] = op_weight(200 + i);
    struct sl_cross_entropy_args args = {.targets = t->view->batch->targets, .weight = 20.0f};
    sl_distillation_loss(t, in->tensors[0], &(struct sl_distillation){teacher, 0.3f}, args);
    args.class_weights = class_weights;
    sl_distillation_loss(t, in->tensors[0], &(struct sl_distillation){teacher, 1.0f}, args);
    return NULL;
}

static struct sl_tensor *use_price(struct sl_tape *t, struct op_inputs *in)
{
    sl_gate_loss(t, in->tensors[0],
                 (struct sl_gate_loss_args){.open_weight = 1.3f, .binarization_weight = 0.4f});
    return sl_one_minus_sigmoid(t, in->tensors[0]);
}

static struct sl_tensor *use_cosine(struct sl_tape *t, struct op_inputs *in)
{
    const int cols = in->tensors[0]->cols;
    float *targets = sl_tape_struct(t, (size_t)(ROWS * cols), sizeof *targets);
    for (int i = 0; i < ROWS * cols; i++)
        targets[i] = op_weight(300 + i);
    sl_cosine_loss(t, in->tensors[0],
                   (struct sl_cosine_loss_args){.targets = targets, .weight = 30.0f});
    return NULL;
}

static struct sl_tensor *use_binary_cross_entropy(struct sl_tape *t, struct op_inputs *in)
{
    const int cols = in->tensors[0]->cols;
    float *targets = sl_tape_struct(t, (size_t)(ROWS * cols), sizeof *targets);
    for (int i = 0; i < ROWS * cols; i++)
        targets[i] = i % 3 == 0 ? 1.0f : 0.0f;
    sl_binary_cross_entropy(
        t, in->tensors[0],
        (struct sl_binary_cross_entropy_args){.targets = targets, .weight = 3.0f});
    return NULL;
}

/* Rows that stand for others, as pooled ones do: their dropout differs from that of 0, 1, 2. */
static struct sl_tensor *use_linear_origin(struct sl_tape *t, struct op_inputs *in)
{
    static const int32_t origin[ROWS] = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 12, 11, 10};
    struct sl_linear_args args = {
        .weight = &in->parameters[0], .dropout = 0.4f, .activation = SL_GELU};
    args.origin = origin;
    return sl_linear(t, in->tensors[0], args);
}

static struct sl_tensor *use_linear_groups(struct sl_tape *t, struct op_inputs *in)
{
    static const int32_t first[] = {0, 8, 8, ROWS};
    struct sl_group *each = sl_tape_struct(t, 3, sizeof *each);
    for (int g = 0; g < 3; g++)
        each[g] = (struct sl_group){&in->parameters[g > 0], &in->parameters[2 + (g > 0)]};
    return sl_linear_groups(t, in->tensors[0],
                            (struct sl_groups){.each = each, .first = first, .count = 3},
                            (struct sl_linear_args){.activation = SL_GELU, .dropout = 0.2f});
}

static struct sl_tensor *use_drop(struct sl_tape *t, struct op_inputs *in)
{
    return sl_dropout_apply(t, in->tensors[0], 0.3f);
}

static struct sl_tensor *use_attend_log(struct sl_tape *t, struct op_inputs *in)
{
    return sl_sparse_attention(t, in->tensors[0], in->tensors[1],
                               (struct sl_sparse_attention_args){.heads = 4, .operand = true});
}

static struct sl_tensor *use_attend_causal(struct sl_tape *t, struct op_inputs *in)
{
    return sl_sparse_attention(
        t, in->tensors[0], in->tensors[1],
        (struct sl_sparse_attention_args){.heads = 1, .pattern = {SL_PATTERN_LOG, .causal = true}});
}

static struct sl_tensor *use_attend_window_and_stride(struct sl_tape *t, struct op_inputs *in)
{
    return sl_sparse_attention(
        t, in->tensors[0], in->tensors[1],
        (struct sl_sparse_attention_args){
            .heads = 2, .rows = &some, .pattern = {SL_PATTERN_WINDOW_STRIDE, 3, 1, false}});
}

static struct sl_tensor *use_attend_none(struct sl_tape *t, struct op_inputs *in)
{
    return sl_sparse_attention(
        t, in->tensors[0], in->tensors[1],
        (struct sl_sparse_attention_args){.heads = 2, .pattern = {.kind = SL_PATTERN_NONE}});
}

static struct sl_tensor *use_softmax_rows(struct sl_tape *t, struct op_inputs *in)
{
    return sl_softmax_rows(t, in->tensors[0]);
}

static struct sl_tensor *use_calibrated_logits(struct sl_tape *t, struct op_inputs *in)
{
    return sl_calibrated_logits(t, in->tensors[0], 1.7f);
}

static struct sl_tensor *use_scale_parts(struct sl_tape *t, struct op_inputs *in)
{
    return sl_scale_by_gates(t, in->tensors[0], in->tensors[1]);
}

/* A choice that does not depend on what is varied. */
static const struct sl_expert_assignment *routes_to(struct sl_tape *t, int used)
{
    struct sl_tensor *shares = sl_tensor_take(t, ROWS, EXPERTS);
    for (int i = 0; i < ROWS * EXPERTS; i++)
        sl_row(shares, 0)[i] = op_weight(100 + i);
    return sl_assign_experts(t, shares, used, NULL);
}

static struct sl_tensor *use_chosen_share(struct sl_tape *t, struct op_inputs *in)
{
    return sl_topk_gates(t, sl_softmax_rows(t, in->tensors[0]), routes_to(t, 1));
}

static struct sl_tensor *use_chosen_shares(struct sl_tape *t, struct op_inputs *in)
{
    return sl_topk_gates(t, sl_softmax_rows(t, in->tensors[0]), routes_to(t, 2));
}

static struct sl_tensor *use_dispatch(struct sl_tape *t, struct op_inputs *in)
{
    return sl_dispatch_to_experts(t, in->tensors[0], routes_to(t, 2));
}

static struct sl_tensor *use_combine(struct sl_tape *t, struct op_inputs *in)
{
    return sl_combine_experts(t, in->tensors[0], in->tensors[1], routes_to(t, 2));
}

static struct sl_tensor *use_balance(struct sl_tape *t, struct op_inputs *in)
{
    struct sl_tensor *shares = sl_softmax_rows(t, in->tensors[0]);
    sl_load_balancing_loss(t, shares, routes_to(t, 2), 1.7f);
    return shares;
}

static const struct op_case cases[] = {
    {"linear, gelu, dropout", {ROWS}, {COLS}, {OUTS, 1}, {COLS, OUTS}, 1, use_linear},
    {"linear, relu, operand", {ROWS}, {COLS}, {OUTS, 1}, {COLS, OUTS}, 1, use_linear_relu_operand},
    {"linear, twice", {ROWS}, {COLS}, {OUTS}, {COLS}, 1, use_linear_twice},
    {"layernorm", {ROWS}, {COLS}, {1, 1}, {COLS, COLS}, 0, use_layernorm},
    {"rmsnorm", {ROWS}, {COLS}, {1}, {COLS}, 0, use_rmsnorm},
    {"lookup", {0}, {0}, {OUTS, ROWS}, {COLS, COLS}, 0, use_lookup},
    {"residual", {ROWS, ROWS, ROWS}, {COLS, COLS, 1}, {0}, {0}, 0, use_residual},
    {"residual, some rows", {ROWS, 5, 5}, {COLS, COLS, 1}, {0}, {0}, 0, use_residual_rows},
    {"interpolate", {ROWS, 5, 5}, {COLS, COLS, 1}, {0}, {0}, 0, use_interpolate},
    {"interpolate, ungated", {ROWS, 5}, {COLS, COLS}, {0}, {0}, 0, use_interpolate_ungated},
    {"lookup, types", {0}, {0}, {OUTS, ROWS, 2}, {COLS, COLS, COLS}, 0, use_lookup_types},
    {"gather", {ROWS}, {COLS}, {0}, {0}, 0, use_gather},
    {"complement", {ROWS}, {1}, {0}, {0}, 0, use_complement},
    {"multiply", {ROWS, ROWS}, {COLS, COLS}, {0}, {0}, 0, use_multiply},
    {"cross entropy", {ROWS}, {OUTS}, {0}, {0}, 0, use_cross_entropy},
    {"distillation", {ROWS}, {OUTS}, {0}, {0}, 0, use_distillation},
    {"linear, origin", {ROWS}, {COLS}, {OUTS}, {COLS}, 1, use_linear_origin},
    {"linear, groups",
     {ROWS},
     {COLS},
     {OUTS, OUTS, 1, 1},
     {COLS, COLS, OUTS, OUTS},
     2,
     use_linear_groups},
    {"drop", {ROWS}, {COLS}, {0}, {0}, 0, use_drop},
    {"attend, log", {ROWS, ROWS}, {COLS, 2 * COLS}, {0}, {0}, 0, use_attend_log},
    {"attend, causal log", {ROWS, ROWS}, {COLS, 2 * COLS}, {0}, {0}, 0, use_attend_causal},
    {"attend, window and stride",
     {5, ROWS},
     {COLS, 2 * COLS},
     {0},
     {0},
     0,
     use_attend_window_and_stride},
    {"attend, no keys", {ROWS, ROWS}, {COLS, 2 * COLS}, {0}, {0}, 0, use_attend_none},
    {"softmax of rows", {ROWS}, {EXPERTS}, {0}, {0}, 0, use_softmax_rows},
    {"scale parts", {ROWS, ROWS}, {COLS, EXPERTS}, {0}, {0}, 0, use_scale_parts},
    {"chosen shares, one", {ROWS}, {EXPERTS}, {0}, {0}, 0, use_chosen_share},
    {"chosen shares, two", {ROWS}, {EXPERTS}, {0}, {0}, 0, use_chosen_shares},
    {"dispatch", {ROWS}, {COLS}, {0}, {0}, 0, use_dispatch},
    {"combine", {2 * ROWS, ROWS}, {COLS, EXPERTS}, {0}, {0}, 0, use_combine},
    {"balance", {ROWS}, {EXPERTS}, {0}, {0}, 0, use_balance},
    {"price", {ROWS}, {1}, {0}, {0}, 0, use_price},
    {"cosine", {ROWS}, {COLS}, {0}, {0}, 0, use_cosine},
    {"binary cross-entropy", {ROWS}, {COLS}, {0}, {0}, 0, use_binary_cross_entropy},
    {"centernorm", {ROWS}, {COLS}, {1, 1}, {COLS, COLS}, 0, use_centernorm},
    {"lookup, padded", {0}, {0}, {OUTS, ROWS}, {COLS, COLS}, 0, use_lookup_padded},
    {"fill bins", {ROWS}, {2 * NARROW}, {NARROW}, {BINS}, 0, use_histogram_bin_means},
    {"share bins", {ROWS}, {2 * NARROW}, {NARROW}, {BINS}, 0, use_share_bins},
    {"prefix bins",
     {ROWS, ROWS, ROWS},
     {NARROW, 2 * NARROW, 2 * BINS},
     {0},
     {0},
     0,
     use_histogram_attend_causal},
    {"prefix bins, twice",
     {ROWS, ROWS, ROWS},
     {NARROW, 2 * NARROW, BINS},
     {0},
     {0},
     0,
     use_histogram_attend_causal_twice},
    {"read bins", {ROWS, 3}, {NARROW, 2 * NARROW *BINS}, {0}, {0}, 0, use_histogram_attend},
    {"halt", {3, ROWS}, {COLS, 1}, {0}, {0}, 0, use_halting_step},
    {"halt, each row", {ROWS, ROWS}, {COLS, 1}, {0}, {0}, 0, use_halting_step_every_row},
    {"layernorm, of the stream", {ROWS}, {COLS}, {1, 1}, {COLS, COLS}, 0, use_layernorm_stream},
    {"scale columns", {ROWS}, {COLS}, {1}, {COLS + 3}, 0, use_diagonal_scale},
    {"linear, fixed", {ROWS}, {COLS}, {1}, {OUTS}, 0, use_linear_fixed},
    {"lookup, pairs", {0}, {0}, {OUTS, ROWS, 5}, {COLS, COLS, COLS}, 0, use_lookup_pairs},
    {"bag", {3}, {OUTS}, {7}, {OUTS - 1}, 0, use_bag},
    {"bag, twice", {3}, {OUTS}, {7}, {OUTS - 1}, 0, use_bag_twice},
    {"against zero", {ROWS}, {1}, {0}, {0}, 0, use_against_zero},
    {"calibrated logits", {ROWS}, {COLS}, {0}, {0}, 0, use_calibrated_logits},
    {"evolve", {ROWS, ROWS, ROWS}, {COLS, COLS, 4}, {0}, {0}, 0, use_evolve},
    {"evolve, both ways", {ROWS, ROWS, ROWS}, {COLS, COLS, 4}, {0}, {0}, 0, use_evolve_both_ways},
};

Test(ops, gradients_agree_with_finite_differences)
{
    struct sl_engine *engine = fixture_exact_engine(1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        op_check(&cases[i], engine);
    sl_engine_destroy(engine);
}

/* Checkpoints depend on it: rows 3, 5, 0, 5, 0 of 11 for tokens 3, 5, 3, 5, 5, and 4 for a text
 * that begins with 5, as SplitMix64 has it. */
Test(ops, pairs_are_found_by_a_fixed_hash)
{
    static const int lengths[] = {5, 1, 0};
    static const int32_t tokens[] = {3, 5, 3, 5, 5, 5};
    static const float want[] = {3.0f, 5.0f, 0.0f, 5.0f, 0.0f, 4.0f};

    enum { VOCAB = 6, BIGRAMS = 11 };

    float zeros[FIXTURE_CONTEXT] = {0}, numbers[BIGRAMS];
    for (int i = 0; i < BIGRAMS; i++)
        numbers[i] = (float)i;
    const struct sl_parameter table = {.data = zeros, .rows = VOCAB, .cols = 1};
    const struct sl_parameter positions = {.data = zeros, .rows = FIXTURE_CONTEXT, .cols = 1};
    const struct sl_parameter pairs = {.data = numbers, .rows = BIGRAMS, .cols = 1};
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct fixture_batch f;
    struct sl_tape t;
    struct sl_err err;
    fixture_batch_init(&f, lengths, 1);
    memcpy(f.tokens, tokens, sizeof tokens);
    EXPECT_OK(sl_tape_init(&t, engine->kernels, engine->pool, 1 << 16, &err), err);
    sl_tape_begin(&t, &f.batch, true);
    const struct sl_tensor *y = sl_embedding_lookup(
        &t, (struct sl_embedding_lookup_args){
                .tokens = &table, .positions = &positions, .bigrams = &pairs, .scale = 1.0f});
    for (int r = 0; r < y->rows; r++)
        cr_expect_eq(*sl_row(y, r), want[r], "row %d", r);
    sl_tape_release(&t);
    sl_engine_destroy(engine);
}

/* Checkpoints depend on it, and on the 0.4. Row f of 13 is 2^f / 0.4, so a sum tells which features
 * were counted: tokens 3 and 5 have rows 12 and 3; pairs 3-5, 5-3 and 5-5 rows 2, 10 and 4; threes
 * 3-5-3, 5-3-5 and 3-5-5 rows 0, 1 and 6; token 2 has row 1, pair 5-2 row 11. Token 0 is padding.
 */
Test(ops, a_bag_counts_each_feature_once)
{
    static const int lengths[] = {5, 1, 4, 0};
    static const int32_t tokens[] = {3, 5, 3, 5, 5, 5, 5, 2, 0, 0};
    static const float want[] = {1.0f + 0x1p12f + 0x1p3f + 0x1p2f + 0x1p10f + 0x1p4f + 0x1p0f +
                                     0x1p1f + 0x1p6f,
                                 2.0f + 0x1p3f, 3.0f + 0x1p3f + 0x1p1f + 0x1p11f};

    enum { FEATURES = 13 };

    float powers[FEATURES], before[] = {1.0f, 2.0f, 3.0f};
    for (int f = 0; f < FEATURES; f++)
        powers[f] = ldexpf(1.0f, f) / 0.4f;
    struct sl_parameter table = {.data = powers, .rows = FEATURES, .cols = 1};
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct fixture_batch f;
    struct sl_tape t;
    struct sl_err err;
    fixture_batch_init(&f, lengths, 1);
    memcpy(f.tokens, tokens, sizeof tokens);
    EXPECT_OK(sl_tape_init(&t, engine->kernels, engine->pool, 1 << 16, &err), err);
    sl_tape_begin(&t, &f.batch, true);
    struct sl_tensor *x = sl_tensor_take(&t, 3, 2);
    for (int s = 0; s < 3; s++)
        sl_row(x, s)[0] = sl_row(x, s)[1] = before[s];
    const struct sl_tensor *y =
        sl_wide_ngrams_apply(&t, &(struct sl_wide_ngrams){.table = &table, .padding_token = 1}, x);
    for (int s = 0; s < 3; s++)
        cr_expect(sl_row(y, s)[0] == before[s] && fabsf(sl_row(y, s)[1] - want[s]) < 0.01f,
                  "text %d: %g, %g", s, (double)sl_row(y, s)[0], (double)sl_row(y, s)[1]);
    sl_tape_release(&t);
    sl_engine_destroy(engine);
}

/* Of tokens that are all 1, those that stay are 2. Each has a fate of its own, which does not
 * depend on how the batch was cut. */
Test(ops, word_dropout_depends_on_the_position)
{
    enum { TEXT = FIXTURE_CONTEXT };

    static const int whole[] = {TEXT, TEXT, 0}, half[] = {TEXT, 0};
    float ones[FIXTURE_CONTEXT], zeros[FIXTURE_CONTEXT] = {0}, kept[2 * TEXT];
    for (int i = 0; i < FIXTURE_CONTEXT; i++)
        ones[i] = 1.0f;
    const struct sl_parameter table = {.data = ones, .rows = FIXTURE_CONTEXT, .cols = 1};
    const struct sl_parameter positions = {.data = zeros, .rows = FIXTURE_CONTEXT, .cols = 1};
    const struct sl_embedding_lookup_args args = {
        .tokens = &table, .positions = &positions, .scale = 1.0f};
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct fixture_batch f;
    struct sl_tape t;
    struct sl_err err;
    EXPECT_OK(sl_tape_init(&t, engine->kernels, engine->pool, 1 << 16, &err), err);
    t.word_dropout = 0.5f;
    fixture_batch_init(&f, whole, 1);
    sl_tape_begin(&t, &f.batch, true);
    const struct sl_tensor *y = sl_embedding_lookup(&t, args);
    float sum = 0.0f;
    for (int r = 0; r < 2 * TEXT; r++) {
        kept[r] = *sl_row(y, r);
        cr_expect(kept[r] == 0.0f || kept[r] == 2.0f, "row %d is %g", r, (double)kept[r]);
        sum += kept[r];
    }
    cr_expect(sum > TEXT && sum < 3 * TEXT, "%g of %d", (double)sum, 2 * TEXT);
    cr_expect_neq(memcmp(kept, kept + TEXT, TEXT * sizeof *kept), 0);
    fixture_batch_init(&f, half, 1);
    f.batch.row_base = TEXT;
    sl_tape_begin(&t, &f.batch, true);
    y = sl_embedding_lookup(&t, args);
    for (int r = 0; r < TEXT; r++)
        cr_expect_eq(*sl_row(y, r), kept[TEXT + r], "row %d of the second text", r);
    sl_tape_release(&t);
    sl_engine_destroy(engine);
}
