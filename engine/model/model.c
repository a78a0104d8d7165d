/* model.c - a checkpoint, opened: verified, bound, packed, and from then on read-only. */
#include "sluice/model.h"

#include "checkpoint/checkpoint.h"
#include "model/net.h"

#include <stdlib.h>
#include <string.h>

static struct sl_model *from_checkpoint(struct sl_engine *engine, struct sl_checkpoint *c,
                                        struct sl_err *err)
{
    struct sl_model *m = sl_net_create(engine, c->card.arch, &c->card.hyper, err);
    if (!m)
        return NULL;
    if (!sl_checkpoint_bind(c, m->saved, m->saved_count, err)) {
        sl_model_close(m);
        return NULL;
    }
    m->policy = c->card.policy;
    m->tokenizer = c->tokens;
    c->tokens = NULL;
    m->labels = c->card.labels;
    c->card.labels = NULL;
    m->created = c->created;
    memcpy(m->sha256, c->sha256, sizeof m->sha256);
    pthread_mutex_lock(&engine->lock);
    sl_net_pack(m);
    pthread_mutex_unlock(&engine->lock);
    return m;
}

struct sl_model *sl_model_open(struct sl_engine *engine, const char *directory, struct sl_err *err)
{
    struct sl_checkpoint checkpoint;
    struct sl_model *m = NULL;
    if (sl_checkpoint_open(&checkpoint, directory, err)) {
        m = from_checkpoint(engine, &checkpoint, err);
        sl_checkpoint_close(&checkpoint);
    }
    if (!m)
        sl_wrap(err, "open '%s'", directory);
    return m;
}

void sl_model_close(struct sl_model *m)
{
    if (!m)
        return;
    sl_tokenizer_destroy(m->tokenizer);
    for (int i = 0; m->labels && i < m->config.classes; i++)
        free(m->labels[i]);
    free(m->labels);
    sl_arena_release(&m->structs);
    sl_arena_release(&m->values);
    sl_arena_release(&m->packed);
    sl_arena_release(&m->grads);
    free(m);
}

struct sl_model_facts sl_model_facts(const struct sl_model *m)
{
    return (struct sl_model_facts){.architecture = m->arch->name,
                                   .paper = m->arch->paper,
                                   .sha256 = m->sha256,
                                   .task = m->config.task,
                                   .classes = m->config.classes,
                                   .labels = (const char *const *)m->labels,
                                   .context = m->config.context,
                                   .vocab = m->config.vocab,
                                   .depth = m->config.depth,
                                   .width = m->config.width,
                                   .parameters = sl_net_parameters(m),
                                   .created = m->created,
                                   .gate = sl_policy_name(m)};
}

const struct sl_tokenizer *sl_model_tokenizer(const struct sl_model *m)
{
    return m->tokenizer;
}
