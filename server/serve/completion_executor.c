/* completion_executor.c - the lane of a model that completes texts. */
#include "serve/completion_executor.h"
#include "core/limits.h"
#include "core/log.h"

#include "sluice/infer.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

static_assert(offsetof(struct sv_sequence, link) == 0, "it stands in queues");

/* Those that wait want a slot. */
struct lane {
    struct sv_lane base;
    struct sv_complete_options options;
    struct sl_session *session;

    struct sv_sequence **running; /* by slot; NULL: free */
    int turn;                     /* the slot that is fed first in the next step */
    struct sv_queue parting;      /* written, but the stream has not taken all */
    struct sl_feed *feeds;
    struct sv_sequence **fed;
    int64_t layers_used, layers_full;
};

/* ---- making and unmaking --------------------------------------------------------------------- */

static void destroy(struct sv_lane *base)
{
    struct lane *lane = (struct lane *)base;
    sl_session_destroy(lane->session);
    free(lane->running);
    free(lane->fed);
    free(lane->feeds);
    sv_lane_release(base);
    free(lane);
}

static bool allocate(struct lane *lane, struct sl_err *err)
{
    size_t slots = (size_t)lane->options.slots;
    lane->running = calloc(slots, sizeof(struct sv_sequence *));
    lane->fed = calloc(slots, sizeof(struct sv_sequence *));
    lane->feeds = calloc(slots, sizeof *lane->feeds);
    if (!lane->running || !lane->fed || !lane->feeds)
        return sl_fail(err, SL_NO_MEMORY, "%d slots", lane->options.slots);
    const struct sl_session_options session = {.slots = lane->options.slots,
                                               .batch_rows = lane->options.batch_rows};
    lane->session = sl_session_create(sv_served_model(lane->base.served), &session, err);
    return lane->session;
}

struct sv_lane *sv_complete_lane_create(struct sv_served *served,
                                        const struct sv_complete_options *options,
                                        struct sv_metrics *metrics, struct sl_err *err)
{
    assert(options->batch_rows >= options->slots);
    struct lane *lane = calloc(1, sizeof *lane);
    if (!lane) {
        (void)sl_fail(err, SL_NO_MEMORY, "lane");
        return NULL;
    }
    lane->options = *options;
    sv_lane_init(&lane->base, &sv_complete_lanes, served, &options->bounds, metrics);
    if (!allocate(lane, err)) {
        (void)sl_wrap(err, "session of '%s'", sv_served_id(served));
        destroy(&lane->base);
        return NULL;
    }
    return &lane->base;
}

void sv_complete_lane_push(struct sv_lane *lane, struct sv_task *task)
{
    assert(lane->kind == &sv_complete_lanes);
    task->call = sv_call_acquire(task->call);
    task->queued_ns = sv_now_ns();
    task->left = task->count;
    for (int i = 0; i < task->count; i++) {
        task->sequences[i].task = task;
        task->sequences[i].slot = -1;
    }
    pthread_mutex_lock(&lane->lock);
    for (int i = 0; i < task->count; i++)
        sv_queue_push(&lane->arrived, &task->sequences[i]);
    pthread_mutex_unlock(&lane->lock);
}

/* ---- endings --------------------------------------------------------------------------------- */

static void add_usage(struct sv_task *task)
{
    struct sv_usage *usage = &task->usage;
    for (int i = 0; i < task->count; i++) {
        struct sl_generation_usage one = sl_generation_usage(task->sequences[i].generation);
        usage->completion_tokens += one.completion_tokens;
        usage->layers_used += one.layers_used;
        usage->layers_full += one.layers_full;
    }
}

/* The last sequence is at its end: from here on the task is its call's again. */
static void finish_task(struct lane *lane, struct sv_task *task)
{
    struct sv_call *call = task->call;
    task->finished_ns = sv_now_ns();
    sv_lane_note_end(&lane->base, call, task->started_ns, task->finished_ns);
    if (task->problem.kind != SV_FINE && task->stream)
        sv_stream_fail(task->stream, &task->problem);
    atomic_store(&task->finished, true);
    sv_call_wake(call);
    sv_call_release(call);
}

