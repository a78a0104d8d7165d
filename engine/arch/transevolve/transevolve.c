/* transevolve.c - attention that evolves with depth: scores are computed once per block, and then
 * change only with time, that is with depth. "Redesigning the Transformer Architecture with
 * Insights from Multi-particle Dynamical Systems" (NeurIPS 2021), equations 6 to 13: encoder and
 * decoder to translate, the encoder alone as a classifier, the decoder alone as a language model.
 *
 *     h  = sqrt(width) E[tokens] + P[positions]
 *     q, k = dropout(h Wq^T), dropout(h Wk^T), 2 width columns        once per block; h as it comes
 *     h += dropout(A^l(norm(h)) Wo^T)                                          A^l: see below
 *     h += dropout(W2 relu(W1 norm(h) + b1) + b2)           or the same with random rotations
 *     h  = norm(h)                                                        at the end of a block
 *     completion: logits = h E^T;      classification: logits = W norm(mean(h)) + b
 *
 *     A^l(v)_i = sum_j softmax_j(q_i . k_j / sqrt(2 width / heads) + b^l_j) v_j      in every head
 *
 * A decoder that translates attends to the encoder's result x in the same way, between attention
 * and MLP of each depth: h += dropout(A^l(norm(x)) Wo^T), with q of its h and k of x, once per
 * block.
 *
 * There is no projection of values, and each depth adds only one number per key and head;
 * time_bias.c explains why this is all of equation 6. All depths share the exponentials of the
 * scores (transevolve_attention.c). A KV cache holds a key per block and the value at each depth
 * for each token.
 *
 * Two classes have a single logit, as in the paper's code, so that parameter counts are the
 * published ones. They include the time projections of queries, which have no effect. */
#include "arch/transevolve/transevolve.h"

#include <math.h>
#include <stdio.h>

enum feed_forward { DENSE, RANDOM_ROTATION };

enum time_encoding { CODE, PAPER };

/* Of all norms. */
static const float epsilon = 1e-3f;

/* One depth. With random mixing `rotation`, else `dense`. */
struct attention {
    struct sl_norm norm; /* of the values */
    struct sl_linear_layer project;
    int cache_values;
};

struct layer {
    struct attention own, source; /* source: of a decoder that translates */
    struct sl_norm mlp_norm;
    struct sl_linear_layer dense[2];
    struct sl_random_rotation rotation[2];
};

/* What the scores of a block are made of. */
struct scores {
    struct sl_linear_layer query, key;
    struct sl_time_bias time_bias;
    struct sl_transevolve_scores_args args;
};

struct block {
    struct scores own, source;
    struct layer *layers;
    struct sl_norm norm;
    int depth;
};

/* What a block is for. */
enum role { CLASSIFIES, WRITES, ENCODES, TRANSLATES };

struct transevolve {
    struct sl_embedding embedding;
    struct block *blocks;
    struct block *encoder;           /* NULL: it does not translate */
    struct sl_norm norm;             /* of the mean; classification only */
    struct sl_linear_layer classify; /* likewise */
    int count;                       /* of blocks, and of those of the encoder */
    enum feed_forward feed_forward;
    float dropout;
};

/* -- build -------------------------------------------------------------------------------- */

static struct sl_norm norm_build(struct sl_builder *b, const char *name, int width)
{
    return sl_norm_build(b, name, width, (struct sl_norm_shape){.epsilon = epsilon});
}

static struct sl_linear_layer dense_build(struct sl_builder *b, const char *name, int outs, int ins,
                                          bool bias)
{
    return sl_linear_build(b, name,
                           (struct sl_linear_shape){.outs = outs,
                                                    .ins = ins,
                                                    .bound = sl_glorot(ins, outs).value,
                                                    .bias = bias,
                                                    .bias_zero = true});
}

/* Rotations begin at time 1. At time 0, where the paper's code begins, U and V are constant, so the
 * layer only sees the sum of its input, which the norm has made 0. */
static void mlp_build(struct sl_builder *b, struct layer *k, const struct sl_config *c, int block,
                      int l)
{
    const struct sl_transevolve_config *own = sl_config_own(c);
    int sizes[3] = {c->width, c->ffn_width, c->width};
    static const char *const names[2] = {"mlp.up", "mlp.down"};
    static const char *const streams[2] = {"up", "down"};
    for (int i = 0; i < 2; i++) {
        char stream[SL_NAME_MAX];
        (void)snprintf(stream, sizeof stream, "block.%d.%d.mixing.%s", block, l, streams[i]);
        struct sl_random_rotation_shape rotation = {.outs = sizes[i + 1],
                                                    .ins = sizes[i],
                                                    .time = own->skip_time_zero + l,
                                                    .stream = stream,
                                                    .bound = sqrtf(6.0f / (float)c->width)};
        if (own->feed_forward == RANDOM_ROTATION)
            k->rotation[i] = sl_random_rotation_build(b, names[i], rotation);
        else
            k->dense[i] = dense_build(b, names[i], sizes[i + 1], sizes[i], true);
    }
}

