/* transformer_block.c - a transformer block whose updates a gate may scale or skip.
 *
 * The gate is TSA's, equations 3 and 4; where the norm comes after, it scales the update of the
 * whole block. For a row that the gate skips, only the key and the value are computed, because
 * other rows attend to them. Every op works row by row, so the other rows have the same bits as
 * without the gate. */
#include "layers/layers.h"

#include <math.h>
#include <stdio.h>

struct projections {
    struct sl_linear_layer query, key_value, project;
};

static struct sl_linear_layer projection_build(struct sl_builder *b, const char *scope,
                                               const char *name, struct sl_linear_shape shape)
{
    char full[SL_NAME_MAX];
    (void)snprintf(full, sizeof full, "%s.%s", scope, name);
    shape.bias_zero = true;
    return sl_linear_build(b, full, shape);
}

/* The three input projections are initialized as one matrix, as in PyTorch. */
static struct projections projections_build(struct sl_builder *b, const char *scope,
                                            const struct sl_block *k, struct sl_block_shape shape)
{
    const int d = shape.width, queries = k->heads * k->head_dim, keys = k->key_heads * k->head_dim;
    const float bound = shape.input_bias ? sqrtf(6.0f / (float)(2 * d + queries + keys)) : 0.0f;
    const struct sl_linear_shape in = {.ins = d, .bound = bound, .bias = shape.input_bias};
    struct sl_linear_shape query = in, key_value = in;
    query.outs = queries;
    key_value.outs = 2 * keys;
    struct projections p;
    p.query = projection_build(b, scope, "query", query);
    p.key_value = projection_build(b, scope, "key_value", key_value);
    p.project = projection_build(b, scope, "output",
                                 (struct sl_linear_shape){.outs = d,
                                                          .ins = queries,
                                                          .deviation = shape.residual_deviation,
                                                          .bias = shape.output_bias});
    return p;
}

static int cache_columns(const struct sl_block *k)
{
    return (k->bf16_cache ? 1 : 2) * k->key_heads * k->head_dim;
}

static void source_build(struct sl_builder *b, struct sl_block *k, struct sl_block_shape shape)
{
    assert(!shape.norm_after);
    k->source.cache_at = sl_cache_operands(b, cache_columns(k));
    k->source.norm = sl_norm_build(b, "source_norm", shape.width, shape.norm);
    const struct projections p = projections_build(b, "source_attention", k, shape);
    k->source.query = p.query;
    k->source.key_value = p.key_value;
    k->source.project = p.project;
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
    k.cache_at = sl_cache_operands(b, cache_columns(&k));
    if (!shape.without_attention_norm)
        k.attention_norm = sl_norm_build(b, "attention_norm", shape.width, shape.norm);
    const struct projections p = projections_build(b, "attention", &k, shape);
    k.query = p.query;
    k.key_value = p.key_value;
    k.project = p.project;
    if (shape.attends_to_source)
        source_build(b, &k, shape);
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

/* h + the mean of what the source has for each row. */
static struct sl_tensor *attend_to_source(struct sl_tape *t, const struct sl_block *k,
                                          struct sl_tensor *h, const struct sl_source *source)
{
    const struct sl_linear_args operand = {.operand = true};
    struct sl_tensor *query =
        sl_linear_apply(t, &k->source.query, sl_norm_apply(t, &k->source.norm, h), operand);
    struct sl_tensor *key_value = sl_linear_apply(t, &k->source.key_value, source->x, operand);
    struct sl_tensor *x =
        sl_attention(t, query, key_value,
                     (struct sl_attention_args){.heads = k->heads,
                                                .key_heads = k->key_heads,
                                                .cache_at = k->source.cache_at,
                                                .bf16_cache = k->bf16_cache,
                                                .dropout = k->dropout,
                                                .source = source->texts->keys,
                                                .source_of = source->texts->source_of});
    return sl_linear_add(t, &k->source.project, h, x,
                         (struct sl_residual_args){.dropout = k->residual_dropout});
}

static struct sl_tensor *apply_norm_before(struct sl_tape *t, const struct sl_block *k,
                                           struct sl_tensor *h, struct sl_gate gate,
                                           const struct sl_source *source)
{
    struct sl_residual_args update = {
        .gate = gate.value, .rows = gate.rows, .dropout = k->residual_dropout};
    struct sl_tensor *x = k->attention_norm.weight ? sl_norm_apply(t, &k->attention_norm, h) : h;
    h = sl_linear_add(t, &k->project, h, attention(t, k, x, gate.rows), update);
    if (source)
        h = attend_to_source(t, k, h, source);
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

void sl_gate_record(struct sl_tape *t, int part, struct sl_gate gate)
{
    if (!t->stats.routing)
        return;
    int count = gate.rows ? gate.rows->count : t->view->batch->rows;
    for (int i = 0; i < count; i++)
        sl_stats_set_routing(t, sl_rows_at(gate.rows, i), part,
                             gate.value ? *sl_row(gate.value, i) : 1.0f);
}

struct sl_tensor *sl_block_apply(struct sl_tape *t, const struct sl_block *k, struct sl_tensor *h,
                                 struct sl_gate gate)
{
    size_t mark = sl_tape_mark(t);
    h = k->norm_after ? apply_norm_after(t, k, h, gate) : apply_norm_before(t, k, h, gate, NULL);
    sl_stats_add_layer(t, gate.rows);
    sl_tape_forget(t, mark);
    return h;
}

struct sl_tensor *sl_decoder_block_apply(struct sl_tape *t, const struct sl_block *k,
                                         struct sl_tensor *h, const struct sl_source *source)
{
    size_t mark = sl_tape_mark(t);
    h = apply_norm_before(t, k, h, (struct sl_gate){0}, source);
    sl_stats_add_layer(t, NULL);
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
