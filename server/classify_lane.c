/* classify_lane.c - one classifier's work: who was admitted, and one ragged batch after another. */
#include "classify_lane.h"
#include "gate.h"
#include "limits.h"
#include "log.h"

#include "sluice/classify.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* First in, first out, linked by `next`. Owns nothing. */
struct tasks {
    struct sv_classify_task *first, *last;
};

struct sv_classify_lane {
    struct sv_served *served;
    struct sv_classify_lane_options options;
    struct sv_metrics *metrics;
    struct sl_classifier *classifier;
    struct sv_series *series[SV_METRICS]; /* those with the labels model and version */
    struct sv_series *answered;           /* items by outcome: ok */
    int classes, depth;

    struct tasks waiting; /* with items that were in no batch yet */
    struct sl_item *feeds;
    struct sv_item **fed;            /* whose answer a feed is, */
    struct sv_classify_task **owner; /* and whose item that is */
    int64_t layers_used, layers_full;

    struct sv_gate gate;
    pthread_mutex_t lock; /* guards arrived and stats */
    struct tasks arrived;
    struct sv_classify_stats stats;
};

static void push(struct tasks *queue, struct sv_classify_task *task)
{
    task->next = NULL;
    if (queue->last)
        queue->last->next = task;
    else
        queue->first = task;
    queue->last = task;
}

static struct sv_classify_task *pop(struct tasks *queue)
{
    struct sv_classify_task *task = queue->first;
    if (task)
        queue->first = task->next;
    if (!queue->first)
        queue->last = NULL;
    return task;
}

/* ---- making and unmaking --------------------------------------------------------------------- */

static struct sv_series *items_series(const struct sv_classify_lane *lane,
                                      enum sv_problem_kind kind)
{
    const char *labels[] = {sv_served_name(lane->served), sv_served_version(lane->served),
                            sv_problem_reason(kind)};
    return sv_metrics_series(lane->metrics, SV_METRIC_ITEMS, labels);
}

static void find_series(struct sv_classify_lane *lane)
{
    static const enum sv_metric ours[] = {
        SV_METRIC_REQUEST_SECONDS, SV_METRIC_QUEUE_SECONDS,   SV_METRIC_INFERENCE_SECONDS,
        SV_METRIC_BATCH_SECONDS,   SV_METRIC_PROMPT_TOKENS,   SV_METRIC_RUNNING,
        SV_METRIC_WAITING,         SV_METRIC_ADMITTED_TOKENS, SV_METRIC_QUEUE_FULL,
        SV_METRIC_BATCH_SIZE,      SV_METRIC_BATCH_TOKENS,    SV_METRIC_EXIT_LAYER,
        SV_METRIC_LAYER_OPS,       SV_METRIC_LAYER_OPS_FULL,  SV_METRIC_FLOPS_SAVED,
    };

    const char *labels[] = {sv_served_name(lane->served), sv_served_version(lane->served)};
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        lane->series[ours[i]] = sv_metrics_series(lane->metrics, ours[i], labels);
    lane->answered = items_series(lane, SV_FINE);
}

static bool allocate(struct sv_classify_lane *lane, struct sl_err *err)
{
    size_t items = (size_t)lane->options.items;
    lane->feeds = calloc(items, sizeof *lane->feeds);
    lane->fed = calloc(items, sizeof(struct sv_item *));
    lane->owner = calloc(items, sizeof(struct sv_classify_task *));
    if (!lane->feeds || !lane->fed || !lane->owner)
        return sl_fail(err, SL_NO_MEMORY, "%d items", lane->options.items);
    const struct sl_classifier_options options = {.items = lane->options.items,
                                                  .batch_rows = lane->options.rows};
    lane->classifier = sl_classifier_create(sv_served_model(lane->served), &options, err);
    return lane->classifier;
}

