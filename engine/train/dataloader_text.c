/* dataloader_text.c - windows of a text: random ones to train on, all of a part to measure on. */
#include "data/token_windows.h"
#include "train/dataloader_kind.h"

#include <string.h>

static bool text_open(struct sl_dataloader *m, const struct sl_data_sources *sources,
                      struct sl_config *config, struct sl_err *err)
{
    const struct sl_hyperparameters *r = m->hyperparameters;
    struct sl_split_fractions shares = {(double)r->train_fraction, (double)r->validation_fraction};
    struct sl_tokenizer_options how;
    if (r->train_fraction + r->validation_fraction > 1.0f)
        return sl_fail(
            err, SL_BAD_INPUT,
            "train_fraction and validation_fraction are %g and %g: expected at most 1 together",
            (double)r->train_fraction, (double)r->validation_fraction);
    if (!sl_dataloader_vocabulary(m, sources, "characters", &how, err))
        return false;
    if (!m->tokens)
        m->tokens = sl_corpus_train_tokenizer(sources->corpus, &how, err);
    return m->tokens && sl_corpus_open(&m->corpus, sources->corpus, m->tokens, err) &&
           (sl_corpus_split(&m->corpus, shares, config->context_length, m->parts, err) ||
            sl_wrap_file(err, sources->corpus, 0));
}

static void text_fill(struct sl_dataloader *m, struct sl_batch *batch, int step, int first,
                      int last)
{
    uint64_t key = sl_window_key((uint64_t)m->hyperparameters->seed, (uint64_t)step);
    batch->row_base = first * m->context;
    batch->loss_scale = batch->row_scale =
        1.0f / (float)(m->hyperparameters->batch_size * m->context);
    for (int i = first; i < last; i++) {
        struct sl_window w = sl_window_random(m->parts[SL_TRAIN], m->context, key, (uint64_t)i);
        memcpy(m->targets + batch->rows, w.targets, (size_t)w.rows * sizeof *w.targets);
        sl_dataloader_append(m, batch, w.tokens, w.rows);
    }
}

static bool text_evaluate(const struct sl_dataloader *m, const struct sl_model *model,
                          const struct sl_policy *policy, struct sl_evaluation *out,
                          struct sl_err *err)
{
    return sl_evaluate_corpus(model, m->parts[SL_VALIDATION], policy, out, err);
}

static int64_t text_mark(const struct sl_dataloader *m)
{
    return sl_fingerprint(m->corpus.ids, (size_t)m->corpus.count * sizeof *m->corpus.ids);
}

const struct sl_dataloader_kind sl_dataloader_text = {.task = SL_TASK_COMPLETION,
                                                      .open = text_open,
                                                      .fill = text_fill,
                                                      .evaluate = text_evaluate,
                                                      .fingerprint = text_mark};
