/* tsa.h - the parts of token-selective attention and of early exit. */
#pragma once

#include "arch/routed.h"

SL_CONFIG_FITS(struct sl_router_config);
SL_POLICY_FITS(struct sl_gate_policy);

struct sl_early_exit_policy {
    float exit_threshold; /* leave when max softmax exceeds this; 0 or 1: never */
    bool
        exit_oracle; /* exited tokens are still computed for later keys (measures, saves nothing) */
};

SL_POLICY_FITS(struct sl_early_exit_policy);

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
