/* classification_executor.c - the lane of a classifier: one ragged batch after another. */
#include "serve/classification_executor.h"
#include "core/limits.h"
#include "core/log.h"
#include "core/usage.h"

#include "sluice/classify.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static_assert(offsetof(struct sv_classify_task, link) == 0, "it stands in queues");

/* Tasks wait for as long as they have items that were in no batch. */
struct lane {
    struct sv_lane base; /* its lock guards the stats too */
    struct sv_classify_options options;
    struct sv_metrics *metrics;
    struct sl_classifier *classifier;
    struct sv_series *answered; /* items by outcome: ok */
    int classes, depth;

    struct sl_item *feeds;
    struct sv_item **fed;            /* whose answer a feed is, */
    struct sv_classify_task **owner; /* and whose item that is */
    int64_t layers_used, layers_full;

    struct sv_classify_stats stats;
};

/* ---- making and unmaking --------------------------------------------------------------------- */

int sv_classify_rows(int64_t wanted, int context)
{
    return wanted > context ? (int)wanted : context;
}

int sv_classify_texts(int classes)
{
    return SV_SCORES_MAX / classes;
}

static struct sv_series *items_series(const struct lane *lane, enum sv_problem_kind kind)
{
    const struct sv_served *served = lane->base.served;
    const char *labels[] = {sv_served_name(served), sv_served_version(served),
                            sv_problem_reason(kind)};
    return sv_metrics_series(lane->metrics, SV_METRIC_ITEMS, labels);
}

static void destroy(struct sv_lane *base)
{
    struct lane *lane = (struct lane *)base;
    sl_classifier_destroy(lane->classifier);
    free(lane->feeds);
    free(lane->fed);
    free(lane->owner);
    free(lane->stats.by_size);
    sv_lane_release(base);
    free(lane);
}

static bool allocate(struct lane *lane, struct sl_err *err)
{
    size_t items = (size_t)lane->options.items;
    lane->feeds = calloc(items, sizeof *lane->feeds);
    lane->fed = calloc(items, sizeof(struct sv_item *));
    lane->owner = calloc(items, sizeof(struct sv_classify_task *));
    lane->stats.by_size = calloc(items + 1, sizeof *lane->stats.by_size);
    lane->stats.size_most = lane->options.items;
    if (!lane->feeds || !lane->fed || !lane->owner || !lane->stats.by_size)
        return sl_fail(err, SL_NO_MEMORY, "%d items", lane->options.items);
    const struct sl_classifier_options options = {.items = lane->options.items,
                                                  .batch_rows = lane->options.rows};
    lane->classifier = sl_classifier_create(sv_served_model(lane->base.served), &options, err);
    return lane->classifier;
}

struct sv_lane *sv_classify_lane_create(struct sv_served *served,
                                        const struct sv_classify_options *options,
                                        struct sv_metrics *metrics, struct sl_err *err)
{
    struct sl_model_facts facts = sl_model_facts(sv_served_model(served));
    assert(facts.task == SL_TASK_CLASSIFICATION);
    assert(options->items >= 1);
    assert(options->items <= SV_CLASSIFY_ITEMS_MAX);
    struct lane *lane = calloc(1, sizeof *lane);
    if (!lane) {
        (void)sl_fail(err, SL_NO_MEMORY, "classifier's lane");
        return NULL;
    }
    lane->options = *options;
    lane->options.rows = sv_classify_rows(options->rows, facts.context);
    lane->metrics = metrics;
    lane->classes = facts.classes;
    lane->depth = facts.depth;
    sv_lane_init(&lane->base, &sv_classify_lanes, served, &options->bounds, metrics);
    lane->answered = items_series(lane, SV_FINE);
    if (!allocate(lane, err)) {
        (void)sl_wrap(err, "classifier '%s'", sv_served_id(served));
        destroy(&lane->base);
        return NULL;
    }
    return &lane->base;
}

/* ---- for other threads ----------------------------------------------------------------------- */

void sv_classify_lane_push(struct sv_lane *lane, struct sv_classify_task *task)
{
    assert(lane->kind == &sv_classify_lanes);
    assert(task->count > 0);
    task->call = sv_call_acquire(task->call);
    task->queued_ns = sv_now_ns();
    task->taken = 0;
    task->left = task->count;
    pthread_mutex_lock(&lane->lock);
    sv_queue_push(&lane->arrived, task);
    pthread_mutex_unlock(&lane->lock);
}