struct sv_classify_lane *sv_classify_lane_create(struct sv_served *served,
                                                 const struct sv_classify_lane_options *options,
                                                 struct sv_metrics *metrics, struct sl_err *err)
{
    struct sl_model_facts facts = sl_model_facts(sv_served_model(served));
    assert(facts.task == SL_TASK_CLASSIFICATION);
    assert(options->items >= 1);
    assert(options->items <= SV_CLASSIFY_ITEMS_MAX);
    struct sv_classify_lane *lane = calloc(1, sizeof *lane);
    if (!lane) {
        (void)sl_fail(err, SL_NO_MEMORY, "classifier's lane");
        return NULL;
    }
    lane->served = sv_served_acquire(served);
    lane->options = *options;
    if (lane->options.rows < facts.context)
        lane->options.rows = facts.context;
    lane->metrics = metrics;
    lane->classes = facts.classes;
    lane->depth = facts.depth;
    pthread_mutex_init(&lane->lock, NULL);
    find_series(lane);
    sv_gate_init(&lane->gate, sv_served_id(served), options->items_max, options->tokens_max,
                 lane->series[SV_METRIC_QUEUE_FULL]);
    if (!allocate(lane, err)) {
        (void)sl_wrap(err, "classifier '%s'", sv_served_id(served));
        sv_classify_lane_destroy(lane);
        return NULL;
    }
    return lane;
}

void sv_classify_lane_destroy(struct sv_classify_lane *lane)
{
    if (!lane)
        return;
    sv_gate_release(&lane->gate);
    sl_classifier_destroy(lane->classifier);
    free(lane->feeds);
    free(lane->fed);
    free(lane->owner);
    sv_served_release(lane->served);
    pthread_mutex_destroy(&lane->lock);
    free(lane);
}

const struct sv_served *sv_classify_lane_served(const struct sv_classify_lane *lane)
{
    return lane->served;
}

/* ---- admission, from any thread -------------------------------------------------------------- */

bool sv_classify_lane_admit(struct sv_classify_lane *lane, int items, int64_t tokens,
                            struct sv_problem *problem)
{
    return sv_gate_enter(&lane->gate, items, tokens, problem);
}

void sv_classify_lane_dismiss(struct sv_classify_lane *lane, int items, int64_t tokens)
{
    sv_gate_leave(&lane->gate, items, tokens);
}

void sv_classify_lane_push(struct sv_classify_lane *lane, struct sv_classify_task *task)
{
    assert(task->count > 0);
    task->call = sv_call_acquire(task->call);
    task->queued_ns = sv_now_ns();
    task->taken = 0;
    task->left = task->count;
    pthread_mutex_lock(&lane->lock);
    push(&lane->arrived, task);
    pthread_mutex_unlock(&lane->lock);
}

int64_t sv_classify_lane_items(struct sv_classify_lane *lane)
{
    int64_t items, tokens;
    sv_gate_inside(&lane->gate, &items, &tokens);
    return items;
}

void sv_classify_lane_stats(struct sv_classify_lane *lane, struct sv_classify_stats *stats)
{
    pthread_mutex_lock(&lane->lock);
    *stats = lane->stats;
    pthread_mutex_unlock(&lane->lock);
}

/* After whatever changed them: nobody looks while the dispatcher sleeps. */
static void note_queue(struct sv_classify_lane *lane, int running)
{
    int64_t items, tokens;
    sv_gate_inside(&lane->gate, &items, &tokens);
    sv_metric_set(lane->series[SV_METRIC_RUNNING], running);
    sv_metric_set(lane->series[SV_METRIC_WAITING], (double)(items - running));
    sv_metric_set(lane->series[SV_METRIC_ADMITTED_TOKENS], (double)tokens);
}

void sv_classify_lane_collect(struct sv_classify_lane *lane)
{
    pthread_mutex_lock(&lane->lock);
    struct tasks arrived = lane->arrived;
    lane->arrived = (struct tasks){0};
    pthread_mutex_unlock(&lane->lock);
    for (struct sv_classify_task *task; (task = pop(&arrived));)
        push(&lane->waiting, task);
    note_queue(lane, 0);
}

/* ---- endings --------------------------------------------------------------------------------- */

