/* vanilla.c - the baseline: a pre-norm transformer with a tied output. Vaswani et al. 2017; norms
 * first after Xiong et al. 2020; initial values as in TSA's baseline.
 *
 *     h = dropout(E[tokens] + P[positions])
 *     h += attention(norm(h));   h += mlp(norm(h))      depth times, causal
 *     logits = norm(h) E^T
 *
 * To translate, the same without a causal mask encodes the source, and a decoder of as many layers,
 * which also attend to norm(h) of the source, writes the translation; all of one table E. */
#include "arch/arch.h"

struct vanilla {
    struct sl_embedding embedding;
    struct sl_block *blocks;  /* that give the logits */
    struct sl_block *encoder; /* NULL: it does not translate */
    struct sl_norm encoder_norm;
    struct sl_output_head head;
    int depth;
};

static struct sl_block *blocks_build(struct sl_builder *b, const char *scope, int depth,
                                     struct sl_block_shape shape)
{
    struct sl_block *blocks = sl_arena_take(b->arena, (size_t)depth, sizeof *blocks);
    for (int i = 0; i < depth; i++) {
        sl_scope(b, "%slayers.%d.", scope, i);
        blocks[i] = sl_block_build(b, shape);
    }
    sl_scope(b, "%s", "");
    return blocks;
}

static void translator_build(struct sl_builder *b, struct vanilla *m, const struct sl_config *c)
{
    struct sl_block_shape shape = sl_block_shape_of(c);
    shape.bidirectional = true;
    m->encoder = blocks_build(b, "encoder.", c->depth, shape);
    m->encoder_norm = sl_norm_build(b, "encoder.final_norm", c->width, shape.norm);
    shape.bidirectional = false;
    shape.attends_to_source = true;
    m->blocks = blocks_build(b, "decoder.", c->depth, shape);
}

static void vanilla_build(struct sl_builder *b, void *self, const struct sl_config *c)
{
    struct vanilla *m = self;
    m->depth = c->depth;
    m->embedding = sl_embedding_build(b, sl_embedding_shape_of(c));
    if (c->task == SL_TASK_TRANSLATION)
        translator_build(b, m, c);
    else
        m->blocks = blocks_build(b, "", c->depth, sl_block_shape_of(c));
    m->head = sl_output_head_build(
        b, (struct sl_output_head_shape){.embedding = m->embedding,
                                         .classes = c->classes,
                                         .pretrains = c->task == SL_TASK_PRETRAINING,
                                         .pooling = (enum sl_pooling)c->pooling});
}

static struct sl_tensor *encode(struct sl_tape *t, const struct vanilla *m)
{
    struct sl_tensor *h = sl_embedding_apply(t, &m->embedding);
    return sl_norm_apply(t, &m->encoder_norm, sl_blocks_apply(t, m->encoder, m->depth, h, NULL));
}

static struct sl_tensor *translate(struct sl_tape *t, const struct vanilla *m)
{
    const struct sl_source_target texts = sl_source_target_of(t);
    t->view = texts.source;
    const struct sl_source source = {.x = encode(t, m), .texts = &texts};
    t->view = texts.target;
    struct sl_tensor *h = sl_embedding_apply(t, &m->embedding);
    for (int i = 0; i < m->depth; i++)
        h = sl_decoder_block_apply(t, &m->blocks[i], h, &source);
    return sl_output_head_apply(t, &m->head, h);
}

static struct sl_tensor *vanilla_forward(struct sl_tape *t, const void *self)
{
    const struct vanilla *m = self;
    if (m->encoder)
        return translate(t, m);
    struct sl_tensor *h = sl_embedding_apply(t, &m->embedding);
    h = sl_blocks_apply(t, m->blocks, m->depth, h, sl_output_head_rows(t, &m->head));
    return sl_output_head_apply(t, &m->head, h);
}

static const struct sl_param hypers[] = {SL_HYPERS_DECODER, SL_HYPERS_CLASSIFIER, {0}};

const struct sl_arch sl_arch_vanilla = {
    .name = "vanilla",
    .paper = "Attention Is All You Need, 2017",
    .summary = "causal transformer, as in GPT-2; to translate, an encoder and a decoder",
    .hypers = hypers,
    .tasks = SL_COMPLETES | SL_CLASSIFIES | SL_PRETRAINS | SL_TRANSLATES,
    .embeds = "mean",
    .size = sizeof(struct vanilla),
    .build = vanilla_build,
    .forward = vanilla_forward,
};
