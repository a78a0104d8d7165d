/* tsa.c - token-selective attention: between blocks, a router computes a gate per token for the
 * next block, and the loss includes the mean gate. "Adaptive Computation Depth via Learned Token
 * Routing in Transformers", sections 2.2 to 2.5.
 *
 *     h  = block_0(h)                                   always in full
 *     g  = 1 - p = 1 - sigmoid(router(h))               eq. 2, of the stream itself, without a norm
 *     h += g attention(norm(h));   h += g mlp(norm(h))  eq. 3 and 4, the same g for both
 *     loss += lambda mean(g)                            eq. 5, over routers and tokens */
#include "arch/tsa/tsa.h"

struct tsa {
    struct sl_embedding embedding;
    struct sl_block *blocks;
    struct sl_router *routers; /* depth - 1: routers[i] gates blocks[i + 1] */
    struct sl_output_head head;
    struct sl_wide_ngrams ngrams;
    int depth;
    struct sl_router_training training;
};

static void tsa_build(struct sl_builder *b, void *self, const struct sl_config *c)
{
    const struct sl_router_config *own = sl_config_own(c);
    struct tsa *m = self;
    m->depth = c->depth;
    m->training = sl_router_training_of(own, c->depth - 1);
    m->blocks = sl_arena_take(b->arena, (size_t)c->depth, sizeof *m->blocks);
    m->routers = sl_arena_take(b->arena, (size_t)c->depth, sizeof *m->routers);
    m->embedding = sl_embedding_build(b, sl_embedding_shape_of(c));
    for (int i = 0; i < c->depth; i++) {
        sl_scope(b, "layers.%d.", i);
        m->blocks[i] = sl_block_build(b, sl_block_shape_of(c));
        if (i + 1 < c->depth)
            m->routers[i] = sl_router_build(b, c->width, own);
    }
    sl_scope(b, "%s", "");
    m->head = sl_output_head_build(
        b, (struct sl_output_head_shape){.embedding = m->embedding,
                                         .classes = c->classes,
                                         .pretrains = c->task == SL_TASK_PRETRAINING,
                                         .pooling = (enum sl_pooling)c->pooling});
    m->ngrams = sl_wide_ngrams_build(
        b, (struct sl_wide_ngrams_shape){.rows = c->wide_ngrams, .classes = c->classes});
}

static struct sl_tensor *tsa_forward(struct sl_tape *t, const void *self)
{
    const struct tsa *m = self;
    struct sl_tensor *h = sl_embedding_apply(t, &m->embedding);
    const struct sl_routed_blocks routed = {m->blocks, m->routers, m->depth, m->training};
    h = sl_routed_blocks_apply(t, routed, h, sl_output_head_rows(t, &m->head));
    return sl_wide_ngrams_apply(t, &m->ngrams, sl_output_head_apply(t, &m->head, h));
}

static bool trained_policy(const struct sl_config *c, struct sl_policy *p)
{
    return sl_routed_policy(sl_config_own(c), p);
}

static const struct sl_param hypers[] = {SL_HYPERS_DECODER,
                                         SL_HYPERS_CLASSIFIER,
                                         SL_HYPERS_TABLES,
                                         SL_HYPERS_ROUTERS(0, -1),
                                         {0}};

const struct sl_arch sl_arch_tsa = {
    .name = "tsa",
    .paper = "Adaptive Computation Depth via Learned Token Routing in Transformers, 2026",
    .summary = "for each token, routers choose layers to skip (never the first)",
    .hypers = hypers,
    .policy = sl_routed_policy_rows,
    .threshold = "gate_limit",
    .skipping = sl_routed_skipping,
    .routes_to = "block",
    .trained_policy = trained_policy,
    .tasks = SL_COMPLETES | SL_CLASSIFIES | SL_PRETRAINS,
    .embeds = "mean",
    .size = sizeof(struct tsa),
    .build = tsa_build,
    .forward = tsa_forward,
};
