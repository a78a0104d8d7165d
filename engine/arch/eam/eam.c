/* eam.c - sparse attention, token pooling, a mixture of experts: one layer of each, and an output.
 * "Efficient Sequence Pooling Model for Sparse Attention with Mixture of Experts", 2024, the
 * methodology's formulas in their order.
 *
 *     H = dropout(E[tokens] + P[positions])             positions of sines
 *     A = softmax(Q K^T / sqrt(d / heads) + M) V        M: 0 for the keys of a pattern, else -inf
 *     P_r = mean of A over the r-th window of `pool` tokens
 *     y = sum_k gamma_k(P_r) E_k(P_r)                   gamma = softmax(W_g P_r + b_g)
 *     logits = W_o mean_r(y_r) + b_o
 *
 * The paper leaves M open ("a sparse factor"); its cost of O(n log n) follows from `log`, a list of
 * keys in place of a matrix with a mask. Its E_k are unspecified; here they have one hidden layer.
 * With `pre_norm`, which the paper has not: A = H + attention(norm(H)), y = P + experts(norm(P)).
 *
 * The published model is not a language model: windows and the mean see the future. For completion,
 * the pool size is 1, keys are causal, and W_o is applied to every row; then a KV cache is exact,
 * and with `log` a step reads the rows i, i - 1, i - 2, i - 4, ... W_o is not tied to E: it is the
 * paper's output layer with a class per token, and E, initialized N(0, 1), would give initial
 * logits as large as sqrt(d) |y|. */
#include "arch/eam/eam.h"

#include <math.h>

enum embedding_init { UNIT, SMALL };

struct eam {
    struct sl_embedding embedding;
    struct sl_norm attention_norm, experts_norm;      /* no weight: not pre_norm */
    struct sl_linear_layer query, key_value, project; /* no project: one head */
    struct sl_moe experts;
    struct sl_linear_layer output;
    struct sl_pattern pattern; /* SL_PATTERN_NONE: no attention, A = H */
    int heads, cache_at, pool;
    float dropout;
    bool completes;
};

/* -- parameters ------------------------------------------------------------------------------- */

/* Windows see the future, so a language model has none. */
static int pool_of(const struct sl_config *c)
{
    const struct sl_eam_config *own = sl_config_own(c);
    int usual = c->task == SL_TASK_COMPLETION ? 1 : 2;
    return own->pool_size ? own->pool_size : usual;
}

static void embedding_build(struct sl_builder *b, struct eam *m, const struct sl_config *c)
{
    const struct sl_eam_config *own = sl_config_own(c);
    m->embedding = sl_embedding_build(
        b,
        (struct sl_embedding_shape){.vocab = c->vocab,
                                    .context_length = c->context_length,
                                    .width = c->width,
                                    .start = sl_normal(own->embedding_init == SMALL ? 0.02f : 1.0f),
                                    .positions = SL_POSITIONS_SINUSOIDAL,
                                    .scale = 1.0f,
                                    .dropout = c->embedding_dropout});
}

/* Glorot's initial values for each of the four matrices, keys and values being two of them. */
static void attention_build(struct sl_builder *b, struct eam *m, const struct sl_config *c)
{
    const struct sl_eam_config *own = sl_config_own(c);
    int d = c->width;
    float bound = sqrtf(6.0f / (2.0f * (float)d));
    struct sl_linear_shape shape = {
        .outs = d, .ins = d, .bound = bound, .bias = true, .bias_zero = true};
    m->pattern = (struct sl_pattern){.kind = (enum sl_pattern_kind)own->attention_pattern,
                                     .stride = own->stride,
                                     .window = own->window,
                                     .causal = m->completes};
    if (m->pattern.kind == SL_PATTERN_NONE)
        return;
    m->cache_at = sl_cache_operands(b, 2 * d);
    if (own->pre_norm)
        m->attention_norm = sl_norm_build(b, "attention_norm", d, (struct sl_norm_shape){0});
    m->query = sl_linear_build(b, "attention.query", shape);
    if (c->heads > 1)
        m->project = sl_linear_build(b, "attention.output", shape);
    shape.outs = 2 * d;
    m->key_value = sl_linear_build(b, "attention.key_value", shape);
}

static void eam_build(struct sl_builder *b, void *self, const struct sl_config *c)
{
    const struct sl_eam_config *own = sl_config_own(c);
    struct eam *m = self;
    m->completes = c->task == SL_TASK_COMPLETION;
    m->heads = c->heads;
    m->pool = pool_of(c);
    m->dropout = c->dropout;
    embedding_build(b, m, c);
    attention_build(b, m, c);
    if (own->pre_norm)
        m->experts_norm = sl_norm_build(b, "experts_norm", c->width, (struct sl_norm_shape){0});
    m->experts =
        sl_moe_build(b, (struct sl_moe_shape){.width = c->width,
                                              .ffn_width = c->ffn_width,
                                              .count = own->experts,
                                              .top_k = own->experts_per_token,
                                              .dropout = c->dropout,
                                              .load_balancing_weight = own->load_balancing_weight});
    int outs = m->completes ? c->vocab : c->classes;
    m->output = sl_linear_build(
        b, "output", (struct sl_linear_shape){.outs = outs, .ins = c->width, .bias = true});
}

