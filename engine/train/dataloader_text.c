/* dataloader_text.c - windows of a text: random ones to train on, all of a part to measure on. */
#include "data/token_windows.h"
#include "train/dataloader_kind.h"

#include <string.h>

static bool text_open(struct sl_dataloader *d, const struct sl_data_sources *sources,
                      struct sl_config *config, struct sl_err *err)
{
    const struct sl_hyperparameters *r = d->hyperparameters;
    struct sl_split_fractions shares = {(double)r->train_fraction, (double)r->validation_fraction};
    struct sl_tokenizer_options how;
    if (r->train_fraction + r->validation_fraction > 1.0f)
        return sl_fail(
            err, SL_BAD_INPUT,
            "train_fraction and validation_fraction are %g and %g: expected at most 1 together",
            (double)r->train_fraction, (double)r->validation_fraction);
    if (!sl_dataloader_vocabulary(d, sources, "characters", &how, err))
        return false;
    if (!d->tokens)
        d->tokens = sl_corpus_train_tokenizer(sources->corpus, &how, err);
    return d->tokens && sl_corpus_open(&d->corpus, sources->corpus, d->tokens, err) &&
           (sl_corpus_split(&d->corpus, shares, config->context_length, d->parts, err) ||
            sl_wrap_file(err, sources->corpus, 0));
}

static void text_fill(struct sl_dataloader *d, struct sl_batch *batch, int step, int first,
                      int last)
{
    uint64_t key = sl_window_key((uint64_t)d->hyperparameters->seed, (uint64_t)step);
    batch->row_base = first * d->context;
    batch->loss_scale = batch->row_scale =
        1.0f / (float)(d->hyperparameters->batch_size * d->context);
    for (int i = first; i < last; i++) {
        struct sl_window w = sl_window_random(d->parts[SL_TRAIN], d->context, key, (uint64_t)i);
        memcpy(d->targets + batch->rows, w.targets, (size_t)w.rows * sizeof *w.targets);
        sl_dataloader_append(d, batch, w.tokens, w.rows);
    }
}

static bool text_evaluate(const struct sl_dataloader *d, const struct sl_model *model,
                          const struct sl_policy *policy, struct sl_evaluation *out,
                          struct sl_err *err)
{
    return sl_evaluate_corpus(model, d->parts[SL_VALIDATION], policy, out, err);
}

static int64_t text_mark(const struct sl_dataloader *d)
{
    return sl_fingerprint(d->corpus.ids, (size_t)d->corpus.count * sizeof *d->corpus.ids);
}

const struct sl_dataloader_kind sl_dataloader_text = {.task = SL_TASK_COMPLETION,
                                                      .open = text_open,
                                                      .fill = text_fill,
                                                      .evaluate = text_evaluate,
                                                      .fingerprint = text_mark};
