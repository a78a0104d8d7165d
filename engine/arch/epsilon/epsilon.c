/* epsilon.c - one block, applied repeatedly until the tokens have halted; attention to a few bins
 * instead of all tokens. "Epsilon: A Transformer with Adaptive Computation and Quantized
 * Attention", sections 3 and 4.
 *
 *     h = dropout(sqrt(d) E[tokens] + P[positions])
 *     step t:  h += alpha dropout(HQSA(centre(h)));  h += alpha dropout(FFN(centre(h)))      3.2
 *              HQSA: histogram_attention.c, 3.3;  FFN: both weights divided by their largest
 * singular value
 *              p_i = min(sigmoid(v_t h_i + c_t), what is left of 1);  y += p_0 h_0           3.4
 *     logits = W y + b                                  of the first token alone (+ n-grams)
 *     loss += kl_weight annealed(progress) mean_i KL(p_i, geometric(ponder_prior_mean))      4.2
 *     loss += entropy_weight mean_i sum_b a_ib log a_ib  of the first step's assignments      4.3
 *
 * Where the paper is silent, this follows its authors' code: halting scores have a layer for each
 * step, halted tokens still change and are still attended to, positions are sines, the norm has
 * weight and bias. Unlike in that code, padding is not in the bins (mask_padding 0 restores that).
 *
 * The paper's model is not a language model: its bins contain future tokens, and its output is that
 * of the first token. For completion, a token's bins contain only itself and earlier tokens, every
 * token has its own output y_i += p_i h_i, and a halted token no longer changes. So a new token
 * costs only its own steps, and the cache of a text does not grow: it holds the sums of keys,
 * values and assignments for each step, head and bin. */
#include "arch/epsilon/epsilon.h"

#include <math.h>

struct epsilon {
    struct sl_embedding embedding;
    struct sl_norm attention_norm, mlp_norm;
    struct sl_histogram_attention attention;
    struct sl_spectral_linear up, down;
    struct sl_halting_layer halting;
    struct sl_linear_layer classify; /* without weight: completion, which uses the head */
    struct sl_wide_ngrams ngrams;
    struct sl_output_head head;
    int depth, padding_token;
    float dropout, residual_scale, entropy_weight;
};

/* A language model has no use for it. */
static int padding_token(const struct sl_config *c)
{
    return c->task == SL_TASK_CLASSIFICATION ? c->padding_token : 0;
}

static struct sl_embedding_shape embedding_shape(const struct sl_config *c)
{
    return (struct sl_embedding_shape){.vocab = c->vocab,
                                       .context_length = c->context_length,
                                       .width = c->width,
                                       .start = sl_glorot(c->vocab, c->width),
                                       .positions = SL_POSITIONS_SINUSOIDAL,
                                       .scale = sqrtf((float)c->width),
                                       .dropout = c->dropout,
                                       .tied = c->task == SL_TASK_COMPLETION,
                                       .padding_token = padding_token(c),
                                       .hash_bigrams = c->hash_bigrams};
}

static struct sl_histogram_attention_shape attention_shape(const struct sl_config *c)
{
    const struct sl_epsilon_config *own = sl_config_own(c);
    return (struct sl_histogram_attention_shape){.width = c->width,
                                                 .heads = c->heads,
                                                 .bins = own->bins,
                                                 .latents = own->latent_dim,
                                                 .dropout = c->dropout,
                                                 .bin_padding = !own->mask_padding,
                                                 .steps =
                                                     c->task == SL_TASK_COMPLETION ? c->depth : 0};
}

