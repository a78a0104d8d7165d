/* adaptive_transformer.c - a published transformer with TSA's routers between its blocks, which
 * choose for each token whether it takes the next one.
 *
 *     h = block_0(h)                                    always in full
 *     p = sigmoid(router(h))                            TSA, eq. 2
 *     h = p < gate_limit ? block_i(h) : h
 *
 * A gate is 0 or 1: with all gates open it is the transformer, bit for bit. Where the norm comes
 * after, a skipped token's keys and values are of h itself. */
#include "arch/transformer/transformer.h"

static bool trained_policy(const struct sl_config *c, struct sl_policy *p)
{
    const struct transformer_config *own = sl_config_own(c);
    return sl_routed_policy(&own->routers, p);
}

static void build(struct sl_builder *b, void *self, const struct sl_config *c)
{
    const struct transformer_config *own = sl_config_own(c);
    sl_transformer_build(b, self, c, &own->routers);
}

static const struct sl_param hypers[] = {
    TRANSFORMER_HYPERS,
    SL_HYPERS_ROUTERS(offsetof(struct transformer_config, routers), -4),
    {0}};

const struct sl_arch sl_arch_adaptive_transformer = {
    .name = "adaptive_transformer",
    .paper = "Adaptive Computation Depth via Learned Token Routing in Transformers, 2026",
    .summary = "published transformers, with routers that choose layers to skip for each token",
    .hypers = hypers,
    .policy = sl_routed_policy_rows,
    .threshold = "gate_limit",
    .skipping = sl_routed_skipping,
    .routes_to = "block",
    .trained_policy = trained_policy,
    .tasks = SL_COMPLETES | SL_CLASSIFIES | SL_PRETRAINS | SL_CLASSIFIES_TOKENS,
    .embeds = "mean",
    .embedding_size = sl_transformer_embedding_size,
    .describes_blocks = true,
    .extends = "transformer",
    .takes_pairs = true,
    .embeds_tokens = true,
    .predicts_tokens = sl_transformer_predicts_tokens,
    .size = SL_TRANSFORMER_BYTES,
    .check = sl_transformer_check,
    .build = build,
    .forward = sl_transformer_forward,
};
