/* evaluate.c - predicts a whole text, window after window, or texts one after another. */
#include "train/evaluate.h"

#include "base/clock.h"
#include "sluice/logits.h"
#include "train/translation_pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOWS = 16 }; /* at a time */

struct evaluation {
    const struct sl_model *model;
    struct sl_span part;                      /* either this */
    const struct sl_completions *completions; /* or, unless NULL, these */
    const struct sl_dataset *source, *target; /* or, unless NULL, the translations of texts */
    struct sl_tape tape;
    int32_t *tokens, *targets, *layers_used;
    struct sl_sequence sequences[WINDOWS];
    int64_t right; /* of completions */
};

static int64_t count_of(const struct evaluation *e)
{
    return e->completions ? e->completions->count
           : e->source    ? e->source->count
                          : sl_window_count(e->part, e->model->config.context_length);
}

/* Of a window, or of a text and its translation. */
static int rows_most(const struct evaluation *e)
{
    return (e->source ? 2 : 1) * e->model->config.context_length;
}

static void append(struct evaluation *e, struct sl_batch *batch, int64_t index)
{
    int32_t *tokens = e->tokens + batch->rows, *targets = e->targets + batch->rows;
    int rows = 0;
    if (e->source) {
        const struct sl_translation pair = {e->source, e->target, (int)index};
        sl_translation_append(batch, e->tokens, e->targets, e->sequences, &pair);
        return;
    }
    if (e->completions)
        rows = sl_completions_copy(e->completions, (int)index, tokens, targets);
    else {
        struct sl_window w = sl_window_at(e->part, e->model->config.context_length, index);
        memcpy(tokens, w.tokens, (size_t)w.rows * sizeof *w.tokens);
        memcpy(targets, w.targets, (size_t)w.rows * sizeof *w.targets);
        rows = w.rows;
    }
    e->sequences[batch->count++] = (struct sl_sequence){.first = batch->rows, .rows = rows};
    batch->rows += rows;
}

static struct sl_batch empty_batch(struct evaluation *e)
{
    return (struct sl_batch){
        .tokens = e->tokens, .targets = e->targets, .sequences = e->sequences, .loss_scale = 1.0f};
}

static struct sl_batch gather(struct evaluation *e, int64_t first)
{
    int64_t count = count_of(e);
    struct sl_batch batch = empty_batch(e);
    for (int64_t i = first; i < count && i < first + WINDOWS; i++)
        append(e, &batch, i);
    memset(e->layers_used, 0, (size_t)batch.rows * sizeof *e->layers_used);
    return batch;
}

/* Pairs of the longest texts that the model reads. */
static struct sl_batch largest_pairs(struct evaluation *e)
{
    struct sl_batch batch = empty_batch(e);
    for (; batch.count < WINDOWS; batch.rows += rows_most(e))
        e->sequences[batch.count++] = (struct sl_sequence){
            .first = batch.rows, .rows = rows_most(e), .source = rows_most(e) / 2};
    return batch;
}

/* The first windows are as long as any; completions are not in order. */
static struct sl_batch largest(struct evaluation *e)
{
    if (e->source)
        return largest_pairs(e);
    if (!e->completions)
        return gather(e, 0);
    struct sl_batch batch = empty_batch(e);
    for (int i = 0; i < WINDOWS; i++)
        append(e, &batch, e->completions->longest);
    return batch;
}

static void count_right(struct evaluation *e, const struct sl_tensor *logits, int rows)
{
    for (int r = 0; r < rows; r++)
        if (e->targets[r] >= 0)
            e->right += e->targets[r] == sl_argmax(sl_row(logits, r), logits->cols);
}

static void forward(struct evaluation *e, const struct sl_batch *batch)
{
    sl_tape_begin(&e->tape, batch, false);
    const struct sl_tensor *logits = sl_model_forward(e->model, &e->tape);
    if (e->completions)
        count_right(e, logits, batch->rows);
}

