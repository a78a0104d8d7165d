/* routed.h - what architectures with routers have in common: rows of their tables. */
#pragma once

#include "arch/arch.h"
#include "layers/router.h"

#define SL_ROUTER_ROW(at, member, kind_, min_, max_, default_, help_)                              \
    SL_PARAM_ROW_AT(offsetof(struct sl_config, own) + (at), sl_router_config, member, kind_, min_, \
                    max_, default_, help_, NULL, 0)

/* at: where struct sl_router_config is in the paper's own struct. */
#define SL_HYPERS_ROUTERS(at, bias)                                                                \
    SL_ROUTER_ROW(at, compute_weight, SL_REAL, 0, 100, 0.001,                                      \
                  "weight of the loss term for computation, the mean gate value; higher: more "    \
                  "layers are skipped"),                                                           \
        SL_ROUTER_ROW(at, gate_binarization_weight, SL_REAL, 0, 100, 0,                            \
                      "weight of the loss term that pushes gates from 0.5 towards 0 or 1; 0 "      \
                      "(off) in the paper"),                                                       \
        SL_ROUTER_ROW(at, penalty_warmup, SL_REAL, 0, 1, 0,                                        \
                      "fraction of the training over which the weights of both loss terms rise "   \
                      "from 0"),                                                                   \
        SL_ROUTER_ROW(at, training_gate_limit, SL_REAL, 0.5, 1, 1,                                 \
                      "train with mixed gates: a layer is skipped if its skip probability is at "  \
                      "least this; the model is served so; 1 (never) in the paper"),               \
        SL_ROUTER_ROW(at, router_bias, SL_REAL, -20, 20, bias,                                     \
                      "initial bias of the logit of skipping; a lower one opens more gates at "    \
                      "the start"),                                                                \
        SL_ROUTER_ROW(at, router_width, SL_INTEGER, 0, 8192, 0,                                    \
                      "hidden width of the routers; 0: width / 4, at least 16")

/* For struct sl_arch. */
extern const struct sl_param sl_routed_policy_rows[];
const char *sl_routed_skipping(const struct sl_policy *p);
/* Closed gates are part of the model only if they were closed while training. */
bool sl_routed_policy(const struct sl_router_config *config, struct sl_policy *p);