static void count_duration(struct sv_duration *duration, int64_t ns)
{
    duration->count++;
    duration->ns += ns;
}

static void note_task(struct sv_classify_lane *lane, const struct sv_classify_task *task)
{
    int64_t all = task->finished_ns - task->call->received_ns;
    sv_metric_see(lane->series[SV_METRIC_REQUEST_SECONDS], 1e-9 * (double)all);
    if (task->started_ns > 0)
        sv_metric_see(lane->series[SV_METRIC_INFERENCE_SECONDS],
                      1e-9 * (double)(task->finished_ns - task->started_ns));
    struct sv_classify_stats *stats = &lane->stats;
    bool good = task->problem.kind == SV_FINE;
    pthread_mutex_lock(&lane->lock);
    count_duration(good ? &stats->success : &stats->fail, all);
    if (good) {
        count_duration(&stats->queue, task->started_ns - task->queued_ns);
        count_duration(&stats->encode, task->encoded_ns);
        count_duration(&stats->compute, task->finished_ns - task->started_ns);
    }
    pthread_mutex_unlock(&lane->lock);
}

/* The last item is at its end: from here on the task is its call's again. */
static void finish_task(struct sv_classify_lane *lane, struct sv_classify_task *task)
{
    struct sv_call *call = task->call;
    task->finished_ns = sv_now_ns();
    note_task(lane, task);
    atomic_store(&task->finished, true);
    sv_call_wake(call);
    sv_call_release(call);
}

/* The item will not be touched again; nor, when it was the last, the task. */
static void end_item(struct sv_classify_lane *lane, struct sv_classify_task *task,
                     const struct sv_item *item)
{
    enum sv_problem_kind kind = task->problem.kind;
    sv_metric_add(kind == SV_FINE ? lane->answered : items_series(lane, kind), 1);
    sv_gate_end(&lane->gate, item->count);
    assert(task->left > 0);
    if (--task->left == 0)
        finish_task(lane, task);
}

/* Why a task should not go on, if so. Its first reason is the one that is told. */
static bool must_end(struct sv_classify_task *task, const struct sv_problem *ending, int64_t now)
{
    if (task->problem.kind != SV_FINE)
        return true;
    if (atomic_load(&task->call->cancelled))
        return !sv_refuse(&task->problem, SV_CLIENT_LEFT, NULL, "The client left.");
    if (ending) {
        task->problem = *ending;
        return true;
    }
    return now > task->deadline_ns &&
           !sv_refuse(&task->problem, SV_EXPIRED, NULL,
                      "The answer was not finished in the time allowed for it.");
}

/* Ends what of a task is in no batch; it is in no queue any more. */
static void drop(struct sv_classify_lane *lane, struct sv_classify_task *task)
{
    int first = task->taken, count = task->count;
    const struct sv_item *items = task->items;
    task->taken = count;
    for (int i = first; i < count; i++)
        end_item(lane, task, &items[i]);
}

void sv_classify_lane_sweep(struct sv_classify_lane *lane, const struct sv_problem *ending)
{
    int64_t now = sv_now_ns();
    struct tasks before = lane->waiting;
    lane->waiting = (struct tasks){0};
    for (struct sv_classify_task *task; (task = pop(&before));)
        if (must_end(task, ending, now))
            drop(lane, task);
        else
            push(&lane->waiting, task);
    note_queue(lane, 0);
}

/* ---- one batch ------------------------------------------------------------------------------- */

static void feed(struct sv_classify_lane *lane, struct sv_classify_task *task, int index,
                 int64_t now)
{
    struct sv_item *item = &task->items[task->taken++];
    lane->feeds[index] = (struct sl_item){.tokens = item->tokens, .count = item->count};
    lane->fed[index] = item;
    lane->owner[index] = task;
    if (task->started_ns > 0)
        return;
    task->started_ns = now;
    sv_metric_see(lane->series[SV_METRIC_QUEUE_SECONDS], 1e-9 * (double)(now - task->queued_ns));
}

