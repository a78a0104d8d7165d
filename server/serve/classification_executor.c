/* classification_executor.c - one ragged batch after another. */
#include "serve/classification_executor.h"
#include "base/allocate.h"
#include "base/clock.h"
#include "core/limits.h"
#include "core/log.h"
#include "core/token_usage.h"

#include "sluice/explanation.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static_assert(offsetof(struct sv_classification_task, link) == 0, "it stands in queues");

/* Tasks stay in `waiting` until all their items were in a batch. */
struct executor {
    struct sv_executor base; /* its lock guards the stats too */
    struct sv_classification_options options;
    struct sv_metrics *metrics;
    struct sl_classifier *classifier;
    struct sv_series *answered; /* items by outcome: ok */
    const struct sl_model_info *info;

    struct sl_classifier_item *feeds;
    struct sv_classification_item **fed;   /* the item of each feed, */
    struct sv_classification_task **owner; /* and its task */

    struct sv_classification_stats stats;
};

/* ---- making and unmaking --------------------------------------------------------------------- */

int sv_classify_batch_tokens(int64_t configured, int context)
{
    return configured > context ? (int)configured : context;
}

int sv_classify_outputs(const struct sl_model_info *info)
{
    const enum sl_output output = sl_model_main_output(info);
    return output < SL_OUTPUTS ? info->output_size[output] : 0;
}

int sv_classify_batch_max(int outputs, bool in_slices)
{
    return (in_slices ? SV_EMBEDDED_MAX : SV_SCORES_MAX) / outputs;
}

static struct sv_series *outcome_series(const struct executor *executor, enum sv_error_kind kind)
{
    const struct sv_model_ref *ref = executor->base.ref;
    const char *labels[] = {ref->name, ref->version, sv_error_reason(kind)};
    return sv_metrics_series(executor->metrics, SV_METRIC_ITEMS, labels);
}

static void destroy(struct sv_executor *base)
{
    struct executor *executor = (struct executor *)base;
    sl_classifier_destroy(executor->classifier);
    free(executor->feeds);
    free(executor->fed);
    free(executor->owner);
    free(executor->stats.by_size);
    sv_executor_release(base);
    free(executor);
}

static bool allocate(struct executor *executor, struct sl_err *err)
{
    size_t items = (size_t)executor->options.max_batch_size;
    executor->feeds = calloc(items, sizeof *executor->feeds);
    executor->fed = calloc(items, sizeof(struct sv_classification_item *));
    executor->owner = calloc(items, sizeof(struct sv_classification_task *));
    executor->stats.by_size = calloc(items + 1, sizeof *executor->stats.by_size);
    executor->stats.size_max = executor->options.max_batch_size;
    if (!executor->feeds || !executor->fed || !executor->owner || !executor->stats.by_size)
        return sl_fail(err, SL_NO_MEMORY, "%d items", executor->options.max_batch_size);
    const struct sl_classifier_options options = {
        .max_batch_size = executor->options.max_batch_size,
        .max_batch_tokens = executor->options.max_batch_tokens};
    executor->classifier = sl_classifier_create(executor->base.ref->model, &options, err);
    return executor->classifier;
}

struct sv_executor *sv_classification_executor_create(
    struct sv_model_ref *ref, const struct sv_classification_options *options,
    struct sv_metrics *metrics, struct sl_err *err)
{
    const struct sl_model_info *info = sl_model_info(ref->model);
    assert(sv_classify_outputs(info) > 0);
    assert(options->max_batch_size >= 1);
    assert(options->max_batch_size <= SV_CLASSIFY_BATCH_MAX);
    struct executor *executor = sl_new(sizeof *executor, "a classification executor", err);
    if (!executor)
        return NULL;
    executor->options = *options;
    executor->options.max_batch_tokens =
        sv_classify_batch_tokens(options->max_batch_tokens, info->context);
    executor->metrics = metrics;
    executor->info = info;
    sv_executor_init(&executor->base, &sv_classification_executor_ops, ref, &options->bounds,
                     metrics);
    executor->answered = outcome_series(executor, SV_OK);
    if (!allocate(executor, err)) {
        (void)sl_wrap(err, "classifier '%s'", ref->id);
        destroy(&executor->base);
        return NULL;
    }
    return &executor->base;
}