static void epsilon_build(struct sl_builder *b, void *self, const struct sl_config *c)
{
    const struct sl_epsilon_config *own = sl_config_own(c);
    struct epsilon *m = self;
    m->depth = c->depth;
    m->padding_token = padding_token(c);
    m->dropout = c->dropout;
    m->residual_scale = own->residual_scale;
    m->entropy_weight = own->entropy_weight;
    m->embedding = sl_embedding_build(b, embedding_shape(c));
    m->attention_norm = sl_norm_build(b, "attention_norm", c->width, (struct sl_norm_shape){0});
    m->attention = sl_histogram_attention_build(b, attention_shape(c));
    m->mlp_norm = sl_norm_build(b, "mlp_norm", c->width, (struct sl_norm_shape){0});
    m->up = sl_spectral_linear_build(b, "mlp.up", c->ffn_width, c->width);
    m->down = sl_spectral_linear_build(b, "mlp.down", c->width, c->ffn_width);
    m->halting = sl_halting_layer_build(
        b, (struct sl_halting_layer_shape){.width = c->width,
                                           .max_steps = c->depth,
                                           .kl_weight = own->kl_weight,
                                           .prior_mean = own->ponder_prior_mean});
    if (c->task == SL_TASK_COMPLETION) {
        m->head = sl_output_head_build(b, (struct sl_output_head_shape){.embedding = m->embedding});
        return;
    }
    m->classify =
        sl_linear_build(b, "classifier",
                        (struct sl_linear_shape){.outs = c->classes,
                                                 .ins = c->width,
                                                 .bound = sl_glorot(c->width, c->classes).value,
                                                 .bias = true});
    m->ngrams = sl_wide_ngrams_build(
        b, (struct sl_wide_ngrams_shape){
               .rows = c->wide_ngrams, .classes = c->classes, .padding_token = m->padding_token});
}

/* Both updates of some rows of h, given their attention to the bins. */
static struct sl_tensor *update(struct sl_tape *t, const struct epsilon *m, struct sl_tensor *h,
                                struct sl_tensor *attended, struct sl_gate gate)
{
    struct sl_residual_args args = {
        .gate = gate.value, .rows = gate.rows, .dropout = m->dropout, .scale = m->residual_scale};
    h = sl_residual(t, h, attended, args);
    struct sl_tensor *x = sl_gather_rows(t, h, gate.rows);
    x = sl_centernorm(t, x, m->mlp_norm.weight, m->mlp_norm.bias);
    x = sl_mlp_apply(t, &m->up.layer, &m->down.layer, x,
                     (struct sl_linear_args){.activation = SL_GELU, .dropout = m->dropout});
    return sl_residual(t, h, x, args);
}

static void update_rows(struct sl_tape *t, const struct epsilon *m, struct sl_recurrence *s,
                        struct sl_tensor *x, struct sl_tensor *bins, const struct sl_rows *rows)
{
    struct sl_tensor *attended = sl_histogram_attention_apply(t, &m->attention, s, x, bins, rows);
    s->h = update(t, m, s->h, attended, (struct sl_gate){.rows = rows});
}

static float entropy_weight(const struct epsilon *m, int step)
{
    return step == 1 ? m->entropy_weight : 0.0f;
}

static void step(struct sl_tape *t, const struct epsilon *m, struct sl_recurrence *s)
{
    struct sl_tensor *x = sl_centernorm(t, s->h, m->attention_norm.weight, m->attention_norm.bias);
    struct sl_tensor *bins =
        sl_histogram_attention_bin_means(t, &m->attention, s, x, entropy_weight(m, s->step));
    update_rows(t, m, s, x, bins, s->first_tokens);
    sl_halting_layer_apply(t, &m->halting, s);
    if (s->other_tokens)
        update_rows(t, m, s, x, bins, s->other_tokens);
    sl_recurrence_advance(t, s);
}

static struct sl_tensor *classify(struct sl_tape *t, const struct epsilon *m, struct sl_tensor *h)
{
    struct sl_recurrence *s = sl_recurrence_begin(t, h, m->depth, m->padding_token);
    while (sl_recurrence_has_next(t, s)) {
        size_t mark = sl_tape_mark(t);
        step(t, m, s);
        sl_tape_forget(t, mark);
    }
    struct sl_tensor *logits =
        sl_linear_apply(t, &m->classify, sl_recurrence_finish(t, s), (struct sl_linear_args){0});
    return sl_wide_ngrams_apply(t, &m->ngrams, logits);
}

static void step_causal(struct sl_tape *t, const struct epsilon *m, struct sl_causal_recurrence *w)
{
    struct sl_tensor *x = sl_gather_rows(t, w->h, w->computed_rows);
    x = sl_centernorm(t, x, m->attention_norm.weight, m->attention_norm.bias);
    struct sl_tensor *attended =
        sl_histogram_attention_apply_causal(t, &m->attention, w, x, entropy_weight(m, w->step));
    w->h = update(t, m, w->h, attended, w->gate);
    sl_halting_layer_apply_causal(t, &m->halting, w);
    sl_causal_recurrence_advance(t, w);
}