/* In the order in which they came, as many as fit. What nobody wants any more is not computed. */
static int gather(struct sv_classify_lane *lane, int64_t now)
{
    int count = 0, rows = lane->options.rows;
    struct sv_classify_task *task;
    while (count < lane->options.items && (task = lane->waiting.first)) {
        if (must_end(task, NULL, now)) {
            drop(lane, pop(&lane->waiting));
            continue;
        }
        int wanted = task->items[task->taken].count;
        if (wanted > rows)
            break;
        rows -= wanted;
        feed(lane, task, count++, now);
        if (task->taken == task->count)
            (void)pop(&lane->waiting);
    }
    return count;
}

static void note_batch(struct sv_classify_lane *lane, int count, int64_t took)
{
    int rows = 0, answered = 0;
    for (int i = 0; i < count; i++) {
        rows += lane->feeds[i].count;
        answered += lane->feeds[i].finite;
    }
    sv_metric_see(lane->series[SV_METRIC_BATCH_SIZE], count);
    sv_metric_see(lane->series[SV_METRIC_BATCH_TOKENS], rows);
    sv_metric_see(lane->series[SV_METRIC_BATCH_SECONDS], 1e-9 * (double)took);
    sv_metric_add(lane->series[SV_METRIC_PROMPT_TOKENS], rows);
    struct timespec today;
    (void)clock_gettime(CLOCK_REALTIME, &today);
    pthread_mutex_lock(&lane->lock);
    lane->stats.last_ms = (int64_t)today.tv_sec * 1000 + today.tv_nsec / 1000000;
    lane->stats.items += answered;
    lane->stats.batches++;
    count_duration(&lane->stats.by_size[count], took);
    pthread_mutex_unlock(&lane->lock);
}

static void note_layers(struct sv_classify_lane *lane)
{
    int64_t used = lane->layers_used, full = lane->layers_full;
    sv_metric_set(lane->series[SV_METRIC_LAYER_OPS], (double)used);
    sv_metric_set(lane->series[SV_METRIC_LAYER_OPS_FULL], (double)full);
    if (full > 0)
        sv_metric_set(lane->series[SV_METRIC_FLOPS_SAVED], 1 - (double)used / (double)full);
}

/* The answer goes to whom the batch was told it belongs. One that is no number is a fault of that
 * text (and of its call) alone. */
static void take(struct sv_classify_lane *lane, int index)
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
    sv_metric_see(lane->series[SV_METRIC_EXIT_LAYER],
                  lane->depth * (double)fed->layers_used / (double)fed->layers_full);
    if (!fed->finite && task->problem.kind == SV_FINE)
        (void)sv_refuse(&task->problem, SV_INTERNAL, NULL,
                        "The model gave numbers that are not finite for text %d of this request.",
                        (int)(item - task->items));
    end_item(lane, task, item);
}

/* The engine refused the batch: a mistake of ours. Those in it are told, the daemon goes on. */
static void fail_batch(struct sv_classify_lane *lane, int count, const struct sl_err *err)
{
    SV_LOG(SV_LOG_ERROR, "batch failed", sv_str("model", sv_served_id(lane->served)),
           sv_str("reason", err->text));
    for (int i = 0; i < count; i++) {
        struct sv_classify_task *task = lane->owner[i];
        if (task->problem.kind == SV_FINE)
            (void)sv_refuse(&task->problem, SV_INTERNAL, NULL, "The model could not be run.");
        end_item(lane, task, lane->fed[i]);
    }
}

bool sv_classify_lane_step(struct sv_classify_lane *lane)
{
    struct sl_err err;
    int64_t began = sv_now_ns();
    int count = gather(lane, began);
    note_queue(lane, count);
    if (count == 0)
        return false;
    if (sl_classifier_run(lane->classifier, lane->feeds, count, &err)) {
        note_batch(lane, count, sv_now_ns() - began);
        for (int i = 0; i < count; i++)
            take(lane, i);
        note_layers(lane);
    } else
        fail_batch(lane, count, &err);
    note_queue(lane, 0);
    return true;
}
