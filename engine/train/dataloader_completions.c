/* dataloader_completions.c - lines of a text that are a prompt and a completion: all of the train
 * part in each epoch, all of the validation part to measure on. */
#include "train/dataloader_kind.h"

#include <stdlib.h>

static bool lines_open(struct sl_dataloader *d, const struct sl_data_sources *sources,
                       struct sl_err *err)
{
    const struct sl_completion_form form = {d->tokens, sources->prompt_separator, d->context};
    return sl_completions_open(&d->lines, &d->corpus, d->parts[SL_TRAIN], &form, err) &&
           sl_completions_open(&d->validation_lines, &d->corpus, d->parts[SL_VALIDATION], &form,
                               err);
}

static bool completions_open(struct sl_dataloader *d, const struct sl_data_sources *sources,
                             struct sl_config *config, struct sl_err *err)
{
    if (!sl_dataloader_text.open(d, sources, config, err))
        return false;
    if (!lines_open(d, sources, err))
        return sl_wrap_file(err, sources->corpus, 0);
    d->order = malloc((size_t)d->lines.count * sizeof *d->order);
    return d->order || sl_fail(err, SL_NO_MEMORY, "no memory for %d examples", d->lines.count);
}

static int epoch_examples(const struct sl_dataloader *d)
{
    return d->lines.count;
}

/* The scales are those of the whole batch, whatever the micro-batch. */
static void completions_fill(struct sl_dataloader *d, struct sl_batch *batch, int step, int first,
                             int last)
{
    const int32_t *order = sl_dataloader_order(d, step);
    int rows = 0, predicted = 0;
    for (int i = 0; i < sl_dataloader_examples(d, step); i++) {
        const struct sl_completion *line = &d->lines.list[order[i]];
        batch->row_base = i == first ? rows : batch->row_base;
        rows += line->rows;
        predicted += line->rows - line->prompt;
    }
    batch->loss_scale = 1.0f / (float)predicted;
    batch->row_scale = 1.0f / (float)rows;
    for (int i = first; i < last; i++) {
        int count = sl_completions_copy(&d->lines, order[i], d->ids + batch->rows,
                                        d->targets + batch->rows);
        d->sequences[batch->count++] = (struct sl_sequence){.first = batch->rows, .rows = count};
        batch->rows += count;
    }
}

static bool completions_evaluate(const struct sl_dataloader *d, const struct sl_model *model,
                                 const struct sl_policy *policy, struct sl_evaluation *out,
                                 struct sl_err *err)
{
    return sl_evaluate_completions(model, &d->validation_lines, policy, out, err);
}

/* Of the text, and of where the completions begin. */
static int64_t completions_mark(const struct sl_dataloader *d)
{
    return sl_dataloader_text.fingerprint(d) ^
           sl_fingerprint(d->lines.list, (size_t)d->lines.count * sizeof *d->lines.list);
}

const struct sl_dataloader_kind sl_dataloader_completions = {.task = SL_TASK_COMPLETION,
                                                             .open = completions_open,
                                                             .epoch_examples = epoch_examples,
                                                             .fill = completions_fill,
                                                             .evaluate = completions_evaluate,
                                                             .fingerprint = completions_mark};