bool sv_classify_lane_stats(struct sv_lane *base, struct sv_classify_stats *stats)
{
    struct lane *lane = (struct lane *)base;
    assert(base->kind == &sv_classify_lanes);
    size_t sizes = (size_t)lane->options.items + 1;
    struct sv_duration *by_size = calloc(sizes, sizeof *by_size);
    if (!by_size)
        return false;
    pthread_mutex_lock(&base->lock);
    *stats = lane->stats;
    memcpy(by_size, lane->stats.by_size, sizes * sizeof *by_size);
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

static void note_task(struct lane *lane, const struct sv_classify_task *task)
{
    int64_t all = task->finished_ns - task->call->received_ns;
    sv_lane_note_end(&lane->base, task->call, task->started_ns, task->finished_ns);
    struct sv_classify_stats *stats = &lane->stats;
    bool good = task->problem.kind == SV_FINE;
    pthread_mutex_lock(&lane->base.lock);
    count_duration(good ? &stats->success : &stats->fail, all);
    if (good) {
        count_duration(&stats->queue, task->started_ns - task->queued_ns);
        count_duration(&stats->encode, task->encoded_ns);
        count_duration(&stats->compute, task->finished_ns - task->started_ns);
    }
    pthread_mutex_unlock(&lane->base.lock);
}

/* A call whose items were all computed fails with the first that has no answer. */
static void judge(struct sv_classify_task *task)
{
    int i = 0;
    while (i < task->count && task->items[i].finite)
        i++;
    if (i == task->count || task->problem.kind != SV_FINE)
        return;
    (void)sv_refuse(&task->problem, SV_INTERNAL, NULL,
                    "The model gave numbers that are not finite for text %d of this request.", i);
    task->problem.recurs = true;
}

/* The last item is at its end: from here on the task is its call's again. */
static void finish_task(struct lane *lane, struct sv_classify_task *task)
{
    struct sv_call *call = task->call;
    task->finished_ns = sv_now_ns();
    judge(task);
    note_task(lane, task);
    atomic_store(&task->finished, true);
    sv_call_wake(call);
    sv_call_release(call);
}

/* What came of an item is counted. It will not be touched again; nor, when it was the last, the
 * task. */
static void end_item(struct lane *lane, struct sv_classify_task *task, const struct sv_item *item,
                     enum sv_problem_kind kind)
{
    sv_metric_add(kind == SV_FINE ? lane->answered : items_series(lane, kind), 1);
    sv_gate_end(&lane->base.gate, item->count);
    assert(task->left > 0);
    if (--task->left == 0)
        finish_task(lane, task);
}

static bool must_end(struct sv_classify_task *task, const struct sv_problem *ending, int64_t now)
{
    return sv_call_must_end(task->call, task->deadline_ns, ending, now, &task->problem);
}

/* Ends what of a task is in no batch; it is in no queue any more. */
static void drop(struct lane *lane, struct sv_classify_task *task)
{
    int first = task->taken, count = task->count;
    const struct sv_item *items = task->items;
    task->taken = count;
    for (int i = first; i < count; i++)
        end_item(lane, task, &items[i], task->problem.kind);
}

static void sweep(struct sv_lane *base, const struct sv_problem *ending)
{
    struct lane *lane = (struct lane *)base;
    int64_t now = sv_now_ns();
    struct sv_queue before = base->waiting;
    base->waiting = (struct sv_queue){0};
    for (struct sv_classify_task *task; (task = sv_queue_pop(&before));)
        if (must_end(task, ending, now))
            drop(lane, task);
        else
            sv_queue_push(&base->waiting, task);
    sv_lane_note_queue(base);
}

/* ---- one batch ------------------------------------------------------------------------------- */

static void feed(struct lane *lane, struct sv_classify_task *task, int index, int64_t now)
{
    struct sv_item *item = &task->items[task->taken++];
    lane->feeds[index] = (struct sl_item){.tokens = item->tokens, .count = item->count};
    lane->fed[index] = item;
    lane->owner[index] = task;
    if (task->started_ns > 0)
        return;
    task->started_ns = now;
    sv_lane_note_start(&lane->base, task->queued_ns, now);
}

/* In the order in which they came, as many as fit. What nobody wants any more is not computed. */
static int gather(struct lane *lane, int64_t now)
{
    int count = 0, rows = lane->options.rows;
    struct sv_queue *waiting = &lane->base.waiting;
    while (count < lane->options.items && waiting->first) {
        struct sv_classify_task *task = (struct sv_classify_task *)waiting->first;
        if (must_end(task, NULL, now)) {
            drop(lane, sv_queue_pop(waiting));
            continue;
        }
        int wanted = task->items[task->taken].count;
        if (wanted > rows)
            break;
        rows -= wanted;
        feed(lane, task, count++, now);
        if (task->taken == task->count)
            (void)sv_queue_pop(waiting);
    }
    return count;
}

static void note_batch(struct lane *lane, int count, int64_t took)
{
    int rows = 0, answered = 0;
    for (int i = 0; i < count; i++) {
        rows += lane->feeds[i].count;
        answered += lane->feeds[i].finite;
    }
    sv_lane_note_batch(&lane->base, count, rows, took);
    sv_metric_add(lane->base.series[SV_METRIC_PROMPT_TOKENS], rows);
    struct timespec today;
    (void)clock_gettime(CLOCK_REALTIME, &today);
    pthread_mutex_lock(&lane->base.lock);
    lane->stats.last_ms = (int64_t)today.tv_sec * 1000 + today.tv_nsec / 1000000;
    lane->stats.items += answered;
    lane->stats.batches++;
    count_duration(&lane->stats.by_size[count], took);
    pthread_mutex_unlock(&lane->base.lock);
}

/* The answer goes to whom the batch was told it belongs. One that is no number is a fault of that
 * text alone, though its call fails with it in the end; one that comes too late is no answer. */
static void take(struct lane *lane, int index, int64_t now)
{
    const struct sl_item *fed = &lane->feeds[index];
    struct sv_item *item = lane->fed[index];
    struct sv_classify_task *task = lane->owner[index];
    assert(item >= task->items);
    assert(item < task->items + task->count);
    memcpy(item->logits, fed->logits, (size_t)lane->classes * sizeof *item->logits);
    item->layers_used = fed->layers_used;
    item->layers_full = fed->layers_full;
    lane->layers_used += fed->layers_used;
    lane->layers_full += fed->layers_full;
    sv_metric_see(lane->base.series[SV_METRIC_EXIT_LAYER],
                  sv_depth_mean(lane->depth, fed->layers_used, fed->layers_full));
    item->finite = fed->finite;
    (void)must_end(task, NULL, now);
    end_item(lane, task, item, fed->finite ? task->problem.kind : SV_INTERNAL);
}

/* The engine refused the batch: a mistake of ours. Those in it are told, the daemon goes on. */
static void fail_batch(struct lane *lane, int count, const struct sl_err *err)
{
    SV_LOG(SV_LOG_ERROR, "batch failed", sv_str("model", sv_served_id(lane->base.served)),
           sv_str("reason", err->text));
    for (int i = 0; i < count; i++) {
        struct sv_classify_task *task = lane->owner[i];
        if (task->problem.kind == SV_FINE)
            (void)sv_refuse(&task->problem, SV_INTERNAL, NULL, "The model could not be run.");
        end_item(lane, task, lane->fed[i], task->problem.kind);
    }
}

static bool step(struct sv_lane *base)
{
    struct lane *lane = (struct lane *)base;
    struct sl_err err;
    int64_t began = sv_now_ns();
    int count = base->running = gather(lane, began);
    sv_lane_note_queue(base);
    if (count == 0)
        return false;
    if (sl_classifier_run(lane->classifier, lane->feeds, count, &err)) {
        int64_t now = sv_now_ns();
        note_batch(lane, count, now - began);
        for (int i = 0; i < count; i++)
            take(lane, i, now);
        sv_lane_note_layers(base, lane->layers_used, lane->layers_full);
    } else
        fail_batch(lane, count, &err);
    base->running = 0;
    sv_lane_note_queue(base);
    return true;
}

static const enum sv_metric metrics_of_lanes[] = {
    SV_METRIC_REQUEST_SECONDS, SV_METRIC_QUEUE_SECONDS,   SV_METRIC_INFERENCE_SECONDS,
    SV_METRIC_BATCH_SECONDS,   SV_METRIC_PROMPT_TOKENS,   SV_METRIC_RUNNING,
    SV_METRIC_WAITING,         SV_METRIC_ADMITTED_TOKENS, SV_METRIC_QUEUE_FULL,
    SV_METRIC_BATCH_SIZE,      SV_METRIC_BATCH_TOKENS,    SV_METRIC_EXIT_LAYER,
    SV_METRIC_LAYER_OPS,       SV_METRIC_LAYER_OPS_FULL,  SV_METRIC_FLOPS_SAVED,
};

const struct sv_lane_kind sv_classify_lanes = {
    .metrics = metrics_of_lanes,
    .metric_count = sizeof metrics_of_lanes / sizeof metrics_of_lanes[0],
    .sweep = sweep,
    .step = step,
    .destroy = destroy,
};
