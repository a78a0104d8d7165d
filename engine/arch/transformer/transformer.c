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
#include "arch/transformer/transformer.h"

#include "arch/transformer/transformer_head.h"
#include "layers/bag_of_words.h"

#include <math.h>

struct transformer {
    struct sl_embedding embedding;
    struct sl_linear_layer projection; /* of embeddings to the width; without weight: none */
    struct sl_block *blocks;
    struct sl_router *routers; /* depth - 1: routers[i] gates blocks[i + 1]; NULL: none */
    struct sl_router_training training;
    struct sl_norm final_norm; /* without weight: none */
    struct transformer_head head;
    struct sl_bag_of_words ngrams; /* beside the blocks; without keys: none */
    float ngram_scale;             /* of their logits in the sum */
    int depth;
};

_Static_assert(sizeof(struct transformer) <= SL_TRANSFORMER_BYTES, "raise SL_TRANSFORMER_BYTES");

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

int sl_transformer_block_context(const struct sl_config *c)
{
    const struct transformer_config *own = sl_config_own(c);
    return own->block_context > 0 ? own->block_context : c->context_length;
}

static void embedding_build(struct sl_builder *b, struct transformer *m, const struct sl_config *c)
{
    const struct transformer_config *own = sl_config_own(c);
    const bool learned = own->positions == TRANSFORMER_LEARNED_POSITIONS;
    m->embedding = sl_embedding_build(
        b,
        (struct sl_embedding_shape){.vocab = c->vocab,
                                    .context_length = sl_transformer_block_context(c),
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
    return sl_rotary_table(
        b, name,
        (struct sl_rotary_shape){.context_length = sl_transformer_block_context(c),
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

static void blocks_build(struct sl_builder *b, struct transformer *m, const struct sl_config *c,
                         const struct sl_router_config *routers)
{
    const struct transformer_config *own = sl_config_own(c);
    const bool local = own->window > 0;
    const struct sl_parameter *global_rotary = rotary_build(b, c, "rotary", own->rotary_base);
    const struct sl_parameter *local_rotary =
        local ? rotary_build(b, c, "local_rotary", own->rotary_local_base) : NULL;
    m->depth = c->depth;
    m->blocks = sl_arena_take(b->arena, (size_t)c->depth, sizeof *m->blocks);
    if (routers) {
        m->routers = sl_arena_take(b->arena, (size_t)c->depth, sizeof *m->routers);
        m->training = sl_router_training_of(routers, c->depth - 1);
    }
    for (int i = 0; i < c->depth; i++) {
        struct sl_block_shape shape = block_shape(c);
        shape.window = is_local(own, i) ? own->window : 0;
        shape.rotary = is_local(own, i) ? local_rotary : global_rotary;
        shape.without_attention_norm = i == 0 && !own->first_attention_norm;
        sl_scope(b, "layers.%d.", i);
        m->blocks[i] = sl_block_build(b, shape);
        if (routers && i + 1 < c->depth) {
            m->routers[i] = sl_router_build(b, c->width, routers);
            m->routers[i].hard = true; /* an open gate leaves the published block as it is */
        }
    }
    sl_scope(b, "%s", "");
}

/* A linear classifier of n-grams, whose logits are added. */
static void ngrams_build(struct sl_builder *b, struct transformer *m, const struct sl_config *c)
{
    const struct transformer_config *own = sl_config_own(c);
    if (c->task != SL_TASK_CLASSIFICATION || own->ngram_rows == 0)
        return;
    m->ngram_scale = own->ngram_scale > 0.0f ? own->ngram_scale : 1.0f;
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

void sl_transformer_build(struct sl_builder *b, void *self, const struct sl_config *c,
                          const struct sl_router_config *routers)
{
    const struct transformer_config *own = sl_config_own(c);
    struct transformer *m = self;
    embedding_build(b, m, c);
    blocks_build(b, m, c, routers);
    if (own->final_norm)
        m->final_norm = sl_norm_build(b, "final_norm", c->width, norm_shape(own));
    m->head = sl_transformer_head_build(b, c, &m->embedding, norm_shape(own));
    ngrams_build(b, m, c);
}

/* y: the blocks' logits. */
static struct sl_tensor *add_ngrams(struct sl_tape *t, const struct transformer *m,
                                    struct sl_tensor *y)
{
    if (!m->ngrams.keys || t->view->batch->part == SL_PART_SECOND)
        return y;
    if (m->ngram_scale == 1.0f)
        return sl_add_tfidf_logits(t, y, &m->ngrams);
    return sl_residual(t, y, sl_add_tfidf_logits(t, NULL, &m->ngrams),
                       (struct sl_residual_args){.scale = m->ngram_scale});
}

struct sl_tensor *sl_transformer_forward(struct sl_tape *t, const void *self)
{
    const struct transformer *m = self;
    if (t->view->batch->part == SL_PART_FIRST)
        return sl_add_tfidf_logits(t, NULL, &m->ngrams);
    struct sl_tensor *h = sl_embedding_apply(t, &m->embedding);
    if (m->projection.weight)
        h = sl_linear_apply(t, &m->projection, h, (struct sl_linear_args){0});
    const struct sl_rows *reads = sl_transformer_head_rows(t, &m->head);
    const struct sl_routed_blocks routed = {m->blocks, m->routers, m->depth, m->training};
    h = m->routers ? sl_routed_blocks_apply(t, routed, h, reads)
                   : sl_blocks_apply(t, m->blocks, m->depth, h, reads);
    return add_ngrams(t, m, sl_transformer_head_apply(t, &m->head, &m->final_norm, h));
}

/* -- the facts ----------------------------------------------------------------------------- */

bool sl_transformer_check(const struct sl_config *c, struct sl_err *err)
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

const char *const sl_transformer_norms[] =
    {[TRANSFORMER_LAYER_NORM] = "layer", [TRANSFORMER_RMS_NORM] = "rms", NULL};
const char *const sl_transformer_positions[] = {[TRANSFORMER_LEARNED_POSITIONS] = "learned",
                                                [TRANSFORMER_ROTARY_POSITIONS] = "rotary",
                                                [TRANSFORMER_NO_POSITIONS] = "none",
                                                NULL};

static const struct sl_param hypers[] = {TRANSFORMER_HYPERS, {0}};

static void build(struct sl_builder *b, void *self, const struct sl_config *c)
{
    sl_transformer_build(b, self, c, NULL);
}

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
    .size = SL_TRANSFORMER_BYTES,
    .check = sl_transformer_check,
    .build = build,
    .forward = sl_transformer_forward,
};