/* Frequencies of T's columns. In the paper the last column completes a period at the last depth; in
 * its code frequencies have fixed steps, from 0. */
static struct sl_time_bias_shape time_bias_shape(const struct sl_config *c, int depths)
{
    const struct sl_transevolve_config *own = sl_config_own(c);
    bool paper = own->time_encoding == PAPER;
    double last = (double)c->width * (double)depths;
    return (struct sl_time_bias_shape){.keys = 2 * c->width,
                                       .width = c->width,
                                       .heads = c->heads,
                                       .depths = depths,
                                       .angle_step = paper ? 2.0 * M_PI / last : M_PI / 64.0,
                                       .first = paper ? 1 : 0};
}

static struct scores scores_build(struct sl_builder *b, const struct sl_config *c, int depths,
                                  bool bidirectional)
{
    const int d = c->width;
    const float bound = sl_glorot(2 * d, 2 * d).value; /* with their projections of time */
    const struct sl_linear_shape state = {.outs = 2 * d, .ins = d, .bound = bound};
    struct scores s;
    s.query = sl_linear_build(b, "query", state);
    s.key = sl_linear_build(b, "key", state);
    s.time_bias = sl_time_bias_build(b, "time_projection", time_bias_shape(c, depths));
    s.args =
        (struct sl_transevolve_scores_args){.heads = c->heads,
                                            .bidirectional = bidirectional,
                                            .cache_keys = sl_cache_operands(b, 2 * d),
                                            .cache_bias = sl_cache_floats(b, depths * c->heads)};
    return s;
}

static struct attention attention_build(struct sl_builder *b, const struct sl_config *c,
                                        const char *norm, const char *project)
{
    struct attention a = {.cache_values = sl_cache_operands(b, c->width)};
    a.norm = norm_build(b, norm, c->width);
    a.project = dense_build(b, project, c->width, c->width, false);
    return a;
}

/* scope: of the names of blocks, "" but for encoders. */
static void block_build(struct sl_builder *b, struct block *k, const struct sl_config *c,
                        const char *scope, int index, enum role role)
{
    sl_scope(b, "%sblocks.%d.", scope, index);
    k->own = scores_build(b, c, k->depth, role == CLASSIFIES || role == ENCODES);
    if (role == TRANSLATES) {
        sl_scope(b, "%sblocks.%d.source.", scope, index);
        k->source = scores_build(b, c, k->depth, false);
    }
    k->layers = sl_arena_take(b->arena, (size_t)k->depth, sizeof *k->layers);
    for (int l = 0; l < k->depth; l++) {
        struct layer *layer = &k->layers[l];
        sl_scope(b, "%sblocks.%d.layers.%d.", scope, index, l);
        *layer = (struct layer){.own = attention_build(b, c, "attention_norm", "attention.output")};
        if (role == TRANSLATES)
            layer->source = attention_build(b, c, "source_norm", "source_attention.output");
        layer->mlp_norm = norm_build(b, "mlp_norm", c->width);
        mlp_build(b, layer, c, index, l);
    }
    sl_scope(b, "%sblocks.%d.", scope, index);
    k->norm = norm_build(b, "norm", c->width);
}

static struct block *blocks_build(struct sl_builder *b, const struct sl_config *c,
                                  const char *scope, enum role role)
{
    const struct sl_transevolve_config *own = sl_config_own(c);
    const int count = own->blocks;
    struct block *blocks = sl_arena_take(b->arena, (size_t)count, sizeof *blocks);
    for (int i = 0; i < count; i++) {
        blocks[i] = (struct block){.depth = c->depth * (i + 1) / count - c->depth * i / count};
        block_build(b, &blocks[i], c, scope, i, role);
    }
    return blocks;
}

