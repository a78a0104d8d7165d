/* bag.c - a linear model of the tokens, pairs and threes in a text, beside a deep one. */
#include "layers/layers.h"

/* A step of AdamW moves a number by about the rate, whatever its gradient was; a text adds up
 * hundreds of these numbers where a row of logits has one. Checkpoints depend on it. */
static const float scale = 0.4f;

struct sl_bag sl_bag_build(struct sl_builder *b, struct sl_bag_shape shape)
{
    struct sl_bag bag = {.padding_token = shape.padding_token};
    if (shape.rows > 0)
        bag.table = sl_parameter_add(b, "wide_ngrams.weight", SL_ROLE_TABLE, shape.rows,
                                     shape.classes - 1, sl_constant(0.0f));
    return bag;
}

struct sl_tensor *sl_bag_apply(struct sl_tape *t, const struct sl_bag *bag,
                               struct sl_tensor *logits)
{
    if (!bag->table)
        return logits;
    return sl_add_bag(t, logits,
                      (struct sl_bag_args){.table = bag->table,
                                           .scale = scale,
                                           .padding_token = bag->padding_token});
}