static struct sl_tensor *complete(struct sl_tape *t, const struct epsilon *m, struct sl_tensor *h)
{
    struct sl_causal_recurrence *w = sl_causal_recurrence_begin(t, h, m->depth);
    sl_histogram_attention_begin(t, &m->attention, w);
    while (sl_causal_recurrence_has_next(t, w)) {
        size_t mark = sl_tape_mark(t);
        step_causal(t, m, w);
        sl_tape_forget(t, mark);
    }
    return sl_output_head_apply(t, &m->head, sl_causal_recurrence_finish(t, w));
}

static struct sl_tensor *epsilon_forward(struct sl_tape *t, const void *self)
{
    const struct epsilon *m = self;
    struct sl_tensor *h = sl_embedding_apply(t, &m->embedding);
    return m->classify.weight ? classify(t, m, h) : complete(t, m, h);
}

static const char *skipping(const struct sl_policy *policy)
{
    (void)policy;
    return "halt";
}

static const struct sl_param policy[] = {
    SL_REAL_ROW(sl_epsilon_policy, halting_threshold, 0, 1, 1,
                "a token halts when its halting probabilities sum to this; 1, or 0: as trained"),
    {0}};

static const struct sl_param hypers[] = {
    SL_INTEGER_ROW(sl_config, width, 8, 8192, 12, "features per token (d)"),
    SL_INTEGER_ROW(sl_config, depth, 1, 128, 8,
                   "maximum number of repetitions of the block for a token (L)"),
    SL_INTEGER_ROW(sl_config, heads, 1, 128, 2, "attention heads (H); must divide width"),
    SL_INTEGER_ROW(sl_config, ffn_width, 8, 32768, 72, "hidden width of the MLP (d_ff)"),
    SL_INTEGER_ROW(sl_config, context_length, 2, 8192, 512,
                   "longest text that the model can take (T, tokens)"),
    SL_REAL_ROW(sl_config, dropout, 0, 0.9, 0.1, "dropout probability during training"),
    SL_OWN_INTEGER_ROW(sl_epsilon_config, bins, 1, 1024, 16,
                       "bins per head (B), into which keys are grouped"),
    SL_OWN_INTEGER_ROW(sl_epsilon_config, latent_dim, 1, 1024, 8,
                       "dimensions in which keys are assigned to bins (d_lat)"),
    SL_PARAM_ROW_AT(offsetof(struct sl_config, own), sl_epsilon_config, mask_padding, SL_FLAG, 0, 1,
                    1, "classifiers: keep padding out of the bins; false: as in the published code",
                    NULL, SL_CLASSIFIES),
    SL_OWN_REAL_ROW(sl_epsilon_config, residual_scale, 0.001, 10, 0.25,
                    "factor of both residual updates (alpha)"),
    SL_OWN_REAL_ROW(sl_epsilon_config, ponder_prior_mean, 1.01, 1000, 3,
                    "mean of the prior of the halting step"),
    SL_OWN_REAL_ROW(sl_epsilon_config, kl_weight, 0, 100, 0.015,
                    "weight, in the loss, of the divergence from that prior (lambda_KL)"),
    SL_OWN_REAL_ROW(sl_epsilon_config, entropy_weight, 0, 100, 0.005,
                    "weight, in the loss, of the entropy of the bins (lambda_ent)"),
    SL_HYPERS_TABLES,
    {0}};

const struct sl_arch sl_arch_epsilon = {
    .name = "epsilon",
    .paper = "Epsilon: A Transformer with Adaptive Computation and Quantized Attention",
    .summary = "one block, repeated for each token until a learned rule stops it",
    .hypers = hypers,
    .policy = policy,
    .threshold = "halting_threshold",
    .skipping = skipping,
    .routes_to = "step",
    .tasks = SL_COMPLETES | SL_CLASSIFIES,
    .size = sizeof(struct epsilon),
    .build = epsilon_build,
    .forward = epsilon_forward,
};
