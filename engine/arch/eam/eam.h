/* eam.h - the parts of EAM: sparse attention and a mixture of experts. */
#pragma once

#include "arch/arch.h"

struct sl_eam_config {
    int attention_pattern, stride, window, pool_size; /* attention_pattern: enum sl_pattern_kind */
    int experts, experts_per_token;
    bool pre_norm;
    int embedding_init;
    float load_balancing_weight;
};

SL_CONFIG_FITS(struct sl_eam_config);

/* -- ops -------------------------------------------------------------------------------------- */

/* y_i = softmax(x_i). */
struct sl_tensor *sl_softmax_rows(struct sl_tape *t, struct sl_tensor *x);

/* The keys that a query attends to. With n rows in the sequence, row i sees
 *     log             i, i +- 1, i +- 2, i +- 4, ...
 *     stride          every j with j = i mod stride
 *     window_stride   every j with |i - j| <= window or j = 0 mod stride
 *     dense           all;   none   no key at all: the result is 0
 * With causal, only those that are not after i. */
enum sl_pattern_kind {
    SL_PATTERN_LOG,
    SL_PATTERN_STRIDE,
    SL_PATTERN_WINDOW_STRIDE,
    SL_PATTERN_DENSE,
    SL_PATTERN_NONE
};

struct sl_pattern {
    enum sl_pattern_kind kind;
    int stride, window;
    bool causal;
};

/* Writes the keys of `row` in a sequence of `rows`, ascending, to an array of `rows` elements;
 * returns their number. */
int sl_pattern_keys(struct sl_pattern pattern, int row, int rows, int32_t *keys);

/* sl_attention over the keys of a pattern, in time proportional to their number. A sequence with a
 * cache needs a causal pattern. No dropout. */
struct sl_sparse_attention_args {
    const struct sl_rows *rows;
    int heads, cache_at;
    struct sl_pattern pattern;
    bool operand; /* the result is only read by matrix products */
};
struct sl_tensor *sl_sparse_attention(struct sl_tape *t, struct sl_tensor *query,
                                      struct sl_tensor *key_value,
                                      struct sl_sparse_attention_args args);

/* z_{i, p c + j} = gate_{i, p} x_{i, p c + j}: a row of x has a slice of c columns for each expert
 * p. x: operand. Result: operand. */
struct sl_tensor *sl_scale_by_gates(struct sl_tape *t, struct sl_tensor *x,
                                    struct sl_tensor *gate_weights);

/* The assignment of rows to experts, each row to `top_k` of them. A slot is a row at an expert;
 * slots are numbered expert by expert. */
struct sl_expert_assignment {
    int rows, top_k, experts;
    int32_t *first;  /* per expert, its first slot; and one past the last */
    int32_t *expert; /* rows x used: the experts of each row, ascending, */
    int32_t *slot;   /* and its slots there */
    int32_t *row;    /* per slot: its row, */
    int32_t *origin; /* and the row of the batch that it comes from: see sl_linear_args */
};

/* The experts with the largest gate weights; among equal ones, those with lower numbers. The choice
 * has no gradient. origin: see sl_linear_args, per row of `gate_weights`. */
const struct sl_expert_assignment *sl_assign_experts(struct sl_tape *t,
                                                     const struct sl_tensor *gate_weights,
                                                     int top_k, const int32_t *origin);
/* Gate weights of the chosen experts, 0 for the others; divided by their sum if there are two or
 * more. */
struct sl_tensor *sl_topk_gates(struct sl_tape *t, struct sl_tensor *gate_weights,
                                const struct sl_expert_assignment *assignment);
/* y_slot = x_row. */
struct sl_tensor *sl_dispatch_to_experts(struct sl_tape *t, struct sl_tensor *x,
                                         const struct sl_expert_assignment *assignment);
/* y_row = sum over its experts of gate_{row, expert} x_slot. */
struct sl_tensor *sl_combine_experts(struct sl_tape *t, struct sl_tensor *x,
                                     struct sl_tensor *gate_weights,
                                     const struct sl_expert_assignment *assignment);
/* Adds weight * K * sum over experts of (fraction of the rows sent there) (mean gate weight) to the
 * loss, scaled by this batch's fraction of the whole training batch. Fedus et al. 2021, eq. 4; no
 * gradient passes the first factor. */
void sl_load_balancing_loss(struct sl_tape *t, struct sl_tensor *gate_weights,
                            const struct sl_expert_assignment *assignment, float weight);

/* -- layers ----------------------------------------------------------------------------------- */

/* A mixture of `count` MLPs with a gate per row. used 0: the sum of all, weighted by the gate; else
 * only those with the largest gate weights are computed. */
struct sl_moe_shape {
    int width, ffn_width, count, top_k;
    float dropout;               /* of the hidden features */
    float load_balancing_weight; /* of the load-balancing loss; used > 0 only */
};

/* The weights of one expert, which are copies of parts of all. */
struct sl_expert_weights {
    const struct sl_parameter *up, *down;
};

struct sl_moe {
    struct sl_linear_layer gate;
    struct sl_parameter *up, *up_bias;     /* count * hidden x width */
    struct sl_parameter *down, *down_bias; /* width x count * hidden, width x count */
    const struct sl_expert_weights *each;  /* NULL when every row uses all experts */
    int count, ffn_width, top_k;
    float dropout, load_balancing_weight;
};
struct sl_moe sl_moe_build(struct sl_builder *b, struct sl_moe_shape shape);
/* origin: as in struct sl_linear_args, and after the last the number of rows of the batch. */
struct sl_tensor *sl_moe_apply(struct sl_tape *t, const struct sl_moe *e, struct sl_tensor *x,
                               const int32_t *origin);
