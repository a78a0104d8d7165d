/* dataloader_translation.c - texts and their translations, each pair once per epoch, shuffled anew
 * for every epoch. The two columns of a file are two data sets of as many texts. */
#include "tokenizer/tokenizer.h"
#include "train/dataloader_kind.h"
#include "train/translation_pairs.h"

#include <stdlib.h>
#include <string.h>

static bool open_sets(struct sl_dataloader *d, const struct sl_data_sources *s, struct sl_err *err)
{
    const struct sl_hyperparameters *h = d->hyperparameters;
    const double share = (double)h->validation_fraction;
    const uint64_t seed = (uint64_t)h->seed;
    const struct sl_pair_columns columns = {s->source, s->target};
    if (!sl_dataset_open_pairs(&d->train, &d->translations, s->data, &s->columns, columns, err))
        return false;
    if (s->validation)
        return sl_dataset_open_pairs(&d->validation, &d->validation_translations, s->validation,
                                     &s->columns, columns, err);
    return sl_dataset_split(&d->train, share, seed, &d->validation, err) &&
           sl_dataset_split(&d->translations, share, seed, &d->validation_translations, err);
}

/* One vocabulary of both languages, learnt from the training texts. */
static bool find_tokens(struct sl_dataloader *d, const struct sl_data_sources *s,
                        struct sl_err *err)
{
    struct sl_tokenizer_options how;
    if (!sl_dataloader_vocabulary(d, s, "wordpiece", &how, err))
        return false;
    if (d->tokens)
        return true;
    struct sl_tokenizer_trainer *trainer = sl_tokenizer_trainer_create(&how, err);
    if (trainer && sl_tokenizer_trainer_add(trainer, d->train.text, d->train.text_bytes, err) &&
        sl_tokenizer_trainer_add(trainer, d->translations.text, d->translations.text_bytes, err))
        d->tokens = sl_tokenizer_trainer_finish(trainer, err);
    sl_tokenizer_trainer_destroy(trainer);
    return d->tokens;
}

/* A translation begins and ends with tokens of its own. */
static bool check_tokens(const struct sl_tokenizer *tokens, struct sl_err *err)
{
    return (sl_tokenizer_special(tokens, SL_SPECIAL_BEGIN) >= 0 &&
            sl_tokenizer_special(tokens, SL_SPECIAL_END) >= 0) ||
           sl_fail_value(err, "tokenizer", sl_tokenizer_kind(tokens),
                         "translations begin and end with tokens of its own, as those of "
                         "'wordpiece' do");
}

static bool translation_open(struct sl_dataloader *d, const struct sl_data_sources *s,
                             struct sl_config *config, struct sl_err *err)
{
    struct sl_dataset *const sets[] = {&d->train, &d->translations, &d->validation,
                                       &d->validation_translations};
    const struct sl_dataset_encoding encoding = {.context = config->context_length,
                                                 .truncation = SL_TRUNCATE_RIGHT,
                                                 .unknown = SL_UNKNOWN_REPLACE};
    if (!open_sets(d, s, err) || !find_tokens(d, s, err) || !check_tokens(d->tokens, err))
        return false;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (!sl_dataset_encode(sets[i], d->tokens, &encoding, err))
            return false;
    d->order = malloc((size_t)d->train.count * sizeof *d->order);
    return d->order || sl_fail(err, SL_NO_MEMORY, "no memory for %d examples", d->train.count);
}

static int epoch_examples(const struct sl_dataloader *d)
{
    return d->train.count;
}

/* Rows of the first examples of an order, so many; or of their translations, of which the last
 * token is only a target. */
static int sources_until(const struct sl_dataloader *d, const int32_t *order, int last)
{
    int rows = 0;
    for (int i = 0; i < last; i++)
        rows += d->train.examples[order[i]].tokens;
    return rows;
}

static int targets_until(const struct sl_dataloader *d, const int32_t *order, int last)
{
    int rows = 0;
    for (int i = 0; i < last; i++)
        rows += d->translations.examples[order[i]].tokens - 1;
    return rows;
}

static void translation_fill(struct sl_dataloader *d, struct sl_batch *batch, int step, int first,
                             int last)
{
    const int32_t *order = sl_dataloader_order(d, step);
    const int examples = sl_dataloader_examples(d, step);
    const int targets = targets_until(d, order, examples);
    batch->labels = NULL;
    batch->label_smoothing = d->hyperparameters->label_smoothing;
    batch->source_base = sources_until(d, order, first);
    batch->row_base = batch->source_base + targets_until(d, order, first);
    batch->loss_scale = 1.0f / (float)targets;
    batch->row_scale = 1.0f / (float)(sources_until(d, order, examples) + targets);
    for (int i = first; i < last; i++)
        sl_translation_append(batch, d->ids, d->targets, d->sequences,
                              &(struct sl_translation){&d->train, &d->translations, order[i]});
}

static bool translation_evaluate(const struct sl_dataloader *d, const struct sl_model *model,
                                 const struct sl_policy *policy, struct sl_evaluation *out,
                                 struct sl_err *err)
{
    return sl_evaluate_translations(model, &d->validation, &d->validation_translations, policy, out,
                                    err);
}

static int64_t translation_mark(const struct sl_dataloader *d)
{
    const struct sl_dataset *const sets[] = {&d->train, &d->translations, &d->validation,
                                             &d->validation_translations};
    uint64_t mark = 0;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        mark = mark * 31 +
               (uint64_t)sl_fingerprint(sets[i]->ids, sets[i]->ids_count * sizeof *sets[i]->ids);
    return (int64_t)(mark >> 1);
}

const struct sl_dataloader_kind sl_dataloader_translation = {.task = SL_TASK_TRANSLATION,
                                                             .texts = 2,
                                                             .open = translation_open,
                                                             .epoch_examples = epoch_examples,
                                                             .fill = translation_fill,
                                                             .evaluate = translation_evaluate,
                                                             .fingerprint = translation_mark};
