/* transformer.c - the transformers that people publish, described by facts instead of by families:
 * BERT (Devlin et al. 2019), RoBERTa (Liu et al. 2019), DistilBERT (Sanh et al. 2019), ELECTRA
 * (Clark et al. 2020), ModernBERT (Warner et al. 2024), GPT-2 (Radford et al. 2019), Llama (Touvron
 * et al. 2023), Qwen2 (Yang et al. 2024).
 *
 *     h = embed(tokens)                                           x W_e^T if embedding_size differs
 *     h += attention(norm(h));      h += mlp(norm(h))             depth times, norm before
 *     h = norm(h + attention(h));   h = norm(h + mlp(h))          or after
 *     output(final_norm(h))                                       of a text also + n-grams' logits
 */
#include "arch/transformer/transformer_head.h"

#include "layers/bag_of_words.h"

#include <math.h>

struct transformer {
    struct sl_embedding embedding;
    struct sl_linear_layer projection; /* of embeddings to the width; without weight: none */
    struct sl_block *blocks;
    struct sl_norm final_norm; /* without weight: none */
    struct transformer_head head;
    struct sl_bag_of_words ngrams; /* beside the blocks; without keys: none */
    int depth;
};

/* -- build -------------------------------------------------------------------------------- */

static const float deviation = 0.02f; /* of initial weights, as BERT and GPT-2 have it */

static struct sl_norm_shape norm_shape(const struct transformer_config *own)
{
    return (struct sl_norm_shape){.epsilon = own->norm_epsilon,
                                  .rms = own->norm == TRANSFORMER_RMS_NORM,
                                  .without_bias = !own->norm_bias};
}

static int embedding_size(const struct sl_config *c)
{
    const struct transformer_config *own = sl_config_own(c);
    return own->embedding_size > 0 ? own->embedding_size : c->width;
}

static void embedding_build(struct sl_builder *b, struct transformer *m, const struct sl_config *c)
{
    const struct transformer_config *own = sl_config_own(c);
    const bool learned = own->positions == TRANSFORMER_LEARNED_POSITIONS;
    m->embedding = sl_embedding_build(
        b,
        (struct sl_embedding_shape){.vocab = c->vocab,
                                    .context_length = c->context_length,
                                    .width = embedding_size(c),
                                    .start = sl_normal(deviation),
                                    .positions = learned ? SL_POSITIONS_LEARNED : SL_POSITIONS_NONE,
                                    .position_offset = own->position_offset,
                                    .token_types = own->token_types,
                                    .norm = own->embedding_norm,
                                    .norm_shape = norm_shape(own),
                                    .scale = 1.0f,
                                    .dropout = c->dropout,
                                    .tied = sl_transformer_head_reads_tokens(c)});
    if (embedding_size(c) != c->width)
        m->projection = sl_linear_build(
            b, "embedding_projection",
            (struct sl_linear_shape){.outs = c->width, .ins = embedding_size(c), .bias = true});
}

static int head_dim(const struct sl_config *c)
{
    const struct transformer_config *own = sl_config_own(c);
    return own->head_dim > 0 ? own->head_dim : c->width / c->heads;
}

/* Dims that are rotated: an even number, at least 2. */
static int rotated_dims(const struct sl_config *c)
{
    const struct transformer_config *own = sl_config_own(c);
    const int dims = (int)lrintf(own->rotary_fraction * (float)head_dim(c)) / 2 * 2;
    return dims > 2 ? dims : 2;
}

static const struct sl_parameter *rotary_build(struct sl_builder *b, const struct sl_config *c,
                                               const char *name, float base)
{
    const struct transformer_config *own = sl_config_own(c);
    if (own->positions != TRANSFORMER_ROTARY_POSITIONS)
        return NULL;
    return sl_rotary_table(b, name,
                           (struct sl_rotary_shape){.context_length = c->context_length,
                                                    .dims = rotated_dims(c),
                                                    .base = base});
}

static bool is_local(const struct transformer_config *own, int layer)
{
    return own->window > 0 && layer % own->global_attention_every != 0;
}

