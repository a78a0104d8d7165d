/* layers.h - parameters that belong together and the ops that use them.
 *
 * Each layer is a struct, a build and an apply. Build declares parameters under the builder's
 * scope; apply records ops on a tape. The structs live in the model's arena and never change. */
#pragma once

#include "layers/builder.h"
#include "ops/ops.h"

/* y = x w^T (+ b). First values U(+-1/sqrt(ins)) for both, unless told otherwise. */
struct sl_linear_layer {
    struct sl_parameter *weight, *bias;
};

struct sl_linear_shape {
    int outs, ins;
    bool bias;
    float deviation;  /* > 0: the weight starts N(0, deviation^2) instead */
    float bias_start; /* != 0: the bias starts at this constant instead */
};
struct sl_linear_layer sl_linear_build(struct sl_builder *b, const char *name,
                                       struct sl_linear_shape shape);

/* Layer normalisation, gain 1 and shift 0 at first. Epsilon is 1e-5. */
struct sl_norm {
    struct sl_parameter *gain, *shift;
};
struct sl_norm sl_norm_build(struct sl_builder *b, const char *name, int width);
struct sl_tensor *sl_norm_apply(struct sl_tape *t, const struct sl_norm *norm, struct sl_tensor *x);

/* Token and learnt position embeddings, N(0, 0.02^2) at first. */
struct sl_embedding {
    struct sl_parameter *tokens, *positions;
    float dropout;
};
struct sl_embedding sl_embedding_build(struct sl_builder *b, int vocab, int context, int width,
                                       float dropout);
struct sl_tensor *sl_embedding_apply(struct sl_tape *t, const struct sl_embedding *e);
/* Logits by the tied table: h E^T. */
struct sl_tensor *sl_embedding_invert(struct sl_tape *t, const struct sl_embedding *e,
                                      struct sl_tensor *h);

/* What a gate lets through: NULL value means 1, NULL rows means all rows. */
struct sl_gate {
    struct sl_tensor *value;
    const struct sl_rows *rows;
};

/* A pre-norm transformer block whose two updates a gate may scale or skip, row by row:
 *     h += g attention(norm(h));   h += g mlp(norm(h))
 * Skipped rows cost only what others need of them: the first norm, their keys and their values. */
struct sl_block_shape {
    int width, heads, hidden;
    float residual_deviation; /* of the weights that write to the residual stream */
    float dropout;
};

struct sl_block {
    struct sl_norm attention_norm, mlp_norm;
    struct sl_linear_layer query, key_value, project, up, down;
    int heads, cache_layer;
    float dropout;
};
struct sl_block sl_block_build(struct sl_builder *b, struct sl_block_shape shape);
struct sl_tensor *sl_block_apply(struct sl_tape *t, const struct sl_block *k, struct sl_tensor *h,
                                 struct sl_gate gate);

/* A token-wise router (TSA, section 2.3): p = sigmoid(w2 relu(w1 h + b1) + b2) is the probability
 * of skipping; the gate it gives is 1 - p, or a choice of rows, as the tape's policy says. */
struct sl_router {
    struct sl_linear_layer up, down;
};
struct sl_router sl_router_build(struct sl_builder *b, int width, int hidden, float bias_start);
struct sl_gate sl_router_apply(struct sl_tape *t, const struct sl_router *r, struct sl_tensor *h,
                               float price);

/* Records that every row, or those of a gate, ran one more block. */
void sl_note_layer(struct sl_tape *t, const struct sl_rows *rows);

/* Early exit (TSA, section 3.5): begin comes before the blocks, exit after each that may be left.
 * Training: records the loss of these logits, and all rows stay. Otherwise rows whose largest
 * softmax exceeds the policy's threshold leave: their logits are final. logits has one row per
 * row of `staying` (NULL: all). Returns the rows that stay; the last exit takes everybody. */
struct sl_exit_rule {
    float weight; /* of this exit's loss */
    bool last;
};

void sl_exit_begin(struct sl_tape *t, int vocab);
const struct sl_rows *sl_exit(struct sl_tape *t, struct sl_tensor *logits,
                              const struct sl_rows *staying, struct sl_exit_rule rule);
/* The gate of the rows that stay, as the policy has it. */
struct sl_gate sl_exit_gate(struct sl_tape *t, const struct sl_rows *staying);