static void transevolve_build(struct sl_builder *b, void *self, const struct sl_config *c)
{
    const struct sl_transevolve_config *own = sl_config_own(c);
    struct transevolve *m = self;
    m->count = own->blocks;
    m->feed_forward = (enum feed_forward)own->feed_forward;
    m->dropout = c->dropout;
    struct sl_embedding_shape embedding = sl_embedding_shape_of(c);
    embedding.start = sl_normal(1.0f / sqrtf((float)c->width));
    embedding.positions = SL_POSITIONS_SINUSOIDAL_HALVES;
    embedding.scale = sqrtf((float)c->width);
    embedding.dropout = 0.0f;
    m->embedding = sl_embedding_build(b, embedding);
    if (c->task == SL_TASK_TRANSLATION)
        m->encoder = blocks_build(b, c, "encoder.", ENCODES);
    m->blocks = blocks_build(b, c, "",
                             m->encoder                          ? TRANSLATES
                             : c->task == SL_TASK_CLASSIFICATION ? CLASSIFIES
                                                                 : WRITES);
    sl_scope(b, "%s", "");
    if (c->task != SL_TASK_CLASSIFICATION)
        return;
    m->norm = norm_build(b, "final_norm", c->width);
    m->classify = dense_build(b, "classifier", c->classes == 2 ? 1 : c->classes, c->width, true);
}

/* -- forward ------------------------------------------------------------------------------ */

/* Of the queries of h and the keys of x: h itself, or the source's, whose texts are given. */
static struct sl_transevolve_score_table *compute_scores(struct sl_tape *t, const struct scores *s,
                                                         struct sl_tensor *h, struct sl_tensor *x,
                                                         const struct sl_source_target *texts,
                                                         float dropout)
{
    const struct sl_linear_args side = {.dropout = dropout, .operand = true};
    struct sl_transevolve_scores_args args = s->args;
    const struct sl_view *view = t->view;
    struct sl_tensor *query = sl_linear_apply(t, &s->query, h, side);
    t->view = texts ? texts->source : view;
    struct sl_tensor *key = sl_linear_apply(t, &s->key, x, side);
    struct sl_tensor *bias =
        sl_linear(t, key, (struct sl_linear_args){.weight = s->time_bias.weight});
    t->view = view;
    args.source = texts ? texts->keys : NULL;
    args.source_of = texts ? texts->source_of : NULL;
    return sl_transevolve_scores(t, query, key, bias, args);
}

static struct sl_tensor *dense(struct sl_tape *t, const struct transevolve *m,
                               const struct layer *k, struct sl_tensor *x)
{
    struct sl_linear_args args = {.activation = SL_RELU, .operand = true};
    if (m->feed_forward == DENSE)
        return sl_mlp_apply(t, &k->dense[0], &k->dense[1], x, args);
    x = sl_random_rotation_apply(t, &k->rotation[0], x, args);
    return sl_random_rotation_apply(t, &k->rotation[1], x, (struct sl_linear_args){0});
}

/* What a block has computed once. */
struct tables {
    const struct sl_transevolve_score_table *own, *source; /* source: NULL unless it translates */
    struct sl_tensor *encoded;
};

/* h + attention to the values of x. */
static struct sl_tensor *attend(struct sl_tape *t, const struct transevolve *m,
                                const struct attention *a,
                                const struct sl_transevolve_score_table *table, int depth,
                                struct sl_tensor *h, struct sl_tensor *x)
{
    const struct sl_transevolve_attention_args args = {.depth = depth,
                                                       .cache_values = a->cache_values};
    x = sl_transevolve_attention(t, table, sl_norm_apply(t, &a->norm, x), args);
    x = sl_linear_apply(t, &a->project, x, (struct sl_linear_args){0});
    return sl_residual(t, h, x, (struct sl_residual_args){.dropout = m->dropout});
}

static struct sl_tensor *layer_apply(struct sl_tape *t, const struct transevolve *m,
                                     const struct layer *k, const struct tables *tables, int depth,
                                     struct sl_tensor *h)
{
    size_t mark = sl_tape_mark(t);
    struct sl_residual_args update = {.dropout = m->dropout};
    h = attend(t, m, &k->own, tables->own, depth, h, h);
    if (tables->source)
        h = attend(t, m, &k->source, tables->source, depth, h, tables->encoded);
    h = sl_residual(t, h, dense(t, m, k, sl_norm_apply(t, &k->mlp_norm, h)), update);
    sl_stats_add_layer(t, NULL);
    sl_tape_forget(t, mark);
    return h;
}

static struct sl_tensor *predict(struct sl_tape *t, const struct transevolve *m,
                                 struct sl_tensor *h)
{
    const struct sl_norm *last = &m->blocks[m->count - 1].norm;
    if (!m->classify.weight) {
        h = sl_norm_apply(t, last, sl_gather_rows(t, h, t->view->batch->wanted));
        return sl_embedding_logits(t, &m->embedding, h);
    }
    h = sl_norm_apply(t, &m->norm,
                      sl_pool_sequences(t, sl_norm_apply(t, last, h), SL_POOLING_MEAN));
    struct sl_tensor *logits = sl_linear_apply(t, &m->classify, h, (struct sl_linear_args){0});
    return logits->cols == 1 ? sl_two_class_logits(t, logits) : logits;
}

