/* dataloader.c - chooses a kind of dataloader, and lets it do what differs. */
#include "train/dataloader.h"

#include "tokenizer/tokenizer.h"

#include <stdlib.h>

static bool make_room(struct sl_dataloader *d, struct sl_err *err)
{
    size_t examples = (size_t)sl_dataloader_micro_examples(d);
    size_t rows = examples * (size_t)sl_dataloader_example_rows(d);
    d->ids = calloc(rows, sizeof *d->ids);
    d->targets = calloc(rows, sizeof *d->targets);
    d->labels = calloc(examples, sizeof *d->labels);
    d->sequences = calloc(examples, sizeof *d->sequences);
    if (d->ids && d->targets && d->labels && d->sequences)
        return true;
    return sl_fail(err, SL_NO_MEMORY, "no memory for a micro-batch of %zu rows", rows);
}

/* Epochs are steps as soon as it is known how many an epoch has. */
static bool count_steps(const struct sl_dataloader *d, struct sl_hyperparameters *hyperparameters,
                        struct sl_err *err)
{
    int per_epoch = sl_dataloader_epoch_steps(d);
    int64_t steps = (int64_t)hyperparameters->epochs * per_epoch;
    if (hyperparameters->epochs == 0)
        return true;
    if (per_epoch == 0)
        return sl_fail(err, SL_BAD_INPUT,
                       "invalid epochs '%d': a plain text has no epochs; set steps instead",
                       hyperparameters->epochs);
    if (steps > INT32_MAX)
        return sl_fail(err, SL_BAD_INPUT, "%d epochs make %lld steps: expected at most %d",
                       hyperparameters->epochs, (long long)steps, INT32_MAX);
    hyperparameters->steps = (int)steps;
    return true;
}

static const struct sl_dataloader_kind *kind_of(const struct sl_data_sources *sources,
                                                const struct sl_hyperparameters *h)
{
    if (sources->translates)
        return &sl_dataloader_translation;
    if (sources->data)
        return &sl_dataloader_labelled;
    if (sources->prompt_separator)
        return &sl_dataloader_completions;
    bool corrupts = h->mask_fraction > 0.0f || h->replace_fraction > 0.0f;
    return corrupts ? &sl_dataloader_pretraining : &sl_dataloader_text;
}

enum sl_task sl_dataloader_task(const struct sl_data_sources *sources,
                                const struct sl_hyperparameters *hyperparameters)
{
    return kind_of(sources, hyperparameters)->task;
}

bool sl_dataloader_open(struct sl_dataloader *d, const struct sl_data_sources *sources,
                        struct sl_config *config, struct sl_hyperparameters *hyperparameters,
                        struct sl_err *err)
{
    *d = (struct sl_dataloader){.kind = kind_of(sources, hyperparameters),
                                .hyperparameters = hyperparameters,
                                .tokens = sources->tokens,
                                .context = config->context_length,
                                .epoch = -1};
    config->task = d->kind->task;
    if (!sl_hyperparameters_check_task(hyperparameters, d->kind->task, err))
        return false;
    if (!d->kind->open(d, sources, config, err))
        return false;
    config->vocab = sl_tokenizer_size(d->tokens);
    config->padding_token = 1 + sl_tokenizer_special(d->tokens, SL_SPECIAL_PAD);
    return count_steps(d, hyperparameters, err) && make_room(d, err);
}

void sl_dataloader_close(struct sl_dataloader *d)
{
    sl_tokenizer_destroy(d->tokens);
    sl_completions_close(&d->lines);
    sl_completions_close(&d->validation_lines);
    sl_corpus_close(&d->corpus);
    sl_documents_close(&d->documents);
    sl_occurrences_close(&d->occurrences);
    sl_dataset_close(&d->train);
    sl_dataset_close(&d->validation);
    sl_dataset_close(&d->translations);
    sl_dataset_close(&d->validation_translations);
    free(d->order);
    free(d->crop);
    free(d->label_weights);
    free(d->passages);
    free(d->masked_rows);
    free(d->shuffled);
    free(d->replaced);
    free(d->ids);
    free(d->targets);
    free(d->labels);
    free(d->sequences);
    *d = (struct sl_dataloader){0};
}

struct sl_batch sl_dataloader_batch(struct sl_dataloader *d, int step, int first, int last)
{
    struct sl_batch batch = {
        .tokens = d->ids, .targets = d->targets, .labels = d->labels, .sequences = d->sequences};
    d->kind->fill(d, &batch, step, first, last);
    return batch;
}

bool sl_dataloader_evaluate(const struct sl_dataloader *d, const struct sl_model *model,
                            const struct sl_policy *policy, struct sl_evaluation *out,
                            struct sl_err *err)
{
    return d->kind->evaluate(d, model, policy, out, err);
}

int64_t sl_dataloader_fingerprint(const struct sl_dataloader *d)
{
    return d->kind->fingerprint(d);
}

char **sl_dataloader_labels(const struct sl_dataloader *d)
{
    const struct sl_labels *labels = &d->train.labels;
    char **names = labels->count > 0 ? calloc((size_t)labels->count, sizeof *names) : NULL;
    for (int i = 0; names && i < labels->count; i++)
        names[i] = labels->list[i].name;
    return names;
}
