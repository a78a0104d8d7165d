/* vanilla.c - the baseline: a pre-norm causal transformer with a tied output.
 * Vaswani et al. 2017; pre-norm after Xiong et al. 2020; initial values as in TSA's baseline.
 *
 *     h = dropout(E[tokens] + P[positions])
 *     h += attention(norm(h));   h += mlp(norm(h))      depth times
 *     logits = norm(h) E^T
 */
#include "arch/arch.h"

struct vanilla {
    struct sl_embedding embedding;
    struct sl_block *blocks;
    struct sl_output_head head;
    int depth;
};

static void vanilla_build(struct sl_builder *b, void *self, const struct sl_config *c)
{
    struct vanilla *m = self;
    m->depth = c->depth;
    m->blocks = sl_arena_take(b->arena, (size_t)c->depth, sizeof *m->blocks);
    m->embedding = sl_embedding_build(b, sl_embedding_shape_of(c));
    for (int i = 0; i < c->depth; i++) {
        sl_scope(b, "layers.%d.", i);
        m->blocks[i] = sl_block_build(b, sl_block_shape_of(c));
    }
    sl_scope(b, "%s", "");
    m->head = sl_output_head_build(
        b, (struct sl_output_head_shape){.embedding = m->embedding,
                                         .classes = c->classes,
                                         .pretrains = c->task == SL_TASK_PRETRAINING,
                                         .pooling = (enum sl_pooling)c->pooling});
}

static struct sl_tensor *vanilla_forward(struct sl_tape *t, const void *self)
{
    const struct vanilla *m = self;
    struct sl_tensor *h = sl_embedding_apply(t, &m->embedding);
    h = sl_blocks_apply(t, m->blocks, m->depth, h, sl_output_head_rows(t, &m->head));
    return sl_output_head_apply(t, &m->head, h);
}

static const struct sl_param hypers[] = {SL_HYPERS_DECODER, SL_HYPERS_CLASSIFIER, {0}};

const struct sl_arch sl_arch_vanilla = {
    .name = "vanilla",
    .paper = "Attention Is All You Need, 2017",
    .summary = "causal transformer, as in GPT-2",
    .hypers = hypers,
    .tasks = SL_COMPLETES | SL_CLASSIFIES | SL_PRETRAINS,
    .embeds = "mean",
    .size = sizeof(struct vanilla),
    .build = vanilla_build,
    .forward = vanilla_forward,
};
