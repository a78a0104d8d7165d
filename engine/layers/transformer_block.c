/* transformer_block.c - a pre-norm transformer block whose updates a gate may scale or skip.
 *
 *     h += g attention(norm(h));   h += g mlp(norm(h))
 *
 * Pre-norm after Xiong et al. 2020; the gate is TSA's, equations 3 and 4. For a row that the gate
 * skips, only the key and the value are computed, because later rows attend to them. Every op works
 * row by row, so the other rows have the same bits as without the gate. */
#include "layers/layers.h"

#include <math.h>

/* The three input projections are initialized as one matrix, as in PyTorch. */
static void attention_build(struct sl_builder *b, struct sl_block *k, struct sl_block_shape shape)
{
    int d = shape.width;
    float bound = shape.bias ? sqrtf(6.0f / (4.0f * (float)d)) : 0.0f;
    struct sl_linear_shape in = {
        .outs = d, .ins = d, .bound = bound, .bias = shape.bias, .bias_zero = true};
    k->query = sl_linear_build(b, "attention.query", in);
    in.outs = 2 * d;
    k->key_value = sl_linear_build(b, "attention.key_value", in);
    k->project = sl_linear_build(b, "attention.output",
                                 (struct sl_linear_shape){.outs = d,
                                                          .ins = d,
                                                          .deviation = shape.residual_deviation,
                                                          .bias = shape.bias,
                                                          .bias_zero = true});
}

struct sl_block sl_block_build(struct sl_builder *b, struct sl_block_shape shape)
{
    struct sl_block k = {.heads = shape.heads,
                         .cache_at = sl_cache_operands(b, 2 * shape.width),
                         .dropout = shape.dropout,
                         .residual_dropout = shape.residual_dropout,
                         .bidirectional = shape.bidirectional,
                         .activation = shape.activation};
    int d = shape.width;
    k.attention_norm = sl_norm_build(b, "attention_norm", d, (struct sl_norm_shape){0});
    attention_build(b, &k, shape);
    k.mlp_norm = sl_norm_build(b, "mlp_norm", d, (struct sl_norm_shape){0});
    k.up = sl_linear_build(
        b, "mlp.up", (struct sl_linear_shape){.outs = shape.ffn_width, .ins = d, .bias = true});
    k.down = sl_linear_build(b, "mlp.down",
                             (struct sl_linear_shape){.outs = d,
                                                      .ins = shape.ffn_width,
                                                      .bias = true,
                                                      .deviation = shape.residual_deviation});
    return k;
}

/* The mean of the values, before the output projection. */
static struct sl_tensor *attention(struct sl_tape *t, const struct sl_block *k, struct sl_tensor *x,
                                   const struct sl_rows *rows)
{
    struct sl_tensor *key_value =
        sl_linear_apply(t, &k->key_value, x, (struct sl_linear_args){.operand = true});
    struct sl_tensor *query = sl_linear_apply(t, &k->query, sl_gather_rows(t, x, rows),
                                              (struct sl_linear_args){.operand = true});
    return sl_attention(t, query, key_value,
                        (struct sl_attention_args){.rows = rows,
                                                   .heads = k->heads,
                                                   .cache_at = k->cache_at,
                                                   .bidirectional = k->bidirectional,
                                                   .dropout = k->dropout});
}

struct sl_tensor *sl_block_apply(struct sl_tape *t, const struct sl_block *k, struct sl_tensor *h,
                                 struct sl_gate gate)
{
    size_t mark = sl_tape_mark(t);
    struct sl_tensor *x = attention(t, k, sl_norm_apply(t, &k->attention_norm, h), gate.rows);
    struct sl_residual_args update = {
        .gate = gate.value, .rows = gate.rows, .dropout = k->residual_dropout};
    h = sl_linear_add(t, &k->project, h, x, update);
    x = sl_norm_rows(t, &k->mlp_norm, h, gate.rows);
    x = sl_linear_apply(t, &k->up, x,
                        (struct sl_linear_args){
                            .activation = k->activation, .dropout = k->dropout, .operand = true});
    update.dropout = k->dropout;
    h = sl_linear_add(t, &k->down, h, x, update);
    sl_stats_add_layer(t, gate.rows);
    sl_tape_forget(t, mark);
    return h;
}

struct sl_tensor *sl_blocks_apply(struct sl_tape *t, const struct sl_block *blocks, int depth,
                                  struct sl_tensor *h, const struct sl_rows *last)
{
    for (int i = 0; i < depth; i++)
        h = sl_block_apply(t, &blocks[i], h, (struct sl_gate){.rows = i + 1 < depth ? NULL : last});
    return h;
}
