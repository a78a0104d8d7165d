/* dataloader_kind.c - what the kinds of dataloaders share: the vocabulary and a batch's shape. */
#include "train/dataloader_kind.h"

#include "base/int_math.h"
#include "base/sha256.h"
#include "formats/vocabulary.h"
#include "tokenizer/tokenizer_kinds.h"

#include <stdlib.h>
#include <string.h>

int64_t sl_fingerprint(const void *data, size_t bytes)
{
    char hex[65];
    sl_sha256_hex(data, bytes, hex);
    hex[15] = '\0';
    return (int64_t)strtoull(hex, NULL, 16);
}

bool sl_dataloader_vocabulary(struct sl_dataloader *m, const struct sl_data_sources *s,
                              const char *default_kind, struct sl_tokenizer_options *how,
                              struct sl_err *err)
{
    if (m->tokens)
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
        m->tokens = sl_vocabulary_open(kind, how->lower, s->vocabulary, err);
    return m->tokens || !s->vocabulary;
}

int sl_dataloader_epoch_steps(const struct sl_dataloader *m)
{
    return m->kind->epoch_examples
               ? sl_ceil_div(m->kind->epoch_examples(m), m->hyperparameters->batch_size)
               : 0;
}

int sl_dataloader_examples(const struct sl_dataloader *m, int step)
{
    const int most = m->hyperparameters->batch_size;
    if (!m->kind->epoch_examples)
        return most;
    return sl_min(m->kind->epoch_examples(m) - step % sl_dataloader_epoch_steps(m) * most, most);
}

const int32_t *sl_dataloader_order(struct sl_dataloader *m, int step)
{
    const int steps = sl_dataloader_epoch_steps(m), epoch = step / steps;
    if (m->epoch != epoch)
        sl_dataset_order((uint64_t)m->hyperparameters->seed, (uint64_t)epoch,
                         m->kind->epoch_examples(m), m->order);
    m->epoch = epoch;
    return m->order + step % steps * m->hyperparameters->batch_size;
}

int sl_dataloader_micro_examples(const struct sl_dataloader *m)
{
    const struct sl_hyperparameters *r = m->hyperparameters;
    return sl_min(r->micro_batch_size, r->batch_size);
}

void sl_dataloader_append(struct sl_dataloader *m, struct sl_batch *batch, const int32_t *tokens,
                          int count)
{
    m->sequences[batch->count++] = (struct sl_sequence){.first = batch->rows, .rows = count};
    memcpy(m->ids + batch->rows, tokens, (size_t)count * sizeof *tokens);
    batch->rows += count;
}

struct sl_batch sl_dataloader_largest_batch(struct sl_dataloader *m)
{
    struct sl_batch batch = {.tokens = m->ids,
                             .targets = m->targets,
                             .labels = m->labels,
                             .sequences = m->sequences,
                             .loss_scale = 1.0f,
                             .row_scale = 1.0f};
    for (int i = 0; i < sl_dataloader_micro_examples(m); i++) {
        m->sequences[batch.count++] = (struct sl_sequence){.first = batch.rows, .rows = m->context};
        batch.rows += m->context;
    }
    if (m->kind->enlarge)
        m->kind->enlarge(m, &batch);
    return batch;
}