static bool is_bidirectional(const struct sl_config *c)
{
    return c->task == SL_TASK_CLASSIFICATION ? c->bidirectional : c->task != SL_TASK_COMPLETION;
}

static struct sl_block_shape block_shape(const struct sl_config *c)
{
    const struct transformer_config *own = sl_config_own(c);
    return (struct sl_block_shape){.width = c->width,
                                   .heads = c->heads,
                                   .ffn_width = c->ffn_width,
                                   .key_heads = own->key_heads,
                                   .head_dim = own->head_dim,
                                   .residual_deviation = deviation / sqrtf(2.0f * (float)c->depth),
                                   .dropout = c->dropout,
                                   .residual_dropout = c->dropout,
                                   .bidirectional = is_bidirectional(c),
                                   .activation = sl_transformer_activations[own->activation],
                                   .gated_mlp = own->gated_mlp,
                                   .input_bias = own->query_key_value_bias,
                                   .output_bias = own->attention_output_bias,
                                   .without_mlp_bias = !own->mlp_bias,
                                   .norm_after = own->norm_after,
                                   .norm = norm_shape(own)};
}

static void blocks_build(struct sl_builder *b, struct transformer *m, const struct sl_config *c)
{
    const struct transformer_config *own = sl_config_own(c);
    const bool local = own->window > 0;
    const struct sl_parameter *global_rotary = rotary_build(b, c, "rotary", own->rotary_base);
    const struct sl_parameter *local_rotary =
        local ? rotary_build(b, c, "local_rotary", own->rotary_local_base) : NULL;
    m->depth = c->depth;
    m->blocks = sl_arena_take(b->arena, (size_t)c->depth, sizeof *m->blocks);
    for (int i = 0; i < c->depth; i++) {
        struct sl_block_shape shape = block_shape(c);
        shape.window = is_local(own, i) ? own->window : 0;
        shape.rotary = is_local(own, i) ? local_rotary : global_rotary;
        shape.without_attention_norm = i == 0 && !own->first_attention_norm;
        sl_scope(b, "layers.%d.", i);
        m->blocks[i] = sl_block_build(b, shape);
    }
    sl_scope(b, "%s", "");
}

/* A linear classifier of n-grams, whose logits are added. */
static void ngrams_build(struct sl_builder *b, struct transformer *m, const struct sl_config *c)
{
    const struct transformer_config *own = sl_config_own(c);
    if (c->task != SL_TASK_CLASSIFICATION || own->ngram_rows == 0)
        return;
    sl_token_roles_build(b, &m->ngrams, c->vocab);
    m->ngrams.bias =
        sl_parameter_add(b, "ngrams.bias", SL_ROLE_VECTOR, 1, c->classes, sl_constant(0.0f));
    sl_ngrams_build(b, &m->ngrams,
                    (struct sl_ngram_shape){.vocab = c->vocab,
                                            .classes = c->classes,
                                            .order = own->ngram_order,
                                            .rows = own->ngram_rows,
                                            .characters = own->character_ngrams});
}

static void transformer_build(struct sl_builder *b, void *self, const struct sl_config *c)
{
    const struct transformer_config *own = sl_config_own(c);
    struct transformer *m = self;
    embedding_build(b, m, c);
    blocks_build(b, m, c);
    if (own->final_norm)
        m->final_norm = sl_norm_build(b, "final_norm", c->width, norm_shape(own));
    m->head = sl_transformer_head_build(b, c, &m->embedding, norm_shape(own));
    ngrams_build(b, m, c);
}

static struct sl_tensor *transformer_forward(struct sl_tape *t, const void *self)
{
    const struct transformer *m = self;
    struct sl_tensor *h = sl_embedding_apply(t, &m->embedding);
    if (m->projection.weight)
        h = sl_linear_apply(t, &m->projection, h, (struct sl_linear_args){0});
    h = sl_blocks_apply(t, m->blocks, m->depth, h, sl_transformer_head_rows(t, &m->head));
    h = sl_transformer_head_apply(t, &m->head, &m->final_norm, h);
    return m->ngrams.keys ? sl_add_tfidf_logits(t, h, &m->ngrams) : h;
}

