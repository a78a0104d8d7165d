/* early_exit.c - a norm and the tied output after every block; a token leaves when it is confident.
 * TSA, section 3.5, after Elbayad et al. 2020 ("Depth-Adaptive Transformer").
 *
 *     h_i = block_i(h_{i-1});   z_i = norm_i(h_i) E^T
 *     loss = mean_i cross_entropy(z_i)                  all blocks, the first included
 *     serving: logits = z_i of the first i >= 1 with max softmax(z_i) > exit_threshold
 */
#include "arch/tsa/tsa.h"

struct early_exit {
    struct sl_embedding embedding;
    struct sl_block *blocks;
    struct sl_norm *norms; /* one per block */
    int depth, vocab;
};

static void early_exit_build(struct sl_builder *b, void *self, const struct sl_config *c)
{
    struct early_exit *m = self;
    m->depth = c->depth;
    m->vocab = c->vocab;
    m->blocks = sl_arena_take(b->arena, (size_t)c->depth, sizeof *m->blocks);
    m->norms = sl_arena_take(b->arena, (size_t)c->depth, sizeof *m->norms);
    m->embedding = sl_embedding_build(b, sl_embedding_shape_of(c));
    for (int i = 0; i < c->depth; i++) {
        sl_scope(b, "layers.%d.", i);
        m->blocks[i] = sl_block_build(b, sl_block_shape_of(c));
        m->norms[i] = sl_norm_build(b, "exit_norm", c->width, (struct sl_norm_shape){0});
    }
    sl_scope(b, "%s", "");
}

static struct sl_tensor *predict(struct sl_tape *t, const struct early_exit *m, int block,
                                 struct sl_tensor *h, const struct sl_rows *rows)
{
    struct sl_tensor *x = sl_norm_rows(t, &m->norms[block], h, rows);
    return sl_embedding_logits(t, &m->embedding, x);
}

static struct sl_tensor *early_exit_forward(struct sl_tape *t, const void *self)
{
    const struct early_exit *m = self;
    const struct sl_rows *staying = NULL;
    struct sl_tensor *final = sl_exit_begin(t, m->vocab);
    struct sl_tensor *h = sl_embedding_apply(t, &m->embedding);
    for (int i = 0; i < m->depth; i++) {
        struct sl_exit_decide_args rule = {
            .final = final, .weight = 1.0f / (float)m->depth, .last = i + 1 == m->depth};
        size_t mark = sl_tape_mark(t);
        struct sl_gate gate = sl_exit_gate(t, staying);
        sl_gate_record(t, i, gate);
        h = sl_block_apply(t, &m->blocks[i], h, gate);
        if (t->training || i > 0 || rule.last)
            staying = sl_exit_decide(t, predict(t, m, i, h, staying), staying, rule);
        sl_tape_forget(t, mark);
    }
    return final;
}

static const char *skipping(const struct sl_policy *policy)
{
    (void)policy;
    return "exit";
}

static const struct sl_param hypers[] = {SL_HYPERS_DECODER, {0}};

static const struct sl_param policy[] = {
    SL_REAL_ROW(sl_early_exit_policy, exit_threshold, 0, 1, 0.9,
                "confidence above which a token leaves; 1, or 0: none leaves"),
    SL_FLAG_ROW(sl_early_exit_policy, exit_oracle, 0,
                "keep computing the keys of tokens that have left, as the paper measures"),
    {0}};

const struct sl_arch sl_arch_early_exit = {
    .name = "early_exit",
    .paper = "Depth-Adaptive Transformer, 2020; as in TSA, section 3.5",
    .summary = "a token leaves early when the prediction at its layer is confident",
    .hypers = hypers,
    .policy = policy,
    .threshold = "exit_threshold",
    .skipping = skipping,
    .routes_to = "block",
    .tasks = SL_COMPLETES,
    .size = sizeof(struct early_exit),
    .build = early_exit_build,
    .forward = early_exit_forward,
};
