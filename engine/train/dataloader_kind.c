/* dataloader_kind.c - what the kinds of dataloaders share: the vocabulary and a batch's shape. */
#include "train/dataloader_kind.h"

#include "base/int_math.h"
#include "base/sha256.h"
#include "formats/vocabulary.h"
#include "tokenizer/tokenizer_kinds.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int64_t sl_fingerprint(const void *data, size_t bytes)
{
    char hex[65];
    sl_sha256_hex(data, bytes, hex);
    hex[15] = '\0';
    return (int64_t)strtoull(hex, NULL, 16);
}

bool sl_dataloader_vocabulary(struct sl_dataloader *d, const struct sl_data_sources *s,
                              const char *default_kind, struct sl_tokenizer_options *how,
                              struct sl_err *err)
{
    if (d->tokens)
        return true;
    const char *kind = s->tokenizer ? s->tokenizer : s->vocabulary ? "wordpiece" : default_kind;
    if (!sl_tokenizer_kind_find(kind, err))
        return false;
    if ((s->vocabulary_size || s->cased) && !sl_vocabulary_splits(kind))
        return sl_fail(err, SL_BAD_INPUT, "invalid %s: it has no effect with the tokenizer '%s'",
                       s->cased ? "cased" : "vocab_size", kind);
    if (s->vocabulary_size && s->vocabulary)
        return sl_fail(err, SL_BAD_INPUT,
                       "invalid vocab_size '%d': it has no effect with the vocabulary file '%s'",
                       s->vocabulary_size, s->vocabulary);
    *how = (struct sl_tokenizer_options){.kind = kind,
                                         .size = s->vocabulary_size ? s->vocabulary_size
                                                                    : SL_VOCAB_SIZE_DEFAULT,
                                         .lower = !s->cased};
    if (s->vocabulary)
        d->tokens = sl_vocabulary_open(kind, how->lower, s->vocabulary, err);
    return d->tokens || !s->vocabulary;
}

int sl_dataloader_epoch_steps(const struct sl_dataloader *d)
{
    const int batch_size = d->hyperparameters->batch_size;
    assert(batch_size > 0);
    return d->kind->epoch_examples ? sl_ceil_div(d->kind->epoch_examples(d), batch_size) : 0;
}

int sl_dataloader_examples(const struct sl_dataloader *d, int step)
{
    const int most = d->hyperparameters->batch_size;
    if (!d->kind->epoch_examples)
        return most;
    const int steps = sl_dataloader_epoch_steps(d);
    assert(steps > 0);
    return sl_min(d->kind->epoch_examples(d) - step % steps * most, most);
}

const int32_t *sl_dataloader_order(struct sl_dataloader *d, int step)
{
    const int steps = sl_dataloader_epoch_steps(d);
    assert(steps > 0);
    const int epoch = step / steps;
    if (d->epoch != epoch)
        sl_dataset_order((uint64_t)d->hyperparameters->seed, (uint64_t)epoch,
                         d->kind->epoch_examples(d), d->order);
    d->epoch = epoch;
    return d->order + (ptrdiff_t)(step % steps) * d->hyperparameters->batch_size;
}

int sl_dataloader_example_rows(const struct sl_dataloader *d)
{
    return d->context * (d->kind->texts ? d->kind->texts : 1);
}

int sl_dataloader_micro_examples(const struct sl_dataloader *d)
{
    const struct sl_hyperparameters *r = d->hyperparameters;
    return sl_min(r->micro_batch_size, r->batch_size);
}

void sl_dataloader_append(struct sl_dataloader *d, struct sl_batch *batch, const int32_t *tokens,
                          int count)
{
    d->sequences[batch->count++] = (struct sl_sequence){.first = batch->rows, .rows = count};
    memcpy(d->ids + batch->rows, tokens, (size_t)count * sizeof *tokens);
    batch->rows += count;
}

struct sl_batch sl_dataloader_largest_batch(struct sl_dataloader *d)
{
    struct sl_batch batch = {.tokens = d->ids,
                             .targets = d->targets,
                             .labels = d->labels,
                             .sequences = d->sequences,
                             .loss_scale = 1.0f,
                             .row_scale = 1.0f};
    for (int i = 0; i < sl_dataloader_micro_examples(d); i++) {
        const int rows = sl_dataloader_example_rows(d);
        d->sequences[batch.count++] =
            (struct sl_sequence){.first = batch.rows, .rows = rows, .source = rows - d->context};
        batch.rows += rows;
    }
    if (d->kind->enlarge)
        d->kind->enlarge(d, &batch);
    return batch;
}
