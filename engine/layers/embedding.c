/* embedding.c - token and position tables; the token table also gives the logits. */
#include "layers/layers.h"

/* As the TSA paper's code starts both tables. */
static const float deviation = 0.02f;

struct sl_embedding sl_embedding_build(struct sl_builder *b, int vocab, int context, int width,
                                       float dropout)
{
    struct sl_embedding e = {.dropout = dropout};
    e.tokens =
        sl_parameter_add(b, "embedding.tokens", SL_ROLE_TABLE, vocab, width, sl_normal(deviation));
    e.tokens->product = true; /* sl_embedding_invert */
    e.positions = sl_parameter_add(b, "embedding.positions", SL_ROLE_TABLE, context, width,
                                   sl_normal(deviation));
    return e;
}

struct sl_tensor *sl_embedding_apply(struct sl_tape *t, const struct sl_embedding *e)
{
    return sl_lookup(t, e->tokens, e->positions, e->dropout);
}

struct sl_tensor *sl_embedding_invert(struct sl_tape *t, const struct sl_embedding *e,
                                      struct sl_tensor *h)
{
    return sl_linear(t, h, (struct sl_linear_args){.weight = e->tokens});
}