/* -- the layers ------------------------------------------------------------------------------- */

/* Dense attention is fastest without a list; its result is an operand, for the projection. */
static struct sl_tensor *compute_attention(struct sl_tape *t, const struct eam *m,
                                           struct sl_tensor *query, struct sl_tensor *key_value,
                                           const struct sl_rows *rows)
{
    if (m->pattern.kind == SL_PATTERN_DENSE && m->project.weight)
        return sl_attention(t, query, key_value,
                            (struct sl_attention_args){.rows = rows,
                                                       .heads = m->heads,
                                                       .cache_at = m->cache_at,
                                                       .bidirectional = !m->pattern.causal});
    return sl_sparse_attention(
        t, query, key_value,
        (struct sl_sparse_attention_args){.rows = rows,
                                          .heads = m->heads,
                                          .cache_at = m->cache_at,
                                          .pattern = m->pattern,
                                          .operand = m->project.weight != NULL});
}

static struct sl_tensor *attention(struct sl_tape *t, const struct eam *m, struct sl_tensor *x,
                                   const struct sl_rows *rows)
{
    struct sl_tensor *key_value =
        sl_linear_apply(t, &m->key_value, x, (struct sl_linear_args){.operand = true});
    struct sl_tensor *query = sl_linear_apply(t, &m->query, sl_gather_rows(t, x, rows),
                                              (struct sl_linear_args){.operand = true});
    struct sl_tensor *context = compute_attention(t, m, query, key_value, rows);
    if (!m->project.weight)
        return context;
    return sl_linear_apply(t, &m->project, context, (struct sl_linear_args){0});
}

/* Computes only the rows that are needed; others contribute keys and values. */
static struct sl_tensor *attention_block(struct sl_tape *t, const struct eam *m,
                                         struct sl_tensor *h, const struct sl_rows *rows)
{
    if (m->pattern.kind == SL_PATTERN_NONE)
        return sl_gather_rows(t, h, rows);
    if (!m->attention_norm.weight)
        return sl_dropout_apply(t, attention(t, m, h, rows), m->dropout);
    struct sl_tensor *a = attention(t, m, sl_norm_apply(t, &m->attention_norm, h), rows);
    return sl_residual(t, sl_gather_rows(t, h, rows), a,
                       (struct sl_residual_args){.dropout = m->dropout});
}

static struct sl_tensor *mix_experts(struct sl_tape *t, const struct eam *m, struct sl_tensor *h,
                                     const int32_t *origin)
{
    if (!m->experts_norm.weight)
        return sl_moe_apply(t, &m->experts, h, origin);
    struct sl_tensor *x = sl_norm_apply(t, &m->experts_norm, h);
    return sl_residual(t, h, sl_moe_apply(t, &m->experts, x, origin), (struct sl_residual_args){0});
}

/* The windows of tokens, and the windows of each sequence. */
struct windows {
    struct sl_segments tokens, sequences;
};

/* An upper bound on the number of windows of this many texts and tokens; each text may end with a
 * short window. */
static int max_windows(const struct sl_batch *batch, int pool)
{
    return (batch->rows + batch->count * (pool - 1)) / pool + 1;
}

/* A dry run must size memory for all texts. It assumes the maximum number of windows plus one: if
 * tensors of windows were exactly as large as tensors of tokens, gradients would reuse memory that
 * they cannot reuse with other lengths. */
static struct windows windows_of(struct sl_tape *t, int pool)
{
    const struct sl_batch *batch = t->view->batch;
    int max = max_windows(batch, pool), count = 0;
    int32_t *tokens = sl_tape_struct(t, (size_t)max + 1, sizeof *tokens);
    int32_t *sequences = sl_tape_struct(t, (size_t)batch->count + 1, sizeof *sequences);
    for (int s = 0; s < batch->count; s++) {
        sequences[s] = count;
        for (int i = 0; i < batch->sequences[s].rows; i += pool)
            tokens[count++] = batch->sequences[s].first + i;
    }
    assert(count < max);
    if (sl_tape_is_dry(t))
        count = max;
    tokens[count] = batch->rows;
    sequences[batch->count] = count;
    return (struct windows){{tokens, count}, {sequences, batch->count}};
}

static struct sl_tensor *output(struct sl_tape *t, const struct eam *m, struct sl_tensor *x)
{
    return sl_linear_apply(t, &m->output, x, (struct sl_linear_args){0});
}

static struct sl_tensor *eam_forward(struct sl_tape *t, const void *self)
{
    const struct eam *m = self;
    struct sl_tensor *h = sl_embedding_apply(t, &m->embedding);
    sl_stats_add_layer(t, NULL);
    if (m->completes)
        return output(t, m,
                      mix_experts(t, m, attention_block(t, m, h, t->view->batch->wanted), NULL));
    struct windows w = windows_of(t, m->pool);
    h = sl_segment_mean(t, attention_block(t, m, h, NULL), &w.tokens);
    h = mix_experts(t, m, h, w.tokens.first);
    return output(t, m, sl_segment_mean(t, h, &w.sequences));
}