/* ---- for other threads ----------------------------------------------------------------------- */

void sv_classification_executor_push(struct sv_executor *executor,
                                     struct sv_classification_task *task)
{
    assert(executor->kind == &sv_classification_executor_ops);
    assert(task->count > 0);
    task->request = sv_request_acquire(task->request);
    task->queued_ns = sl_now_ns();
    task->taken = 0;
    task->remaining = task->count;
    pthread_mutex_lock(&executor->lock);
    sv_queue_push(&executor->arrived, task);
    pthread_mutex_unlock(&executor->lock);
}

bool sv_classification_executor_stats(struct sv_executor *base,
                                      struct sv_classification_stats *stats)
{
    struct executor *executor = (struct executor *)base;
    assert(base->kind == &sv_classification_executor_ops);
    size_t sizes = (size_t)executor->options.max_batch_size + 1;
    struct sv_duration *by_size = calloc(sizes, sizeof *by_size);
    if (!by_size)
        return false;
    pthread_mutex_lock(&base->lock);
    *stats = executor->stats;
    memcpy(by_size, executor->stats.by_size, sizes * sizeof *by_size);
    pthread_mutex_unlock(&base->lock);
    stats->by_size = by_size;
    return true;
}

/* ---- endings --------------------------------------------------------------------------------- */

static void count_duration(struct sv_duration *duration, int64_t ns)
{
    duration->count++;
    duration->ns += ns;
}

static void record_task(struct executor *executor, const struct sv_classification_task *task)
{
    int64_t all = task->finished_ns - task->request->received_ns;
    sv_executor_record_end(&executor->base, task->request, task->started_ns, task->finished_ns);
    struct sv_classification_stats *stats = &executor->stats;
    bool ok = task->error.kind == SV_OK;
    pthread_mutex_lock(&executor->base.lock);
    count_duration(ok ? &stats->success : &stats->fail, all);
    if (ok) {
        count_duration(&stats->queue, task->started_ns - task->queued_ns);
        count_duration(&stats->encode, task->encoded_ns);
        count_duration(&stats->compute, task->finished_ns - task->started_ns);
    }
    pthread_mutex_unlock(&executor->base.lock);
}

/* A request fails with the first of its items that is not finite. */
static void fail_if_not_finite(struct sv_classification_task *task)
{
    int i = 0;
    while (i < task->count && task->items[i].finite)
        i++;
    if (i == task->count || task->error.kind != SV_OK)
        return;
    (void)sv_fail(&task->error, SV_INTERNAL, NULL,
                  "The model produced NaN or infinity for text %d of this request.",
                  task->items[i].text);
    task->error.permanent = true;
}

/* After the last item the task belongs to its request again. */
static void finish_task(struct executor *executor, struct sv_classification_task *task)
{
    struct sv_request *request = task->request;
    task->finished_ns = sl_now_ns();
    fail_if_not_finite(task);
    record_task(executor, task);
    atomic_store(&task->finished, true);
    sv_request_wake(request);
    sv_request_release(request);
}

/* Whether it is a text of the request, not one without a word, which only explains a text. */
static bool is_text(const struct sv_classification_task *task,
                    const struct sv_classification_item *item)
{
    return item - task->items == item->text;
}

/* Counts a text's outcome. The item may be gone afterwards; after the last one, the task too. */
static void end_item(struct executor *executor, struct sv_classification_task *task,
                     const struct sv_classification_item *item, enum sv_error_kind kind)
{
    if (is_text(task, item))
        sv_metric_add(kind == SV_OK ? executor->answered : outcome_series(executor, kind), 1);
    sv_admission_complete(&executor->base.admission, item->cost);
    assert(task->remaining > 0);
    if (--task->remaining == 0)
        finish_task(executor, task);
}