/* -- the facts ----------------------------------------------------------------------------- */

static bool transformer_check(const struct sl_config *c, struct sl_err *err)
{
    const struct transformer_config *own = sl_config_own(c);
    if (own->key_heads > 0 && c->heads % own->key_heads != 0)
        return sl_fail(err, SL_BAD_INPUT, "key_heads is %d and heads %d: heads must be a multiple",
                       own->key_heads, c->heads);
    if (own->norm_after && (!own->first_attention_norm || own->final_norm))
        return sl_fail(err, SL_BAD_INPUT,
                       "norm_after needs first_attention_norm true and final_norm false");
    if (c->task == SL_TASK_COMPLETION && own->tied_output && embedding_size(c) != c->width)
        return sl_fail(err, SL_BAD_INPUT, "tied_output needs embeddings of the width %d, not %d",
                       c->width, own->embedding_size);
    if (own->embedding_dense_2 > 0 && own->embedding_dense_1 == 0)
        return sl_fail(err, SL_BAD_INPUT, "embedding_dense_2 needs embedding_dense_1");
    if (own->positions == TRANSFORMER_ROTARY_POSITIONS && head_dim(c) % 2 != 0)
        return sl_fail(err, SL_BAD_INPUT, "rotary positions need an even head_dim, not %d",
                       head_dim(c));
    return true;
}

static const char *const norms[] =
    {[TRANSFORMER_LAYER_NORM] = "layer", [TRANSFORMER_RMS_NORM] = "rms", NULL};
static const char *const positions[] = {[TRANSFORMER_LEARNED_POSITIONS] = "learned",
                                        [TRANSFORMER_ROTARY_POSITIONS] = "rotary",
                                        [TRANSFORMER_NO_POSITIONS] = "none",
                                        NULL};

/* Of embeddings only. */
#define DENSE_ROW(member, kind_, max_, default_, help_)                                            \
    SL_PARAM_ROW_AT(offsetof(struct sl_config, own), transformer_config, member, kind_, 0, max_,   \
                    default_, help_, NULL, SL_PRETRAINS)

