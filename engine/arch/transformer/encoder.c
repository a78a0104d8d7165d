/* encoder.c - the transformer encoders used as baselines in the papers: pre-norm, biases
 * everywhere, sinusoidal positions. Hyper-parameters select the baseline:
 *
 *     Epsilon's   width 12, heads 2, hidden 72, depth 8, context 512, embedding_init unit
 *     matched     the same with embedding_init glorot, scale_embedding 1, embedding_dropout 0.1,
 *                 pooling first
 *     EAM's       width 128, heads 4, hidden 1024, depth 3, context 256, activation relu,
 *                 embedding_init unit, final_norm 0
 *
 *     h = dropout(scale E[tokens] + P[positions])
 *     h += dropout(attention(norm(h)));   h += dropout(mlp(norm(h)))     depth times
 *     logits = W pool(norm(h)) + b
 *
 * Vaswani et al. 2017; pre-norm after Xiong et al. 2020. */
#include "arch/arch.h"

#include <math.h>

enum activation { GELU, RELU };

enum embedding_init { UNIT, SMALL, GLOROT, WIDTH };

struct encoder_config {
    int activation, embedding_init; /* enum activation, enum embedding_init */
    bool scale_embedding, final_norm;
};

SL_CONFIG_FITS(struct encoder_config);

struct encoder {
    struct sl_embedding embedding;
    struct sl_block *blocks;
    struct sl_output_head head;
    struct sl_wide_ngrams ngrams;
    int depth;
};

static struct sl_init embedding_init(const struct sl_config *c)
{
    const struct encoder_config *own = sl_config_own(c);
    switch ((enum embedding_init)own->embedding_init) {
    case SMALL: return sl_normal(0.02f);
    case GLOROT: return sl_glorot(c->vocab, c->width);
    case WIDTH: return sl_normal(1.0f / sqrtf((float)c->width));
    case UNIT: break;
    }
    return sl_normal(1.0f);
}

static struct sl_embedding_shape embedding_shape(const struct sl_config *c)
{
    const struct encoder_config *own = sl_config_own(c);
    return (struct sl_embedding_shape){.vocab = c->vocab,
                                       .context_length = c->context_length,
                                       .width = c->width,
                                       .start = embedding_init(c),
                                       .positions = SL_POSITIONS_SINUSOIDAL,
                                       .scale =
                                           own->scale_embedding ? sqrtf((float)c->width) : 1.0f,
                                       .dropout = c->embedding_dropout,
                                       .tied = c->task == SL_TASK_PRETRAINING,
                                       .hash_bigrams = c->hash_bigrams};
}

static struct sl_block_shape block_shape(const struct sl_config *c)
{
    const struct encoder_config *own = sl_config_own(c);
    return (struct sl_block_shape){.width = c->width,
                                   .heads = c->heads,
                                   .ffn_width = c->ffn_width,
                                   .dropout = c->dropout,
                                   .residual_dropout = c->dropout,
                                   .bidirectional = true,
                                   .input_bias = true,
                                   .output_bias = true,
                                   .activation = own->activation == RELU ? SL_RELU : SL_GELU};
}

static void encoder_build(struct sl_builder *b, void *self, const struct sl_config *c)
{
    const struct encoder_config *own = sl_config_own(c);
    struct encoder *m = self;
    m->depth = c->depth;
    m->blocks = sl_arena_take(b->arena, (size_t)c->depth, sizeof *m->blocks);
    m->embedding = sl_embedding_build(b, embedding_shape(c));
    for (int i = 0; i < c->depth; i++) {
        sl_scope(b, "layers.%d.", i);
        m->blocks[i] = sl_block_build(b, block_shape(c));
    }
    sl_scope(b, "%s", "");
    m->head = sl_output_head_build(
        b, (struct sl_output_head_shape){.embedding = m->embedding,
                                         .classes = c->classes,
                                         .pretrains = c->task == SL_TASK_PRETRAINING,
                                         .pooling = (enum sl_pooling)c->pooling,
                                         .without_norm = !own->final_norm});
    m->ngrams = sl_wide_ngrams_build(
        b, (struct sl_wide_ngrams_shape){.rows = c->wide_ngrams, .classes = c->classes});
}

static struct sl_tensor *encoder_forward(struct sl_tape *t, const void *self)
{
    const struct encoder *m = self;
    struct sl_tensor *h = sl_embedding_apply(t, &m->embedding);
    h = sl_blocks_apply(t, m->blocks, m->depth, h, sl_output_head_rows(t, &m->head));
    return sl_wide_ngrams_apply(t, &m->ngrams, sl_output_head_apply(t, &m->head, h));
}

static const char *const activations[] = {[GELU] = "gelu", [RELU] = "relu", NULL};
static const char *const starts[] =
    {[UNIT] = "unit", [SMALL] = "small", [GLOROT] = "glorot", [WIDTH] = "width", NULL};

static const struct sl_param hypers[] = {
    SL_INTEGER_ROW(sl_config, width, 8, 8192, 12, "features per token (d)"),
    SL_INTEGER_ROW(sl_config, depth, 1, 128, 8, "layers (L)"),
    SL_INTEGER_ROW(sl_config, heads, 1, 128, 2, "attention heads (H); must divide width"),
    SL_INTEGER_ROW(sl_config, ffn_width, 8, 32768, 72, "hidden width of the MLP (d_ff)"),
    SL_INTEGER_ROW(sl_config, context_length, 2, 8192, 512,
                   "longest text that the model can take (T, tokens)"),
    SL_REAL_ROW(sl_config, dropout, 0, 0.9, 0.1, "dropout probability during training"),
    SL_REAL_ROW(sl_config, embedding_dropout, 0, 0.9, 0, "dropout probability of the embeddings"),
    SL_OWN_CHOICE_ROW(encoder_config, activation, activations, RELU, GELU,
                      "activation function of the MLP"),
    SL_OWN_CHOICE_ROW(
        encoder_config, embedding_init, starts, WIDTH, UNIT,
        "distribution of initial token embeddings; unit: N(0, 1), small: N(0, 0.02^2), "
        "glorot: Glorot's, width: N(0, 1/width)"),
    SL_OWN_FLAG_ROW(encoder_config, scale_embedding, 0, "multiply token embeddings by sqrt(width)"),
    SL_HYPERS_POOLING,
    SL_OWN_FLAG_ROW(encoder_config, final_norm, 1, "put a norm before pooling"),
    SL_HYPERS_TABLES,
    {0}};

const struct sl_arch sl_arch_encoder = {
    .name = "encoder",
    .paper = "Attention Is All You Need, 2017",
    .summary = "bidirectional transformer",
    .hypers = hypers,
    .tasks = SL_CLASSIFIES | SL_PRETRAINS,
    .embeds = "mean",
    .size = sizeof(struct encoder),
    .build = encoder_build,
    .forward = encoder_forward,
};
