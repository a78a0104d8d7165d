/* tsa.c - token-selective attention: between blocks, a router computes a gate per token for the
 * next block, and the loss includes the mean gate. "Adaptive Computation Depth via Learned Token
 * Routing in Transformers", sections 2.2 to 2.5.
 *
 *     h  = block_0(h)                                   always in full
 *     g  = 1 - p = 1 - sigmoid(router(h))               eq. 2, of the stream itself, without a norm
 *     h += g attention(norm(h));   h += g mlp(norm(h))  eq. 3 and 4, the same g for both
 *     loss += lambda mean(g)                            eq. 5, over routers and tokens */
#include "arch/tsa/tsa.h"

#include <string.h>

struct tsa {
    struct sl_embedding embedding;
    struct sl_block *blocks;
    struct sl_router *routers; /* depth - 1: routers[i] gates blocks[i + 1] */
    struct sl_output_head head;
    struct sl_wide_ngrams ngrams;
    int depth;
    struct sl_router_training training; /* when the weights of the loss have risen */
    float loss_warmup;
};

static int router_width(const struct sl_config *c)
{
    const struct sl_tsa_config *own = sl_config_own(c);
    int quarter = c->width / 4 > 16 ? c->width / 4 : 16;
    return own->router_width ? own->router_width : quarter;
}

static void tsa_build(struct sl_builder *b, void *self, const struct sl_config *c)
{
    const struct sl_tsa_config *own = sl_config_own(c);
    struct tsa *m = self;
    m->depth = c->depth;
    float routers = (float)(c->depth > 1 ? c->depth - 1 : 1);
    m->training = (struct sl_router_training){
        .loss = {own->compute_weight / routers, own->gate_binarization_weight / routers},
        .gate_limit = own->training_gate_limit};
    m->loss_warmup = own->penalty_warmup;
    m->blocks = sl_arena_take(b->arena, (size_t)c->depth, sizeof *m->blocks);
    m->routers = sl_arena_take(b->arena, (size_t)c->depth, sizeof *m->routers);
    m->embedding = sl_embedding_build(b, sl_embedding_shape_of(c));
    for (int i = 0; i < c->depth; i++) {
        sl_scope(b, "layers.%d.", i);
        m->blocks[i] = sl_block_build(b, sl_block_shape_of(c));
        if (i + 1 < c->depth)
            m->routers[i] = sl_router_build(b, c->width, router_width(c), own->router_bias);
    }
    sl_scope(b, "%s", "");
    m->head = sl_output_head_build(
        b, (struct sl_output_head_shape){.embedding = m->embedding,
                                         .classes = c->classes,
                                         .pretrains = c->task == SL_TASK_PRETRAINING,
                                         .pooling = (enum sl_pooling)c->pooling});
    m->ngrams = sl_wide_ngrams_build(
        b, (struct sl_wide_ngrams_shape){.rows = c->wide_ngrams, .classes = c->classes});
}

/* At this point of the training. Blocks that have learnt nothing yet would only be skipped. */
static struct sl_router_training training_now(const struct sl_tape *t, const struct tsa *m)
{
    struct sl_router_training now = m->training;
    float risen = t->progress < m->loss_warmup ? t->progress / m->loss_warmup : 1.0f;
    now.loss.open_weight *= risen;
    now.loss.binarization_weight *= risen;
    return now;
}

static struct sl_tensor *tsa_forward(struct sl_tape *t, const void *self)
{
    const struct tsa *m = self;
    struct sl_gate gate = {0};
    struct sl_router_training training = training_now(t, m);
    struct sl_tensor *h = sl_embedding_apply(t, &m->embedding);
    const struct sl_rows *reads = sl_output_head_rows(t, &m->head);
    for (int i = 0; i < m->depth; i++) {
        const struct sl_rows *candidates = i + 1 < m->depth ? NULL : reads;
        if (i > 0)
            gate = sl_router_apply(t, &m->routers[i - 1], h, training, candidates);
        else
            gate.rows = candidates;
        sl_gate_record(t, i, gate);
        h = sl_block_apply(t, &m->blocks[i], h, gate);
    }
    return sl_wide_ngrams_apply(t, &m->ngrams, sl_output_head_apply(t, &m->head, h));
}

static const char *const gates[] =
    {[SL_GATE_SOFT] = "soft", [SL_GATE_HARD] = "hard", [SL_GATE_MIXED] = "mixed", NULL};

static const char *skipping(const struct sl_policy *p)
{
    const struct sl_tsa_policy *own = sl_policy_own(p);
    return gates[own->gate];
}

/* Closed gates are part of the model only if they were closed while training. */
static bool trained_policy(const struct sl_config *c, struct sl_policy *p)
{
    const struct sl_tsa_config *config = sl_config_own(c);
    struct sl_tsa_policy own = {SL_GATE_MIXED, config->training_gate_limit};
    memcpy(p->own, &own, sizeof own);
    return config->training_gate_limit < 1.0f;
}

static const struct sl_param policy[] = {
    SL_CHOICE_ROW(
        sl_tsa_policy, gate, gates, SL_GATE_MIXED, SL_GATE_MIXED,
        "how gates act; soft: weigh each layer, hard: compute or skip it, mixed: skip it if "
        "gate_limit is reached, else weigh it"),
    SL_REAL_ROW(sl_tsa_policy, gate_limit, 0, 1, 0.9,
                "with mixed gates: skip a layer if its skip probability is at least this"),
    {0}};

static const struct sl_param hypers[] = {
    SL_HYPERS_DECODER,
    SL_HYPERS_CLASSIFIER,
    SL_HYPERS_TABLES,
    SL_OWN_REAL_ROW(sl_tsa_config, compute_weight, 0, 100, 0.001,
                    "weight of the loss term for computation, the mean gate value; higher: more "
                    "layers are skipped"),
    SL_OWN_REAL_ROW(
        sl_tsa_config, gate_binarization_weight, 0, 100, 0,
        "weight of the loss term that pushes gates from 0.5 towards 0 or 1; 0 (off) in the paper"),
    SL_OWN_REAL_ROW(sl_tsa_config, penalty_warmup, 0, 1, 0,
                    "fraction of the training over which the weights of both loss terms rise from "
                    "0"),
    SL_OWN_REAL_ROW(sl_tsa_config, training_gate_limit, 0.5, 1, 1,
                    "train with mixed gates: a layer is skipped if its skip probability is at "
                    "least this; the model is served so; 1 (never) in the paper"),
    SL_OWN_REAL_ROW(
        sl_tsa_config, router_bias, -20, 20, -1.0,
        "initial bias of the logit of skipping; a lower one opens more gates at the start"),
    SL_OWN_INTEGER_ROW(sl_tsa_config, router_width, 0, 8192, 0,
                       "hidden width of the routers; 0: width / 4, at least 16"),
    {0}};

const struct sl_arch sl_arch_tsa = {
    .name = "tsa",
    .paper = "Adaptive Computation Depth via Learned Token Routing in Transformers, 2026",
    .summary = "for each token, routers choose layers to skip (never the first)",
    .hypers = hypers,
    .policy = policy,
    .threshold = "gate_limit",
    .skipping = skipping,
    .routes_to = "block",
    .trained_policy = trained_policy,
    .tasks = SL_COMPLETES | SL_CLASSIFIES | SL_PRETRAINS,
    .embeds = "mean",
    .size = sizeof(struct tsa),
    .build = tsa_build,
    .forward = tsa_forward,
};