/* Of the tokens of the view. The norm of the last block is left to what follows. */
static struct sl_tensor *blocks_apply(struct sl_tape *t, const struct transevolve *m,
                                      const struct block *blocks, struct sl_tensor *encoded,
                                      const struct sl_source_target *texts)
{
    struct sl_tensor *h = sl_embedding_apply(t, &m->embedding);
    for (int i = 0; i < m->count; i++) {
        const struct block *k = &blocks[i];
        size_t mark = sl_tape_mark(t);
        struct tables tables = {.encoded = encoded};
        tables.own = compute_scores(t, &k->own, h, h, NULL, m->dropout);
        if (texts)
            tables.source = compute_scores(t, &k->source, h, encoded, texts, m->dropout);
        for (int l = 0; l < k->depth; l++)
            h = layer_apply(t, m, &k->layers[l], &tables, l, h);
        if (i + 1 < m->count)
            h = sl_norm_stream(t, &k->norm, h);
        sl_tape_forget(t, mark);
    }
    return h;
}

/* Nothing if all sources are remembered. */
static struct sl_tensor *encode(struct sl_tape *t, const struct transevolve *m)
{
    if (t->view->batch->count == 0)
        return sl_tensor_take(t, 0, m->embedding.tokens->cols);
    return sl_norm_stream(t, &m->encoder[m->count - 1].norm,
                          blocks_apply(t, m, m->encoder, NULL, NULL));
}

static struct sl_tensor *transevolve_forward(struct sl_tape *t, const void *self)
{
    const struct transevolve *m = self;
    if (!m->encoder)
        return predict(t, m, blocks_apply(t, m, m->blocks, NULL, NULL));
    const struct sl_source_target texts = sl_source_target_of(t);
    t->view = texts.source;
    struct sl_tensor *encoded = encode(t, m);
    t->view = texts.target;
    return predict(t, m, blocks_apply(t, m, m->blocks, encoded, &texts));
}

/* -- the row of the table ------------------------------------------------------------------- */

static bool transevolve_check(const struct sl_config *c, struct sl_err *err)
{
    const struct sl_transevolve_config *own = sl_config_own(c);
    if (own->blocks > c->depth)
        return sl_fail(err, SL_BAD_INPUT, "invalid blocks %d: expected 1 to depth, which is %d",
                       own->blocks, c->depth);
    if (c->width % 2 != 0 || c->ffn_width % 2 != 0)
        return sl_fail(err, SL_BAD_INPUT, "invalid width %d or ffn_width %d: both must be even",
                       c->width, c->ffn_width);
    return true;
}

static const char *const feed_forward_names[] =
    {[DENSE] = "full", [RANDOM_ROTATION] = "random", NULL};
static const char *const time_encoding_names[] = {[CODE] = "code", [PAPER] = "paper", NULL};

static const struct sl_param hypers[] = {
    SL_HYPERS_DECODER,
    SL_OWN_INTEGER_ROW(sl_transevolve_config, blocks, 1, 128, 2,
                       "groups of layers that share attention scores; at most depth"),
    SL_OWN_CHOICE_ROW(sl_transevolve_config, feed_forward, feed_forward_names, RANDOM_ROTATION,
                      DENSE, "matrices of the MLP; full: trained, random: fixed random rotations"),
    SL_OWN_CHOICE_ROW(
        sl_transevolve_config, time_encoding, time_encoding_names, PAPER, CODE,
        "angle of the time encoding at layer t; code: t pi/64, as in the published code; paper: 2 "
        "pi t/layers"),
    SL_OWN_FLAG_ROW(
        sl_transevolve_config, skip_time_zero, 1,
        "the first layer has t = 1; false: t = 0, as published; at t = 0 the rotations do nothing"),
    {0}};

const struct sl_arch sl_arch_transevolve = {
    .name = "transevolve",
    .paper = "Redesigning the Transformer Architecture with Insights from Multi-particle Dynamical "
             "Systems, 2021",
    .summary = "attention scores are computed once per group of layers, then only updated",
    .hypers = hypers,
    .tasks = SL_COMPLETES | SL_CLASSIFIES | SL_TRANSLATES,
    .size = sizeof(struct transevolve),
    .check = transevolve_check,
    .build = transevolve_build,
    .forward = transevolve_forward,
};
