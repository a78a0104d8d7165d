/* wide_ngrams.c - the wide part of wide-and-deep: a linear model of a text's 1- to 3-grams. */
#include "layers/layers.h"

/* Scale of the table's contribution. AdamW changes each weight by about the learning rate per step,
 * and a text sums hundreds of these weights. Checkpoints depend on this value. */
static const float scale = 0.4f;

struct sl_wide_ngrams sl_wide_ngrams_build(struct sl_builder *b, struct sl_wide_ngrams_shape shape)
{
    struct sl_wide_ngrams ngrams = {.padding_token = shape.padding_token};
    if (shape.rows > 0)
        ngrams.table = sl_parameter_add(b, "wide_ngrams.weight", SL_ROLE_TABLE, shape.rows,
                                        shape.classes - 1, sl_constant(0.0f));
    return ngrams;
}

struct sl_tensor *sl_wide_ngrams_apply(struct sl_tape *t, const struct sl_wide_ngrams *ngrams,
                                       struct sl_tensor *logits)
{
    if (!ngrams->table)
        return logits;
    return sl_add_ngram_logits(
        t, logits,
        (struct sl_ngram_logits_args){
            .table = ngrams->table, .scale = scale, .padding_token = ngrams->padding_token});
}
