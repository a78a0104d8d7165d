/* tsa.c - token-selective attention: between blocks, a router decides how much each token takes
 * of the next block, and the loss has a price on what it takes. "Adaptive Computation Depth via
 * Learned Token Routing in Transformers", sections 2.2 to 2.5.
 *
 *     h  = block_0(h)                                   always in full
 *     g  = 1 - p = 1 - sigmoid(router(h))               eq. 2, of the stream itself, without a norm
 *     h += g attention(norm(h));   h += g mlp(norm(h))  eq. 3 and 4, the same g for both
 *     loss += lambda mean(g)                            eq. 5, over routers and tokens */
#include "arch/tsa/tsa.h"

struct tsa {
    struct sl_embedding embedding;
    struct sl_block *blocks;
    struct sl_router *routers; /* depth - 1: routers[i] gates blocks[i + 1] */
    struct sl_head head;
    int depth;
    struct sl_gate_loss_args price;
};

static int router_width(const struct sl_config *c)
{
    int quarter = c->width / 4 > 16 ? c->width / 4 : 16;
    return c->router_width ? c->router_width : quarter;
}

static void tsa_build(struct sl_builder *b, void *self, const struct sl_config *c)
{
    struct tsa *m = self;
    m->depth = c->depth;
    float routers = (float)(c->depth > 1 ? c->depth - 1 : 1);
    m->price = (struct sl_gate_loss_args){c->lambda / routers, c->undecided_price / routers};
    m->blocks = sl_arena_take(b->arena, (size_t)c->depth, sizeof *m->blocks);
    m->routers = sl_arena_take(b->arena, (size_t)c->depth, sizeof *m->routers);
    m->embedding = sl_embedding_build(b, sl_embedding_shape_of(c));
    for (int i = 0; i < c->depth; i++) {
        sl_scope(b, "block.%d.", i);
        m->blocks[i] = sl_block_build(b, sl_block_shape_of(c));
        if (i + 1 < c->depth)
            m->routers[i] = sl_router_build(b, c->width, router_width(c), c->router_bias);
    }
    sl_scope(b, "%s", "");
    m->head = sl_head_build(b, (struct sl_head_shape){.embedding = m->embedding,
                                                      .classes = c->classes,
                                                      .pooling = (enum sl_pooling)c->pooling});
}

static struct sl_tensor *tsa_forward(struct sl_tape *t, const void *self)
{
    const struct tsa *m = self;
    struct sl_gate gate = {0};
    struct sl_tensor *h = sl_embedding_apply(t, &m->embedding);
    const struct sl_rows *reads = sl_head_reads(t, &m->head);
    for (int i = 0; i < m->depth; i++) {
        const struct sl_rows *among = i + 1 < m->depth ? NULL : reads;
        if (i > 0)
            gate = sl_router_apply(t, &m->routers[i - 1], h, m->price, among);
        else
            gate.rows = among;
        h = sl_block_apply(t, &m->blocks[i], h, gate);
    }
    return sl_head_apply(t, &m->head, h);
}

static const struct sl_number hypers[] = {
    SL_HYPERS_DECODER,
    SL_HYPERS_CLASSIFIER,
    SL_REAL_ROW(sl_config, lambda, 0, 100, 0.001, "price of taking all of every block, in nats"),
    SL_REAL_ROW(sl_config, undecided_price, 0, 100, 0,
                "price of gates that stand at one half, in nats; none in the paper"),
    SL_REAL_ROW(sl_config, router_bias, -20, 20, -1.0,
                "first value of the routers' last bias: lower starts with more open gates"),
    SL_INTEGER_ROW(sl_config, router_width, 0, 8192, 0,
                   "features inside the routers; 0: a quarter of width, at least 16"),
    {0}};

const struct sl_arch sl_arch_tsa = {
    .name = "tsa",
    .paper = "Adaptive Computation Depth via Learned Token Routing in Transformers, 2026",
    .summary = "routers gate each token's part in every block after the first",
    .hypers = hypers,
    .saving = SL_SAVES_BY_GATES,
    .policy = {.gate = SL_GATE_MIXED, .gate_limit = 0.9f},
    .tasks = SL_COMPLETES | SL_CLASSIFIES,
    .size = sizeof(struct tsa),
    .build = tsa_build,
    .forward = tsa_forward,
};
