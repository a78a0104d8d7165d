/* material_text.c - windows of a text: random ones to train on, all of a part to measure on. */
#include "data/windows.h"
#include "train/material.h"

#include <string.h>

static bool text_open(struct sl_material *m, const struct sl_sources *sources,
                      struct sl_config *config, struct sl_err *err)
{
    const struct sl_recipe *r = m->recipe;
    struct sl_shares shares = {(double)r->train_share, (double)r->validation_share};
    struct sl_learning how;
    if (r->crops > 0)
        return sl_fail(err, SL_BAD_INPUT, "crops is %d, but a text has none: labelled texts have",
                       r->crops);
    if (r->train_share + r->validation_share > 1.0f)
        return sl_fail(err, SL_BAD_INPUT,
                       "train_share and validation_share are %g and %g; together at most 1",
                       (double)r->train_share, (double)r->validation_share);
    if (!sl_material_vocabulary(m, sources, "characters", &how, err))
        return false;
    if (!m->tokens)
        m->tokens = sl_corpus_learn(sources->corpus, &how, err);
    return m->tokens && sl_corpus_open(&m->corpus, sources->corpus, m->tokens, err) &&
           sl_corpus_split(&m->corpus, shares, config->context, m->parts, err);
}

static int text_epoch_steps(const struct sl_material *m)
{
    (void)m;
    return 0;
}

static int text_examples(const struct sl_material *m, int step)
{
    (void)step;
    return m->recipe->batch;
}

static void text_fill(struct sl_material *m, struct sl_batch *batch, int step, int first, int last)
{
    uint64_t key = sl_window_key((uint64_t)m->recipe->seed, (uint64_t)step);
    batch->row_base = first * m->context;
    batch->loss_scale = batch->row_scale = 1.0f / (float)(m->recipe->batch * m->context);
    for (int i = first; i < last; i++) {
        struct sl_window w = sl_window_random(m->parts[SL_TRAIN], m->context, key, (uint64_t)i);
        memcpy(m->targets + batch->rows, w.targets, (size_t)w.rows * sizeof *w.targets);
        sl_material_append(m, batch, w.tokens, w.rows);
    }
}

static bool text_evaluate(const struct sl_material *m, const struct sl_model *model,
                          const struct sl_policy *policy, struct sl_evaluation *out,
                          struct sl_err *err)
{
    return sl_evaluate(model, m->parts[SL_VALIDATION], policy, out, err);
}

static int64_t text_mark(const struct sl_material *m)
{
    return sl_mark_of(m->corpus.ids, (size_t)m->corpus.count * sizeof *m->corpus.ids);
}

const struct sl_material_kind sl_material_text = {.task = SL_TASK_COMPLETION,
                                                  .open = text_open,
                                                  .epoch_steps = text_epoch_steps,
                                                  .examples = text_examples,
                                                  .fill = text_fill,
                                                  .evaluate = text_evaluate,
                                                  .mark = text_mark};