static bool start(struct evaluation *e, const struct sl_policy *policy, struct sl_err *err)
{
    size_t rows = WINDOWS * (size_t)rows_most(e);
    e->tokens = calloc(rows, sizeof *e->tokens);
    e->targets = calloc(rows, sizeof *e->targets);
    e->layers_used = calloc(rows, sizeof *e->layers_used);
    if (!e->tokens || !e->targets || !e->layers_used)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %zu rows", rows);
    struct sl_batch batch = largest(e);
    if (!sl_model_open_tape(e->model, policy, &batch, &e->tape, err))
        return false;
    e->tape.stats.layers_used = e->layers_used;
    return true;
}

static void finish(struct evaluation *e)
{
    sl_tape_release(&e->tape);
    free(e->tokens);
    free(e->targets);
    free(e->layers_used);
}

static double ratio(double sum, double count)
{
    return count > 0.0 ? sum / count : (double)NAN;
}

void sl_evaluation_set_means(struct sl_evaluation *e, const struct sl_forward_stats *sum,
                             int64_t texts)
{
    e->gate_mean = ratio(sum->gate_sum, sum->gate_count);
    e->gate_open_mean = ratio(sum->active_sum, sum->active_count);
    e->halting_depth = ratio(sum->depth_sum, sum->depth_count);
    e->halting_depth_first =
        sum->depth_count > 0.0 ? sum->first_depth / (double)texts : (double)NAN;
}

static void measure(struct evaluation *e, struct sl_evaluation *out)
{
    struct sl_forward_stats sum = {0};
    int64_t layers = 0, count = count_of(e);
    for (int64_t i = 0; i < count; i += WINDOWS) {
        struct sl_batch batch = gather(e, i);
        forward(e, &batch);
        sl_forward_stats_add(&sum, &e->tape.stats);
        for (int r = 0; r < batch.rows; r++) {
            layers += e->layers_used[r];
            out->examples += e->targets[r] >= 0;
        }
        out->tokens += batch.rows;
    }
    out->accuracy = e->completions ? ratio((double)e->right, (double)out->examples) : (double)NAN;
    out->loss = sum.loss / (double)out->examples;
    sl_evaluation_set_means(out, &sum, count);
    out->layers_mean = (double)layers / (double)out->tokens;
}

static bool evaluate(struct evaluation *e, const struct sl_policy *policy,
                     struct sl_evaluation *out, struct sl_err *err)
{
    double begun = sl_now_seconds();
    *out = (struct sl_evaluation){0};
    bool ok = start(e, policy ? policy : &e->model->policy, err);
    if (ok)
        measure(e, out);
    finish(e);
    ok = ok &&
         (isfinite(out->loss) || sl_fail(err, SL_NOT_FINITE, "the model produced NaN or infinity"));
    out->seconds = sl_now_seconds() - begun;
    return ok || sl_wrap(err, "evaluate");
}

bool sl_evaluate_corpus(const struct sl_model *model, struct sl_span part,
                        const struct sl_policy *policy, struct sl_evaluation *out,
                        struct sl_err *err)
{
    struct evaluation e = {.model = model, .part = part};
    *out = (struct sl_evaluation){0};
    if (part.count < 2)
        return sl_fail(err, SL_BAD_INPUT, "evaluate: %lld tokens: expected at least 2",
                       (long long)part.count);
    return evaluate(&e, policy, out, err);
}

bool sl_evaluate_completions(const struct sl_model *model, const struct sl_completions *completions,
                             const struct sl_policy *policy, struct sl_evaluation *out,
                             struct sl_err *err)
{
    struct evaluation e = {.model = model, .completions = completions};
    return evaluate(&e, policy, out, err);
}

bool sl_evaluate_translations(const struct sl_model *model, const struct sl_dataset *source,
                              const struct sl_dataset *target, const struct sl_policy *policy,
                              struct sl_evaluation *out, struct sl_err *err)
{
    struct evaluation e = {.model = model, .source = source, .target = target};
    return evaluate(&e, policy, out, err);
}
