/* transformer_block.c - a transformer block whose updates a gate may scale or skip.
 *
 * The gate is TSA's, equations 3 and 4; where the norm comes after, it scales the update of the
 * whole block. For a row that the gate skips, only the key and the value are computed, because
 * other rows attend to them. Every op works row by row, so the other rows have the same bits as
 * without the gate. */
#include "layers/layers.h"

#include <math.h>

/* The three input projections are initialized as one matrix, as in PyTorch. */
static void attention_build(struct sl_builder *b, struct sl_block *k, struct sl_block_shape shape)
{
    const int d = shape.width, queries = k->heads * k->head_dim, keys = k->key_heads * k->head_dim;
    const float bound = shape.input_bias ? sqrtf(6.0f / (float)(2 * d + queries + keys)) : 0.0f;
    k->query = sl_linear_build(b, "attention.query",
                               (struct sl_linear_shape){.outs = queries,
                                                        .ins = d,
                                                        .bound = bound,
                                                        .bias = shape.input_bias,
                                                        .bias_zero = true});
    k->key_value = sl_linear_build(b, "attention.key_value",
                                   (struct sl_linear_shape){.outs = 2 * keys,
                                                            .ins = d,
                                                            .bound = bound,
                                                            .bias = shape.input_bias,
                                                            .bias_zero = true});
    k->project = sl_linear_build(b, "attention.output",
                                 (struct sl_linear_shape){.outs = d,
                                                          .ins = queries,
                                                          .deviation = shape.residual_deviation,
                                                          .bias = shape.output_bias,
                                                          .bias_zero = true});
}

static void mlp_build(struct sl_builder *b, struct sl_block *k, struct sl_block_shape shape)
{
    const struct sl_linear_shape up = {
        .outs = shape.ffn_width, .ins = shape.width, .bias = !shape.without_mlp_bias};
    if (shape.gated_mlp)
        k->gate = sl_linear_build(b, "mlp.gate", up);
    k->up = sl_linear_build(b, "mlp.up", up);
    k->down = sl_linear_build(b, "mlp.down",
                              (struct sl_linear_shape){.outs = shape.width,
                                                       .ins = shape.ffn_width,
                                                       .bias = !shape.without_mlp_bias,
                                                       .deviation = shape.residual_deviation});
}

struct sl_block sl_block_build(struct sl_builder *b, struct sl_block_shape shape)
{
    struct sl_block k = {.heads = shape.heads,
                         .key_heads = shape.key_heads > 0 ? shape.key_heads : shape.heads,
                         .head_dim =
                             shape.head_dim > 0 ? shape.head_dim : shape.width / shape.heads,
                         .window = shape.window,
                         .rotary = shape.rotary,
                         .dropout = shape.dropout,
                         .residual_dropout = shape.residual_dropout,
                         .bidirectional = shape.bidirectional,
                         .norm_after = shape.norm_after,
                         .activation = shape.activation};
    k.bf16_cache = b->bf16_cache && !shape.bidirectional;
    k.cache_at = sl_cache_operands(b, (k.bf16_cache ? 1 : 2) * k.key_heads * k.head_dim);
    if (!shape.without_attention_norm)
        k.attention_norm = sl_norm_build(b, "attention_norm", shape.width, shape.norm);
    attention_build(b, &k, shape);
    k.mlp_norm = sl_norm_build(b, "mlp_norm", shape.width, shape.norm);
    mlp_build(b, &k, shape);
    return k;
}

/* Queries, or keys and values, as operands; rotary positions are applied in fp32. */
static struct sl_tensor *projected(struct sl_tape *t, const struct sl_block *k,
                                   const struct sl_linear_layer *layer, struct sl_tensor *x,
                                   struct sl_rotary_args rotary)
{
    x = sl_linear_apply(t, layer, x, (struct sl_linear_args){.operand = !k->rotary});
    rotary.table = k->rotary;
    rotary.head_dim = k->head_dim;
    return k->rotary ? sl_rotary(t, x, rotary) : x;
}

/* The mean of the values, before the output projection. */
static struct sl_tensor *attention(struct sl_tape *t, const struct sl_block *k, struct sl_tensor *x,
                                   const struct sl_rows *rows)
{
    struct sl_tensor *key_value =
        projected(t, k, &k->key_value, x, (struct sl_rotary_args){.heads = k->key_heads});
    struct sl_tensor *query = projected(t, k, &k->query, sl_gather_rows(t, x, rows),
                                        (struct sl_rotary_args){.heads = k->heads, .rows = rows});
    return sl_attention(t, query, key_value,
                        (struct sl_attention_args){.rows = rows,
                                                   .heads = k->heads,
                                                   .key_heads = k->key_heads,
                                                   .window = k->window,
                                                   .cache_at = k->cache_at,
                                                   .bidirectional = k->bidirectional,
                                                   .bf16_cache = k->bf16_cache,
                                                   .dropout = k->dropout});
}

/* The hidden layer of the MLP. */
static struct sl_tensor *hidden(struct sl_tape *t, const struct sl_block *k, struct sl_tensor *x)
{
    struct sl_linear_args args = {.activation = k->activation, .operand = true};
    if (!k->gate.weight) {
        args.dropout = k->dropout;
        return sl_linear_apply(t, &k->up, x, args);
    }
    struct sl_tensor *gate = sl_linear_apply(t, &k->gate, x, args);
    return sl_multiply(t, sl_linear_apply(t, &k->up, x, (struct sl_linear_args){0}), gate);
}

static struct sl_tensor *apply_norm_before(struct sl_tape *t, const struct sl_block *k,
                                           struct sl_tensor *h, struct sl_gate gate)
{
    struct sl_residual_args update = {
        .gate = gate.value, .rows = gate.rows, .dropout = k->residual_dropout};
    struct sl_tensor *x = k->attention_norm.weight ? sl_norm_apply(t, &k->attention_norm, h) : h;
    h = sl_linear_add(t, &k->project, h, attention(t, k, x, gate.rows), update);
    x = hidden(t, k, sl_norm_rows(t, &k->mlp_norm, h, gate.rows));
    update.dropout = k->dropout;
    return sl_linear_add(t, &k->down, h, x, update);
}

static struct sl_tensor *apply_norm_after(struct sl_tape *t, const struct sl_block *k,
                                          struct sl_tensor *h, struct sl_gate gate)
{
    const bool copies = gate.value || gate.rows;
    struct sl_tensor *x = attention(t, k, h, gate.rows);
    struct sl_tensor *y = copies ? sl_copy_rows(t, h, gate.rows) : h;
    y = sl_linear_add(t, &k->project, y, x,
                      (struct sl_residual_args){.dropout = k->residual_dropout});
    y = sl_norm_stream(t, &k->attention_norm, y);
    x = hidden(t, k, y);
    y = sl_linear_add(t, &k->down, y, x, (struct sl_residual_args){.dropout = k->dropout});
    y = sl_norm_stream(t, &k->mlp_norm, y);
    return copies ? sl_interpolate(t, h, y, (struct sl_interpolate_args){gate.value, gate.rows})
                  : y;
}

struct sl_tensor *sl_block_apply(struct sl_tape *t, const struct sl_block *k, struct sl_tensor *h,
                                 struct sl_gate gate)
{
    size_t mark = sl_tape_mark(t);
    h = k->norm_after ? apply_norm_after(t, k, h, gate) : apply_norm_before(t, k, h, gate);
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
