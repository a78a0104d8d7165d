/* evaluate_translations.c - predicts each token of given translations from those before it. */
#include "train/evaluate_translations.h"

#include "base/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS = 16 }; /* at a time */

struct evaluation {
    const struct sl_model *model;
    const struct sl_dataset *source, *target;
    struct sl_tape tape;
    int32_t *tokens, *targets, *layers_used;
    struct sl_sequence sequences[PAIRS];
};

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

static struct sl_batch gather(struct evaluation *e, int first)
{
    struct sl_batch batch = {
        .tokens = e->tokens, .targets = e->targets, .sequences = e->sequences, .loss_scale = 1.0f};
    for (int i = first; i < e->source->count && i < first + PAIRS; i++)
        sl_translation_append(&batch, e->tokens, e->targets, e->sequences,
                              &(struct sl_translation){e->source, e->target, i});
    memset(e->layers_used, 0, (size_t)batch.rows * sizeof *e->layers_used);
    return batch;
}

/* A tape for pairs of any length. */
static bool start(struct evaluation *e, const struct sl_policy *policy, struct sl_err *err)
{
    const int context = e->model->config.context_length;
    const size_t rows = PAIRS * 2 * (size_t)context;
    struct sl_batch largest = {.sequences = e->sequences, .rows = (int)rows, .count = PAIRS};
    e->tokens = calloc(rows, sizeof *e->tokens);
    e->targets = calloc(rows, sizeof *e->targets);
    e->layers_used = calloc(rows, sizeof *e->layers_used);
    if (!e->tokens || !e->targets || !e->layers_used)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %zu rows", rows);
    for (int i = 0; i < PAIRS; i++)
        e->sequences[i] =
            (struct sl_sequence){.first = 2 * context * i, .rows = 2 * context, .source = context};
    largest.tokens = e->tokens;
    largest.targets = e->targets;
    if (!sl_model_open_tape(e->model, policy, &largest, &e->tape, err))
        return false;
    e->tape.stats.layers_used = e->layers_used;
    return true;
}

static void measure(struct evaluation *e, struct sl_evaluation *out)
{
    struct sl_forward_stats sum = {0};
    int64_t layers = 0;
    for (int i = 0; i < e->source->count; i += PAIRS) {
        const struct sl_batch batch = gather(e, i);
        sl_tape_begin(&e->tape, &batch, false);
        (void)sl_model_forward(e->model, &e->tape);
        sl_forward_stats_add(&sum, &e->tape.stats);
        for (int r = 0; r < batch.rows; r++) {
            layers += e->layers_used[r];
            out->examples += e->targets[r] >= 0;
        }
        out->tokens += batch.rows;
    }
    out->accuracy = (double)NAN;
    out->loss = sum.loss / (double)out->examples;
    sl_evaluation_set_means(out, &sum, e->source->count);
    out->layers_mean = (double)layers / (double)out->tokens;
}

bool sl_evaluate_translations(const struct sl_model *model, const struct sl_dataset *source,
                              const struct sl_dataset *target, const struct sl_policy *policy,
                              struct sl_evaluation *out, struct sl_err *err)
{
    struct evaluation e = {.model = model, .source = source, .target = target};
    const double begun = sl_now_seconds();
    *out = (struct sl_evaluation){0};
    bool ok = start(&e, policy ? policy : &model->policy, err);
    if (ok)
        measure(&e, out);
    sl_tape_release(&e.tape);
    free(e.tokens);
    free(e.targets);
    free(e.layers_used);
    ok = ok &&
         (isfinite(out->loss) || sl_fail(err, SL_NOT_FINITE, "the model produced NaN or infinity"));
    out->seconds = sl_now_seconds() - begun;
    return ok || sl_wrap(err, "evaluate");
}
