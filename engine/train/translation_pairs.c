/* translation_pairs.c - a text and its translation as one sequence of a batch. */
#include "train/translation_pairs.h"

#include <string.h>

void sl_translation_append(struct sl_batch *batch, int32_t *ids, int32_t *targets,
                           struct sl_sequence *sequences, const struct sl_translation *pair)
{
    int from_count, to_count;
    const int32_t *from = sl_dataset_ids(pair->source, pair->number, &from_count);
    const int32_t *to = sl_dataset_ids(pair->target, pair->number, &to_count);
    const int at = batch->rows, rows = to_count - 1;
    memcpy(ids + at, from, (size_t)from_count * sizeof *ids);
    memcpy(ids + at + from_count, to, (size_t)rows * sizeof *ids);
    for (int i = 0; i < from_count; i++)
        targets[at + i] = -1;
    memcpy(targets + at + from_count, to + 1, (size_t)rows * sizeof *targets);
    sequences[batch->count++] =
        (struct sl_sequence){.first = at, .rows = from_count + rows, .source = from_count};
    batch->rows += from_count + rows;
}