static void free_slot(struct lane *lane, struct sv_sequence *sequence)
{
    if (sequence->slot < 0)
        return;
    assert(lane->running[sequence->slot] == sequence);
    lane->running[sequence->slot] = NULL;
    lane->base.running--;
    sl_session_clear(lane->session, sequence->slot);
    sequence->slot = -1;
}

/* Wakes a reader once for all that a step has brought it. */
static void wake_for_news(struct sv_task *task)
{
    if (task->news && task->stream)
        sv_call_wake(task->call);
    task->news = false;
}

/* The sequence is in no list and will not be touched again. */
static void end_sequence(struct lane *lane, struct sv_sequence *sequence)
{
    struct sv_task *task = sequence->task;
    struct sl_generation_usage usage = sl_generation_usage(sequence->generation);
    sv_metric_add(lane->base.series[SV_METRIC_PROMPT_TOKENS], usage.prompt_tokens);
    if (usage.layers_full > 0)
        sv_metric_see(lane->base.series[SV_METRIC_EXIT_LAYER],
                      sv_depth_mean(task->usage.depth, usage.layers_used, usage.layers_full));
    free_slot(lane, sequence);
    sv_gate_end(&lane->base.gate, sequence->cost);
    if (--task->left == 0)
        finish_task(lane, task);
    else
        wake_for_news(task);
}

/* Its text is complete and all told. */
static void complete(struct lane *lane, struct sv_sequence *sequence)
{
    struct sv_task *task = sequence->task;
    if (task->left == 1)
        add_usage(task);
    if (task->stream && task->left == 1)
        sv_stream_usage(task->stream, &task->usage);
    if (task->stream)
        sv_stream_finish(task->stream, sequence->choice,
                         sl_generation_finish(sequence->generation));
    task->news = true;
    end_sequence(lane, sequence);
}

/* The task's first reason is the one that is told. */
static bool must_end(const struct lane *lane, const struct sv_sequence *sequence,
                     const struct sv_problem *ending, int64_t now)
{
    struct sv_task *task = sequence->task;
    if (sv_call_must_end(task->call, task->deadline_ns, ending, now, &task->problem))
        return true;
    return sequence->blocked_ns > 0 && now - sequence->blocked_ns > lane->options.stall_ns &&
           !sv_refuse(&task->problem, SV_STALLED, NULL,
                      "The client did not read the stream for too long.");
}

static void sweep_list(struct lane *lane, struct sv_queue *list, const struct sv_problem *ending,
                       int64_t now)
{
    struct sv_queue before = *list;
    *list = (struct sv_queue){0};
    for (struct sv_sequence *s; (s = sv_queue_pop(&before));)
        if (must_end(lane, s, ending, now))
            end_sequence(lane, s);
        else
            sv_queue_push(list, s);
}

static void sweep(struct sv_lane *base, const struct sv_problem *ending)
{
    struct lane *lane = (struct lane *)base;
    int64_t now = sv_now_ns();
    sweep_list(lane, &lane->base.waiting, ending, now);
    sweep_list(lane, &lane->parting, ending, now);
    for (int i = 0; i < lane->options.slots; i++)
        if (lane->running[i] && must_end(lane, lane->running[i], ending, now))
            end_sequence(lane, lane->running[i]);
    sv_lane_note_queue(&lane->base);
}

/* ---- one step -------------------------------------------------------------------------------- */

/* Puts the text that is certain into the stream. False: it has no room for all. */
static bool tell(struct sv_sequence *sequence, int64_t now)
{
    struct sv_task *task = sequence->task;
    if (!task->stream)
        return true;
    size_t bytes;
    int records;
    const char *text = sl_generation_text(sequence->generation, &bytes);
    const struct sl_token_record *record = sl_generation_records(sequence->generation, &records);
    if (bytes == sequence->told && records == sequence->told_records && sequence->blocked_ns == 0)
        return true;
    bool whole = sv_stream_put(task->stream, sequence->choice, text, bytes, record, records);
    task->news = true;
    sequence->told = bytes;
    sequence->told_records = records;
    if (whole)
        sequence->blocked_ns = 0;
    else if (sequence->blocked_ns == 0)
        sequence->blocked_ns = now;
    return whole;
}

