/* material_text.c - windows of a text: random ones to train on, all of a part to measure on. */
#include "data/windows.h"
#include "model/vocabulary.h"
#include "text/tokenizer.h"
#include "train/material.h"

#include <string.h>

static bool text_open(struct sl_material *m, const struct sl_sources *sources,
                      struct sl_config *config, struct sl_err *err)
{
    const struct sl_recipe *r = m->recipe;
    struct sl_shares shares = {(double)r->train_share, (double)r->validation_share};
    const char *usual = sources->vocabulary ? "wordpiece" : "characters";
    const char *kind = sources->tokenizer ? sources->tokenizer : usual;
    if (!sl_tokenizer_kind_find(kind, err))
        return false;
    const struct sl_learning how = sl_material_learning(sources, kind);
    if (!m->tokens)
        m->tokens = sources->vocabulary
                        ? sl_vocabulary_open(kind, !sources->cased, sources->vocabulary, err)
                        : sl_corpus_learn(sources->corpus, &how, err);
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
