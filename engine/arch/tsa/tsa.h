/* tsa.h - the parts of token-selective attention and of early exit: gates, routers, exits. */
#pragma once

#include "arch/arch.h"

/* -- ops -------------------------------------------------------------------------------------- */

/* y = 1 / (1 + exp(x)): one minus the logistic of x, without cancellation. */
struct sl_tensor *sl_complement(struct sl_tape *t, struct sl_tensor *x);

/* Adds the mean over the rows of the training batch of open x + undecided 4 x (1 - x) to the loss.
 * x: rows x 1, gates: `undecided` is what one half costs, while 0 and 1 cost nothing. */
struct sl_gate_loss_args {
    float open, undecided;
};

void sl_gate_loss(struct sl_tape *t, struct sl_tensor *x, struct sl_gate_loss_args args);

/* -- layers ----------------------------------------------------------------------------------- */

/* A token-wise router (TSA, section 2.3): p = sigmoid(w2 relu(w1 h + b1) + b2) is the probability
 * of skipping; the gate it gives is 1 - p, or a choice of rows, as the tape's policy says. Rows
 * that are not `among` those given (NULL: all) are left out unseen. */
struct sl_router {
    struct sl_linear_layer up, down;
};
struct sl_router sl_router_build(struct sl_builder *b, int width, int hidden, float bias_start);
struct sl_gate sl_router_apply(struct sl_tape *t, const struct sl_router *r, struct sl_tensor *h,
                               struct sl_gate_loss_args price, const struct sl_rows *among);

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