/* -- the table -------------------------------------------------------------------------------- */

static int expert_count(const struct sl_config *c)
{
    const struct sl_eam_config *own = sl_config_own(c);
    return own->experts;
}

static bool eam_check(const struct sl_config *c, struct sl_err *err)
{
    const struct sl_eam_config *own = sl_config_own(c);
    if (c->task == SL_TASK_COMPLETION && pool_of(c) != 1)
        return sl_fail(
            err, SL_BAD_INPUT,
            "invalid pool_size '%d': expected 1 for completion, because a larger window would "
            "contain the tokens to predict",
            own->pool_size);
    if (own->experts_per_token > own->experts)
        return sl_fail(err, SL_BAD_INPUT,
                       "invalid experts_per_token '%d': expected 0 to %d (experts)",
                       own->experts_per_token, own->experts);
    if (own->experts_per_token == 0 && own->load_balancing_weight > 0.0f)
        return sl_fail(err, SL_BAD_INPUT,
                       "invalid load_balancing_weight '%g': expected 0, because with "
                       "experts_per_token 0 every token uses all experts",
                       (double)own->load_balancing_weight);
    return true;
}

static const char *const patterns[] = {[SL_PATTERN_LOG] = "log",
                                       [SL_PATTERN_STRIDE] = "stride",
                                       [SL_PATTERN_WINDOW_STRIDE] = "window_stride",
                                       [SL_PATTERN_DENSE] = "dense",
                                       [SL_PATTERN_NONE] = "none",
                                       NULL};
static const char *const embedding_init_names[] = {[UNIT] = "unit", [SMALL] = "small", NULL};

static const struct sl_param hypers[] = {
    SL_INTEGER_ROW(sl_config, width, 8, 8192, 128, "features per token (d)"),
    SL_INTEGER_ROW(sl_config, depth, 1, 1, 1, "layers; always 1, as in the paper"),
    SL_INTEGER_ROW(sl_config, heads, 1, 128, 4,
                   "attention heads; must divide width; 1: queries, keys and values are the tokens "
                   "themselves, as in the paper"),
    SL_INTEGER_ROW(sl_config, ffn_width, 8, 32768, 256, "hidden width of each expert (f)"),
    SL_INTEGER_ROW(sl_config, context_length, 2, 8192, 256,
                   "longest text that the model can take (n, tokens)"),
    SL_OWN_CHOICE_ROW(sl_eam_config, attention_pattern, patterns, SL_PATTERN_NONE, SL_PATTERN_LOG,
                      "which keys a token attends to"),
    SL_OWN_INTEGER_ROW(sl_eam_config, stride, 1, 8192, 16,
                       "distance between keys, in the patterns stride and window_stride (s)"),
    SL_OWN_INTEGER_ROW(sl_eam_config, window, 0, 8192, 16,
                       "keys to each side, in the pattern window_stride (w)"),
    SL_OWN_INTEGER_ROW(
        sl_eam_config, pool_size, 0, 64, 0,
        "neighbouring tokens averaged before the experts (p); 0: 2 in classifiers, 1 in language "
        "models"),
    SL_OWN_INTEGER_ROW(sl_eam_config, experts, 1, 64, 4, "experts (K)"),
    SL_OWN_INTEGER_ROW(
        sl_eam_config, experts_per_token, 0, 64, 0,
        "experts computed for each token, those with the highest gates; 0: all, as in the paper"),
    SL_OWN_REAL_ROW(sl_eam_config, load_balancing_weight, 0, 100, 0,
                    "weight, in the loss, of using all experts equally; often 0.01"),
    SL_OWN_FLAG_ROW(sl_eam_config, pre_norm, 0,
                    "put a norm before each sublayer and a residual connection around it"),
    SL_OWN_CHOICE_ROW(
        sl_eam_config, embedding_init, embedding_init_names, SMALL, UNIT,
        "distribution of initial token embeddings; unit: N(0, 1), small: N(0, 0.02^2)"),
    SL_REAL_ROW(sl_config, dropout, 0, 0.9, 0.1,
                "dropout probability after attention and in the experts"),
    SL_REAL_ROW(sl_config, embedding_dropout, 0, 0.9, 0, "dropout probability of the embeddings"),
    {0}};

const struct sl_arch sl_arch_eam = {
    .name = "eam",
    .paper = "Efficient Sequence Pooling Model for Sparse Attention with Mixture of Experts, 2024",
    .summary = "a token attends to O(log n) keys; tokens are pooled; a mixture of experts",
    .hypers = hypers,
    .routes_to = "expert",
    .routes = expert_count,
    .tasks = SL_COMPLETES | SL_CLASSIFIES,
    .size = sizeof(struct eam),
    .check = eam_check,
    .build = eam_build,
    .forward = eam_forward,
};
