/* tsa.h - the parts of token-selective attention and of early exit: gates, routers, exits. */
#pragma once

#include "arch/arch.h"

/* TSA's own hyper-parameters. */
struct sl_tsa_config {
    float compute_weight, gate_binarization_weight;
    float penalty_warmup;      /* fraction of the training over which both weights rise */
    float training_gate_limit; /* 1: no gate is closed while training */
    float router_bias;
    int router_width; /* 0: max(width / 4, 16) */
};

SL_CONFIG_FITS(struct sl_tsa_config);

/* How gates act when the model is served. */
enum sl_gate_mode {
    SL_GATE_SOFT, /* as trained: nothing is skipped */
    SL_GATE_HARD, /* run fully or not at all: active when p < 1/2 */
    SL_GATE_MIXED /* as trained where p < gate_limit, else skipped */
};

struct sl_tsa_policy {
    int gate;         /* enum sl_gate_mode */
    float gate_limit; /* SL_GATE_MIXED: skip where the skip probability is at least this */
};

SL_POLICY_FITS(struct sl_tsa_policy);

struct sl_early_exit_policy {
    float exit_threshold; /* leave when max softmax exceeds this; 0 or 1: never */
    bool
        exit_oracle; /* exited tokens are still computed for later keys (measures, saves nothing) */
};

SL_POLICY_FITS(struct sl_early_exit_policy);

/* -- ops -------------------------------------------------------------------------------------- */

/* y = 1 / (1 + exp(x)): one minus the logistic of x, without cancellation. */
struct sl_tensor *sl_one_minus_sigmoid(struct sl_tape *t, struct sl_tensor *x);

/* Adds the mean over the rows of the training batch of open_weight x + binarization_weight 4 x (1 -
 * x) to the loss. x: rows x 1, gates. The second term is largest at one half and 0 at 0 and 1. */
struct sl_gate_loss_args {
    float open_weight, binarization_weight;
};

void sl_gate_loss(struct sl_tape *t, struct sl_tensor *x, struct sl_gate_loss_args args);

/* y = g where logits < limit, else 0: rows x 1. Backward dg = dy, for closed gates, too. */
struct sl_tensor *sl_close_gates(struct sl_tape *t, struct sl_tensor *g,
                                 const struct sl_tensor *logits, float limit);

/* -- layers ----------------------------------------------------------------------------------- */

/* A token-wise router (TSA, section 2.3): p = sigmoid(w2 relu(w1 h + b1) + b2) is the probability
 * of skipping; the gate it gives is 1 - p, or a selection of rows, depending on the tape's policy.
 * Only rows in `candidates` (NULL: all) are considered. */
struct sl_router {
    struct sl_linear_layer up, down;
};
struct sl_router sl_router_build(struct sl_builder *b, int width, int hidden, float bias_start);

/* What routers do while training: the loss of their gates, and the limit of the skip probability
 * from which on gates are closed; 1: none is. */
struct sl_router_training {
    struct sl_gate_loss_args loss;
    float gate_limit;
};
struct sl_gate sl_router_apply(struct sl_tape *t, const struct sl_router *r, struct sl_tensor *h,
                               struct sl_router_training training,
                               const struct sl_rows *candidates);

/* Early exit (TSA, section 3.5): call begin before the blocks and exit after each block with an
 * exit. Training: records the loss of these logits, and all rows stay. Serving: rows whose largest
 * probability exceeds the policy's threshold exit, and their logits are final. logits has one row
 * per row of `staying` (NULL: all). Returns the rows that stay; at the last exit all rows leave. */
struct sl_exit_decide_args {
    struct sl_tensor *final; /* of the wanted rows that have left; NULL while training */
    float weight;            /* of this exit's loss */
    bool last;
};

/* Creates the tensor that collects the logits of exiting rows. */
struct sl_tensor *sl_exit_begin(struct sl_tape *t, int vocab);
const struct sl_rows *sl_exit_decide(struct sl_tape *t, struct sl_tensor *logits,
                                     const struct sl_rows *staying,
                                     struct sl_exit_decide_args rule);
/* The gate of the rows that stay, depending on the policy. */
struct sl_gate sl_exit_gate(struct sl_tape *t, const struct sl_rows *staying);