#define DENSE_ROWS(number, after)                                                                  \
    DENSE_ROW(embedding_dense_##number, SL_INTEGER, SL_EMBEDDING_DENSE_MAX, 0,                     \
              "embeddings: features of a dense layer after " after "; 0: none"),                   \
        DENSE_ROW(embedding_dense_##number##_bias, SL_FLAG, 1, 1, "that layer has a bias"),        \
        DENSE_ROW(embedding_dense_##number##_tanh, SL_FLAG, 1, 0, "and a tanh")

/* Of classifiers only. */
#define NGRAM_ROW(member, kind_, min_, max_, default_, help_)                                      \
    SL_PARAM_ROW_AT(offsetof(struct sl_config, own), transformer_config, member, kind_, min_,      \
                    max_, default_, help_, NULL, SL_CLASSIFIES)

enum { NGRAM_ROWS_MAX = 1 << 22 };

#define FACT(kind, member, ...) SL_OWN_##kind##_ROW(transformer_config, member, __VA_ARGS__)

static const struct sl_param hypers[] = {
    SL_HYPERS_DECODER,
    SL_CLASSIFIER_ROW(bidirectional, SL_FLAG, 0, 1, 1,
                      "classifiers: tokens attend to later tokens, too", NULL),
    SL_PARAM_ROW_AT(0, sl_config, pooling, SL_CHOICE, 0, SL_POOLING_LAST, SL_POOLING_MEAN,
                    "how token vectors become the vector of a text", sl_pooling_names,
                    SL_CLASSIFIES | SL_PRETRAINS),
    FACT(INTEGER, key_heads, 0, 128, 0, "heads of keys and values; 0: as many as heads"),
    FACT(INTEGER, head_dim, 0, 1024, 0, "features of a head; 0: width / heads"),
    FACT(INTEGER, window, 0, 8192, 0,
         "local attention: tokens seen on each side (tokens); 0: all layers see everything"),
    FACT(INTEGER, global_attention_every, 1, 128, 1,
         "with a window: one layer in this many, from the first on, sees everything"),
    FACT(FLAG, query_key_value_bias, 1, "queries, keys and values have biases"),
    FACT(FLAG, attention_output_bias, 1, "attention's output has a bias"),
    FACT(CHOICE, activation, sl_transformer_activation_names, TRANSFORMER_ACTIVATION_LAST, 0,
         "activation function of the MLP"),
    FACT(FLAG, gated_mlp, 0, "the MLP multiplies its hidden layer by a gate"),
    FACT(FLAG, mlp_bias, 1, "the MLP has biases"),
    FACT(CHOICE, norm, norms, TRANSFORMER_RMS_NORM, TRANSFORMER_LAYER_NORM,
         "layer normalisation, or of the root mean square"),
    FACT(REAL, norm_epsilon, 1e-12, 1, 1e-5, "epsilon of the norms"),
    FACT(FLAG, norm_after, 0, "the norm comes after each update instead of before it"),
    FACT(FLAG, norm_bias, 1, "norms have biases"),
    FACT(FLAG, first_attention_norm, 1, "the first layer's attention has a norm"),
    FACT(FLAG, final_norm, 1, "a norm follows the last layer"),
    FACT(CHOICE, positions, positions, TRANSFORMER_NO_POSITIONS, TRANSFORMER_LEARNED_POSITIONS,
         "how a token knows its position"),
    FACT(INTEGER, position_offset, 0, 64, 0, "learned positions: the row of the first"),
    FACT(INTEGER, token_types, 0, 16, 0, "rows of the table of token types; 0: no table"),
    FACT(INTEGER, embedding_size, 0, 8192, 0, "width of the embeddings; 0: width"),
    FACT(FLAG, embedding_norm, 0, "a norm follows the embeddings"),
    FACT(REAL, rotary_base, 1, 1e9, 10000, "rotary positions: the base of the wavelengths"),
    FACT(REAL, rotary_local_base, 1, 1e9, 10000, "the same of layers with a window"),
    FACT(REAL, rotary_fraction, 0, 1, 1, "rotary positions: how much of each head is rotated"),
    FACT(FLAG, tied_output, 1, "the token table also gives the logits of tokens"),
    FACT(FLAG, head_dense, 0, "a dense layer comes before the output layer"),
    FACT(FLAG, head_dense_bias, 1, "that layer has a bias"),
    FACT(FLAG, head_norm, 0, "a norm follows that layer"),
    FACT(CHOICE, head_activation, sl_transformer_activation_names, TRANSFORMER_ACTIVATION_LAST, 0,
         "activation function of that layer"),
    FACT(FLAG, output_layer_bias, 1, "classifiers: the output layer has a bias"),
    NGRAM_ROW(ngram_order, SL_INTEGER, 1, SL_NGRAM_ORDER_MAX, 2,
              "n-grams beside the blocks: length of the longest, in words"),
    NGRAM_ROW(ngram_rows, SL_INTEGER, 0, NGRAM_ROWS_MAX, 0, "rows of their table; 0: none"),
    NGRAM_ROW(character_ngrams, SL_FLAG, 0, 1, 0, "n-grams of 4 characters, too"),
    FACT(FLAG, masked_language_model, 1, "pretraining: it predicts masked tokens"),
    DENSE_ROWS(1, "pooling"),
    DENSE_ROWS(2, "that one"),
    {0}};

const struct sl_arch sl_arch_transformer = {
    .name = "transformer",
    .paper = "Attention Is All You Need, 2017",
    .summary = "published transformers, described by facts",
    .hypers = hypers,
    .tasks = SL_COMPLETES | SL_CLASSIFIES | SL_PRETRAINS | SL_CLASSIFIES_TOKENS,
    .embeds = "mean",
    .embedding_size = sl_transformer_embedding_size,
    .describes_blocks = true,
    .takes_pairs = true,
    .embeds_tokens = true,
    .predicts_tokens = sl_transformer_predicts_tokens,
    .size = sizeof(struct transformer),
    .check = transformer_check,
    .build = transformer_build,
    .forward = transformer_forward,
};