/* Its generation is at its end; its slot is for others, even if the client has more to read. */
static void part(struct lane *lane, struct sv_sequence *sequence, int64_t now)
{
    free_slot(lane, sequence);
    if (sl_generation_finish(sequence->generation) == SL_FINISH_ERROR) {
        struct sv_problem *problem = &sequence->task->problem;
        if (problem->kind == SV_FINE) {
            (void)sv_refuse(problem, SV_INTERNAL, NULL,
                            "The model gave numbers that are not finite.");
            problem->recurs = true;
        }
        end_sequence(lane, sequence);
    } else if (tell(sequence, now))
        complete(lane, sequence);
    else {
        sv_queue_push(&lane->parting, sequence);
        wake_for_news(sequence->task);
    }
}

/* The one that has waited longest; it may be at its end at once. */
static void fill_slot(struct lane *lane, int slot, int64_t now)
{
    struct sv_sequence *sequence = sv_queue_pop(&lane->base.waiting);
    lane->running[slot] = sequence;
    lane->base.running++;
    sequence->slot = slot;
    if (sequence->task->started_ns == 0) {
        sequence->task->started_ns = now;
        sv_lane_note_start(&lane->base, sequence->task->queued_ns, now);
    }
    if (sl_generation_finished(sequence->generation))
        part(lane, sequence, now); /* nothing was asked for: max_tokens 0 */
}

static void fill_slots(struct lane *lane, int64_t now)
{
    for (int slot = 0; slot < lane->options.slots; slot++)
        while (!lane->running[slot] && lane->base.waiting.first)
            fill_slot(lane, slot, now);
}

/* Those whose stream had no room try again. */
static void retry_blocked(struct lane *lane, int64_t now)
{
    struct sv_queue before = lane->parting;
    lane->parting = (struct sv_queue){0};
    for (struct sv_sequence *s; (s = sv_queue_pop(&before));)
        if (tell(s, now))
            complete(lane, s);
        else {
            sv_queue_push(&lane->parting, s);
            wake_for_news(s->task);
        }
    for (int i = 0; i < lane->options.slots; i++)
        if (lane->running[i] && lane->running[i]->blocked_ns > 0) {
            (void)tell(lane->running[i], now);
            wake_for_news(lane->running[i]->task);
        }
}

/* Asks every running sequence what to feed. All step: each leaves a row for those after it. */
static int gather_feeds(struct lane *lane)
{
    int slots = lane->options.slots, runnable = 0, count = 0;
    for (int i = 0; i < slots; i++)
        runnable += lane->running[i] && lane->running[i]->blocked_ns == 0;
    int rows = lane->options.batch_rows;
    lane->turn = (lane->turn + 1) % slots;
    for (int i = 0; i < slots && count < runnable; i++) {
        struct sv_sequence *s = lane->running[(lane->turn + i) % slots];
        if (!s || s->blocked_ns > 0)
            continue;
        struct sl_feed *feed = &lane->feeds[count];
        *feed = (struct sl_feed){.slot = s->slot};
        sl_generation_feed(s->generation, lane->session, rows - (runnable - count - 1), feed);
        rows -= feed->count;
        lane->fed[count++] = s;
    }
    assert(rows >= 0);
    return count;
}

static void note_tokens(struct lane *lane, struct sv_sequence *sequence, int64_t now)
{
    int generated = sl_generation_usage(sequence->generation).completion_tokens;
    if (generated == sequence->generated)
        return;
    if (sequence->generated == 0)
        sv_metric_see(lane->base.series[SV_METRIC_FIRST_TOKEN_SECONDS],
                      1e-9 * (double)(now - sequence->task->queued_ns));
    else
        sv_metric_see(lane->base.series[SV_METRIC_BETWEEN_TOKENS_SECONDS],
                      1e-9 * (double)(now - sequence->stepped_ns));
    sv_metric_add(lane->base.series[SV_METRIC_GENERATED_TOKENS], generated - sequence->generated);
    sequence->generated = generated;
    sequence->stepped_ns = now;
}

