/* embedding_layer.c - token and position tables; the token table may also give the logits. */
#include "layers/layers.h"

/* The initial values of positions in the TSA paper's code. */
static const float deviation = 0.02f;

static struct sl_parameter *positions_build(struct sl_builder *b,
                                            const struct sl_embedding_shape *s)
{
    if (s->positions == SL_POSITIONS_NONE)
        return NULL;
    if (s->positions == SL_POSITIONS_LEARNED)
        return sl_parameter_add(b, "position_embedding.weight", SL_ROLE_TABLE,
                                s->position_offset + s->context_length, s->width,
                                sl_normal(deviation));
    bool halves = s->positions == SL_POSITIONS_SINUSOIDAL_HALVES;
    return sl_buffer_add(b, "position_embedding.weight",
                         (struct sl_buffer_shape){.kind = SL_BUFFER_FIXED,
                                                  .rows = s->context_length,
                                                  .cols = s->width,
                                                  .init = sl_sinusoidal(halves)});
}

struct sl_embedding sl_embedding_build(struct sl_builder *b, struct sl_embedding_shape shape)
{
    struct sl_embedding e = {.scale = shape.scale,
                             .dropout = shape.dropout,
                             .padding_token = shape.padding_token,
                             .position_offset = shape.position_offset};
    b->scale_embedding = shape.scale;
    e.tokens = sl_parameter_add(b, "token_embedding.weight", SL_ROLE_TABLE, shape.vocab,
                                shape.width, shape.start);
    e.tokens->product = shape.tied;
    e.positions = positions_build(b, &shape);
    if (shape.hash_bigrams > 0)
        e.bigrams = sl_parameter_add(b, "bigram_embedding.weight", SL_ROLE_TABLE,
                                     shape.hash_bigrams, shape.width, sl_constant(0.0f));
    b->token_types = shape.token_types;
    if (shape.token_types > 0)
        e.types = sl_parameter_add(b, "token_type_embedding.weight", SL_ROLE_TABLE,
                                   shape.token_types, shape.width, sl_normal(deviation));
    if (shape.norm)
        e.norm = sl_norm_build(b, "embedding_norm", shape.width, shape.norm_shape);
    return e;
}

struct sl_tensor *sl_embedding_apply(struct sl_tape *t, const struct sl_embedding *e)
{
    struct sl_tensor *h = sl_embedding_lookup(
        t, (struct sl_embedding_lookup_args){.tokens = e->tokens,
                                             .positions = e->positions,
                                             .types = e->types,
                                             .bigrams = e->bigrams,
                                             .scale = e->scale,
                                             .dropout = e->norm.weight ? 0.0f : e->dropout,
                                             .position_offset = e->position_offset,
                                             .padding_token = e->padding_token});
    return e->norm.weight ? sl_dropout_apply(t, sl_norm_stream(t, &e->norm, h), e->dropout) : h;
}

struct sl_tensor *sl_embedding_logits(struct sl_tape *t, const struct sl_embedding *e,
                                      struct sl_tensor *h)
{
    return sl_linear(t, h, (struct sl_linear_args){.weight = e->tokens});
}
