/* router.h - a router chooses for each token whether it takes the next block: TSA, sections 2.3 and
 * 2.4. */
#pragma once

#include "layers/layers.h"

/* What an architecture with routers lets its user choose. */
struct sl_router_config {
    float compute_weight, gate_binarization_weight;
    float penalty_warmup;      /* fraction of the training over which both weights rise */
    float training_gate_limit; /* 1: no gate is closed while training */
    float router_bias;
    int router_width; /* 0: max(width / 4, 16) */
};

/* How gates act when the model is served. */
enum sl_gate_mode {
    SL_GATE_SOFT, /* as trained: nothing is skipped */
    SL_GATE_HARD, /* run fully or not at all: active when p < 1/2 */
    SL_GATE_MIXED /* as trained where p < gate_limit, else skipped */
};

/* A policy's own part (sl_policy.own). */
struct sl_gate_policy {
    int gate;         /* enum sl_gate_mode */
    float gate_limit; /* SL_GATE_MIXED: skip where the skip probability is at least this */
};

/* p = sigmoid(w2 relu(w1 h + b1) + b2) is the probability of skipping; the gate it gives is 1 - p,
 * or a selection of rows, depending on the tape's policy. Only rows in `candidates` (NULL: all) are
 * considered. With `hard`, gates that are not closed are 1, so that a soft gate is, too. */
struct sl_router {
    struct sl_linear_layer up, down;
    bool hard;
};
struct sl_router sl_router_build(struct sl_builder *b, int width,
                                 const struct sl_router_config *config);

/* What routers do while training: the loss of their gates, and the limit of the skip probability
 * from which on gates are closed; 1: none is. */
struct sl_router_training {
    struct sl_gate_loss_args loss;
    float gate_limit, warmup;
};
/* Of a model with so many routers. */
struct sl_router_training sl_router_training_of(const struct sl_router_config *config, int routers);

/* Blocks, of which all but the first have a router, routers[i] that of blocks[i + 1]. The last
 * computes only the rows `reads`; NULL: all. */
struct sl_routed_blocks {
    const struct sl_block *blocks;
    const struct sl_router *routers;
    int depth;
    struct sl_router_training training;
};
struct sl_tensor *sl_routed_blocks_apply(struct sl_tape *t, struct sl_routed_blocks b,
                                         struct sl_tensor *h, const struct sl_rows *reads);

struct sl_gate sl_router_apply(struct sl_tape *t, const struct sl_router *r, struct sl_tensor *h,
                               struct sl_router_training training,
                               const struct sl_rows *candidates);