static void take_feed(struct lane *lane, struct sv_sequence *sequence, const struct sl_feed *feed,
                      int64_t now)
{
    lane->layers_used += feed->layers_used;
    lane->layers_full += feed->layers_full;
    sl_generation_take(sequence->generation, feed);
    note_tokens(lane, sequence, now);
    if (sl_generation_finished(sequence->generation))
        part(lane, sequence, now);
    else
        (void)tell(sequence, now);
}

static void note_batch(struct lane *lane, int count, int64_t took)
{
    int rows = 0;
    for (int i = 0; i < count; i++)
        rows += lane->feeds[i].count;
    sv_lane_note_batch(&lane->base, count, rows, took);
    sv_lane_note_layers(&lane->base, lane->layers_used, lane->layers_full);
}

/* The engine refused the batch: a mistake of ours. Those in it are told, the daemon goes on. */
static void fail_batch(struct lane *lane, int count, const struct sl_err *err)
{
    SV_LOG(SV_LOG_ERROR, "batch failed", sv_str("model", sv_served_id(lane->base.served)),
           sv_str("reason", err->text));
    for (int i = 0; i < count; i++) {
        struct sv_sequence *s = lane->fed[i];
        if (s->task->problem.kind == SV_FINE)
            (void)sv_refuse(&s->task->problem, SV_INTERNAL, NULL, "The model could not be run.");
        end_sequence(lane, s);
    }
}

static bool step(struct sv_lane *base)
{
    struct lane *lane = (struct lane *)base;
    struct sl_err err;
    int64_t now = sv_now_ns();
    retry_blocked(lane, now);
    fill_slots(lane, now);
    int count = gather_feeds(lane);
    if (count == 0)
        return false;
    int64_t began = sv_now_ns();
    if (!sl_session_run(lane->session, lane->feeds, count, &err)) {
        fail_batch(lane, count, &err);
        return true;
    }
    now = sv_now_ns();
    note_batch(lane, count, now - began);
    for (int i = 0; i < count; i++) {
        struct sv_sequence *s = lane->fed[i];
        take_feed(lane, s, &lane->feeds[i], now);
        /* Whoever lost its slot may be gone, and its task with it: those were woken at their
         * end. */
        if (lane->running[lane->feeds[i].slot] == s)
            wake_for_news(s->task);
    }
    sv_lane_note_queue(&lane->base);
    return true;
}

static const enum sv_metric metrics_of_lanes[] = {
    SV_METRIC_REQUEST_SECONDS,
    SV_METRIC_QUEUE_SECONDS,
    SV_METRIC_INFERENCE_SECONDS,
    SV_METRIC_FIRST_TOKEN_SECONDS,
    SV_METRIC_BETWEEN_TOKENS_SECONDS,
    SV_METRIC_PROMPT_TOKENS,
    SV_METRIC_GENERATED_TOKENS,
    SV_METRIC_RUNNING,
    SV_METRIC_WAITING,
    SV_METRIC_ADMITTED_TOKENS,
    SV_METRIC_QUEUE_FULL,
    SV_METRIC_BATCH_SIZE,
    SV_METRIC_BATCH_TOKENS,
    SV_METRIC_BATCH_SECONDS,
    SV_METRIC_EXIT_LAYER,
    SV_METRIC_LAYER_OPS,
    SV_METRIC_LAYER_OPS_FULL,
    SV_METRIC_FLOPS_SAVED,
};

const struct sv_lane_kind sv_complete_lanes = {
    .metrics = metrics_of_lanes,
    .metric_count = sizeof metrics_of_lanes / sizeof metrics_of_lanes[0],
    .sweep = sweep,
    .step = step,
    .destroy = destroy,
};