static bool must_end(struct sv_classification_task *task, const struct sv_error *ending,
                     int64_t now)
{
    return sv_request_must_stop(task->request, task->deadline_ns, ending, now, &task->error);
}

/* Ends the items of a task that were in no batch. The task has left its queue. */
static void drop(struct executor *executor, struct sv_classification_task *task)
{
    int first = task->taken, count = task->count;
    const struct sv_classification_item *items = task->items;
    task->taken = count;
    for (int i = first; i < count; i++)
        end_item(executor, task, &items[i], task->error.kind);
}

static void sweep(struct sv_executor *base, const struct sv_error *ending)
{
    struct executor *executor = (struct executor *)base;
    int64_t now = sl_now_ns();
    struct sv_queue before = base->waiting;
    base->waiting = (struct sv_queue){0};
    for (struct sv_classification_task *task; (task = sv_queue_pop(&before));)
        if (must_end(task, ending, now))
            drop(executor, task);
        else
            sv_queue_push(&base->waiting, task);
    sv_executor_record_queue(base);
}

/* ---- one batch ------------------------------------------------------------------------------- */

static int64_t oldest_ns(const struct sv_executor *base)
{
    const struct sv_link *first = base->waiting.first;
    return first ? ((const struct sv_classification_task *)first)->queued_ns : INT64_MAX;
}

static void feed(struct executor *executor, struct sv_classification_task *task, int index,
                 int64_t now)
{
    struct sv_classification_item *item = &task->items[task->taken++];
    executor->feeds[index] = (struct sl_classifier_item){.tokens = item->tokens,
                                                         .types = item->types,
                                                         .count = item->count,
                                                         .operating_point = task->operating_point,
                                                         .output = task->output,
                                                         .wants_gates = item->gates,
                                                         .both_parts = task->both_parts};
    executor->fed[index] = item;
    executor->owner[index] = task;
    if (task->started_ns > 0)
        return;
    task->started_ns = now;
    sv_executor_record_start(&executor->base, task->queued_ns, now);
}

/* As many items as fit, first come first served. Cancelled and expired tasks are dropped. */
static int build_batch(struct executor *executor, int64_t now)
{
    int count = 0, rows = executor->options.max_batch_tokens;
    int64_t results = 0; /* rows of them */
    struct sv_queue *waiting = &executor->base.waiting;
    while (count < executor->options.max_batch_size && waiting->first) {
        struct sv_classification_task *task = (struct sv_classification_task *)waiting->first;
        if (must_end(task, NULL, now)) {
            drop(executor, sv_queue_pop(waiting));
            continue;
        }
        int configured = task->items[task->taken].count;
        results += task->items[task->taken].rows;
        if (configured > rows || results > sl_model_rows_max(executor->info, task->output) ||
            (count > 0 && task->output != executor->feeds->output))
            break;
        rows -= configured;
        feed(executor, task, count++, now);
        if (task->taken == task->count)
            (void)sv_queue_pop(waiting);
    }
    return count;
}

static void record_batch(struct executor *executor, int count, int64_t took)
{
    int rows = 0, answered = 0;
    for (int i = 0; i < count; i++) {
        rows += executor->feeds[i].count;
        answered += executor->feeds[i].finite && is_text(executor->owner[i], executor->fed[i]);
    }
    sv_executor_record_batch(&executor->base, count, rows, took);
    sv_metric_add(executor->base.series[SV_METRIC_PROMPT_TOKENS], rows);
    pthread_mutex_lock(&executor->base.lock);
    executor->stats.last_ms = sl_wall_ns() / 1000000;
    executor->stats.items += answered;
    executor->stats.batches++;
    count_duration(&executor->stats.by_size[count], took);
    pthread_mutex_unlock(&executor->base.lock);
}

/* The logits of `fed` are valid until the next batch. */
static void explain(const struct executor *executor, struct sv_classification_task *task,
                    const struct sv_classification_item *item, const struct sl_classifier_item *fed)
{
    struct sl_err err;
    const int label = sl_argmax(fed->logits, executor->info->classes);
    if (sl_classifier_explain(executor->classifier, fed, label, item->contributions, &err))
        return;
    if (err.code == SL_NO_MEMORY)
        (void)sv_fail_no_memory(&task->error);
    else
        (void)sv_fail(&task->error, SV_INTERNAL, NULL, "The model failed to explain text %d: %s.",
                      item->text, err.text);
}

static void take_depths(const struct executor *executor, struct sv_classification_item *item,
                        const struct sl_classifier_item *fed)
{
    const size_t count = (size_t)fed->count;
    if (item->token_layers)
        memcpy(item->token_layers, fed->token_layers, count * sizeof *item->token_layers);
    if (item->gates && fed->gates)
        memcpy(item->gates, fed->gates,
               count * (size_t)executor->info->routes * sizeof *item->gates);
}

/* Copies a result to its item. NaN or infinity fails only this item, and its request in the end;
 * after the deadline the result does not count. */
static void take(struct executor *executor, int index, int64_t now)
{
    const struct sl_classifier_item *fed = &executor->feeds[index];
    struct sv_classification_item *item = executor->fed[index];
    struct sv_classification_task *task = executor->owner[index];
    assert(item >= task->items);
    assert(item < task->items + task->count);
    assert(item->rows == fed->rows);
    memcpy(item->logits, fed->logits,
           (size_t)fed->rows * (size_t)executor->info->output_size[task->output] *
               sizeof *item->logits);
    item->layers_used = fed->layers_used;
    item->layers_full = fed->layers_full;
    take_depths(executor, item, fed);
    executor->base.layers_used += fed->layers_used;
    executor->base.layers_full += fed->layers_full;
    sv_metric_observe(executor->base.series[SV_METRIC_MEAN_DEPTH],
                      sv_mean_depth(executor->info->depth, fed->layers_used, fed->layers_full));
    item->finite = fed->finite;
    if (!must_end(task, NULL, now) && item->contributions && fed->finite)
        explain(executor, task, item, fed);
    end_item(executor, task, item, fed->finite ? task->error.kind : SV_INTERNAL);
}

/* The engine rejected the batch, which is a bug. Its requests fail; the daemon goes on. */
static void fail_batch(struct executor *executor, int count, const struct sl_err *err)
{
    SV_LOG(SV_LOG_ERROR, "batch failed", sv_str("model", executor->base.ref->id),
           sv_str("reason", err->text));
    for (int i = 0; i < count; i++) {
        struct sv_classification_task *task = executor->owner[i];
        if (task->error.kind == SV_OK)
            (void)sv_fail(&task->error, SV_INTERNAL, NULL, "The model failed to run.");
        end_item(executor, task, executor->fed[i], task->error.kind);
    }
}

static bool step(struct sv_executor *base)
{
    struct executor *executor = (struct executor *)base;
    struct sl_err err;
    int64_t began = sl_now_ns();
    int count = base->running = build_batch(executor, began);
    sv_executor_record_queue(base);
    if (count == 0)
        return false;
    if (sl_classifier_run(executor->classifier, executor->feeds, count, &err)) {
        int64_t now = sl_now_ns();
        record_batch(executor, count, now - began);
        for (int i = 0; i < count; i++)
            take(executor, i, now);
        sv_executor_record_layers(base);
    } else
        fail_batch(executor, count, &err);
    base->running = 0;
    sv_executor_record_queue(base);
    return true;
}

static bool warm(struct sv_executor *base, const int32_t *tokens, int count, struct sl_err *err)
{
    const struct executor *executor = (const struct executor *)base;
    return sl_classifier_warm_up(executor->classifier, tokens, count, err);
}

const struct sv_executor_ops sv_classification_executor_ops = {
    .sweep = sweep,
    .step = step,
    .oldest_ns = oldest_ns,
    .warm = warm,
    .destroy = destroy,
};
