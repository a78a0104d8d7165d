/* lane.c - one model's work: who was admitted, who has a slot, and one step for all of them. */
#include "lane.h"
#include "gate.h"
#include "limits.h"
#include "log.h"
#include "sequences.h"

#include "sluice/infer.h"

#include <assert.h>
#include <stdlib.h>

struct sv_lane {
    struct sv_served *served;
    struct sv_lane_options options;
    struct sl_session *session;
    struct sv_series *series[SV_METRICS]; /* those with the labels model and version */

    struct sv_sequence **running; /* by slot; NULL: free */
    int running_count;
    int turn;                    /* the slot that is fed first in the next step */
    struct sv_sequences waiting; /* for a slot */
    struct sv_sequences parting; /* written, but the stream has not taken all */
    struct sl_feed *feeds;
    struct sv_sequence **fed;
    int64_t layers_used, layers_full;

    struct sv_gate gate;
    pthread_mutex_t lock; /* guards arrived */
    struct sv_sequences arrived;
};

/* ---- making and unmaking --------------------------------------------------------------------- */

static void find_series(struct sv_lane *lane, struct sv_metrics *metrics)
{
    static const enum sv_metric ours[] = {
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

    const char *labels[] = {sv_served_name(lane->served), sv_served_version(lane->served)};
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        lane->series[ours[i]] = sv_metrics_series(metrics, ours[i], labels);
}

struct sv_lane *sv_lane_create(struct sv_served *served, const struct sv_lane_options *options,
                               struct sv_metrics *metrics, struct sl_err *err)
{
    assert(options->batch_rows >= options->slots);
    struct sv_lane *lane = calloc(1, sizeof *lane);
    if (!lane) {
        (void)sl_fail(err, SL_NO_MEMORY, "lane");
        return NULL;
    }
    size_t slots = (size_t)options->slots;
    lane->served = sv_served_acquire(served);
    lane->options = *options;
    pthread_mutex_init(&lane->lock, NULL);
    find_series(lane, metrics);
    sv_gate_init(&lane->gate, sv_served_id(served), options->items_max, options->tokens_max,
                 lane->series[SV_METRIC_QUEUE_FULL]);
    lane->running = calloc(slots, sizeof(struct sv_sequence *));
    lane->fed = calloc(slots, sizeof(struct sv_sequence *));
    lane->feeds = calloc(slots, sizeof *lane->feeds);
    bool fine = lane->running && lane->fed && lane->feeds;
    if (!fine)
        (void)sl_fail(err, SL_NO_MEMORY, "%d slots", options->slots);
    const struct sl_session_options session = {.slots = options->slots,
                                               .batch_rows = options->batch_rows};
    if (fine)
        lane->session = sl_session_create(sv_served_model(served), &session, err);
    if (!lane->session) {
        (void)sl_wrap(err, "session of '%s'", sv_served_id(served));
        sv_lane_destroy(lane);
        return NULL;
    }
    return lane;
}

void sv_lane_destroy(struct sv_lane *lane)
{
    if (!lane)
        return;
    sv_gate_release(&lane->gate);
    sl_session_destroy(lane->session);
    free(lane->running);
    free(lane->fed);
    free(lane->feeds);
    sv_served_release(lane->served);
    pthread_mutex_destroy(&lane->lock);
    free(lane);
}

const struct sv_served *sv_lane_served(const struct sv_lane *lane)
{
    return lane->served;
}

/* ---- admission, from any thread -------------------------------------------------------------- */

bool sv_lane_admit(struct sv_lane *lane, int items, int64_t tokens, struct sv_problem *problem)
{
    return sv_gate_enter(&lane->gate, items, tokens, problem);
}

void sv_lane_dismiss(struct sv_lane *lane, int items, int64_t tokens)
{
    sv_gate_leave(&lane->gate, items, tokens);
}

void sv_lane_push(struct sv_lane *lane, struct sv_task *task)
{
    task->call = sv_call_acquire(task->call);
    task->queued_ns = sv_now_ns();
    task->left = task->count;
    for (int i = 0; i < task->count; i++) {
        task->sequences[i].task = task;
        task->sequences[i].slot = -1;
    }
    pthread_mutex_lock(&lane->lock);
    for (int i = 0; i < task->count; i++)
        sv_sequences_push(&lane->arrived, &task->sequences[i]);
    pthread_mutex_unlock(&lane->lock);
}

int64_t sv_lane_items(struct sv_lane *lane)
{
    int64_t items, tokens;
    sv_gate_inside(&lane->gate, &items, &tokens);
    return items;
}

/* After whatever changed them: nobody looks while the dispatcher sleeps. */
static void note_queue(struct sv_lane *lane)
{
    int64_t items, tokens;
    sv_gate_inside(&lane->gate, &items, &tokens);
    sv_metric_set(lane->series[SV_METRIC_RUNNING], lane->running_count);
    sv_metric_set(lane->series[SV_METRIC_WAITING], (double)(items - lane->running_count));
    sv_metric_set(lane->series[SV_METRIC_ADMITTED_TOKENS], (double)tokens);
}

void sv_lane_collect(struct sv_lane *lane)
{
    pthread_mutex_lock(&lane->lock);
    struct sv_sequences arrived = lane->arrived;
    lane->arrived = (struct sv_sequences){0};
    pthread_mutex_unlock(&lane->lock);
    for (struct sv_sequence *s; (s = sv_sequences_pop(&arrived));)
        sv_sequences_push(&lane->waiting, s);
    note_queue(lane);
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

static void see_times(struct sv_lane *lane, const struct sv_task *task)
{
    const struct sv_call *call = task->call;
    sv_metric_see(lane->series[SV_METRIC_REQUEST_SECONDS],
                  1e-9 * (double)(task->finished_ns - call->received_ns));
    if (task->started_ns > 0)
        sv_metric_see(lane->series[SV_METRIC_INFERENCE_SECONDS],
                      1e-9 * (double)(task->finished_ns - task->started_ns));
}

/* The last sequence is at its end: from here on the task is its call's again. */
static void finish_task(struct sv_lane *lane, struct sv_task *task)
{
    struct sv_call *call = task->call;
    task->finished_ns = sv_now_ns();
    see_times(lane, task);
    if (task->problem.kind != SV_FINE && task->stream)
        sv_stream_fail(task->stream, &task->problem);
    atomic_store(&task->finished, true);
    sv_call_wake(call);
    sv_call_release(call);
}

static void free_slot(struct sv_lane *lane, struct sv_sequence *sequence)
{
    if (sequence->slot < 0)
        return;
    assert(lane->running[sequence->slot] == sequence);
    lane->running[sequence->slot] = NULL;
    lane->running_count--;
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
static void end_sequence(struct sv_lane *lane, struct sv_sequence *sequence)
{
    struct sv_task *task = sequence->task;
    struct sl_generation_usage usage = sl_generation_usage(sequence->generation);
    sv_metric_add(lane->series[SV_METRIC_PROMPT_TOKENS], usage.prompt_tokens);
    if (usage.layers_full > 0)
        sv_metric_see(lane->series[SV_METRIC_EXIT_LAYER],
                      task->usage.depth * (double)usage.layers_used / (double)usage.layers_full);
    free_slot(lane, sequence);
    sv_gate_end(&lane->gate, sequence->cost);
    if (--task->left == 0)
        finish_task(lane, task);
    else
        wake_for_news(task);
}

/* Its text is complete and all told. */
static void complete(struct sv_lane *lane, struct sv_sequence *sequence)
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

/* Why a sequence should not go on, if so. The task's first reason is the one that is told. */
static bool must_end(const struct sv_lane *lane, const struct sv_sequence *sequence,
                     const struct sv_problem *ending, int64_t now)
{
    struct sv_task *task = sequence->task;
    if (task->problem.kind != SV_FINE)
        return true;
    if (atomic_load(&task->call->cancelled))
        return !sv_refuse(&task->problem, SV_CLIENT_LEFT, NULL, "The client left.");
    if (ending) {
        task->problem = *ending;
        return true;
    }
    if (now > task->deadline_ns)
        return !sv_refuse(&task->problem, SV_EXPIRED, NULL,
                          "The answer was not finished in the time allowed for it.");
    if (sequence->blocked_ns > 0 && now - sequence->blocked_ns > lane->options.stall_ns)
        return !sv_refuse(&task->problem, SV_STALLED, NULL,
                          "The client did not read the stream for too long.");
    return false;
}

static void sweep_list(struct sv_lane *lane, struct sv_sequences *list,
                       const struct sv_problem *ending, int64_t now)
{
    struct sv_sequences before = *list;
    *list = (struct sv_sequences){0};
    for (struct sv_sequence *s; (s = sv_sequences_pop(&before));)
        if (must_end(lane, s, ending, now))
            end_sequence(lane, s);
        else
            sv_sequences_push(list, s);
}

void sv_lane_sweep(struct sv_lane *lane, const struct sv_problem *ending)
{
    int64_t now = sv_now_ns();
    sweep_list(lane, &lane->waiting, ending, now);
    sweep_list(lane, &lane->parting, ending, now);
    for (int i = 0; i < lane->options.slots; i++)
        if (lane->running[i] && must_end(lane, lane->running[i], ending, now))
            end_sequence(lane, lane->running[i]);
    note_queue(lane);
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
    if (bytes == sequence->told && sequence->blocked_ns == 0)
        return true;
    bool whole = sv_stream_put(task->stream, sequence->choice, text, bytes, record, records);
    task->news = true;
    sequence->told = bytes;
    if (whole)
        sequence->blocked_ns = 0;
    else if (sequence->blocked_ns == 0)
        sequence->blocked_ns = now;
    return whole;
}

/* Its generation is at its end; its slot is for others, even if the client has more to read. */
static void part(struct sv_lane *lane, struct sv_sequence *sequence, int64_t now)
{
    free_slot(lane, sequence);
    if (sl_generation_finish(sequence->generation) == SL_FINISH_ERROR) {
        if (sequence->task->problem.kind == SV_FINE)
            (void)sv_refuse(&sequence->task->problem, SV_INTERNAL, NULL,
                            "The model gave numbers that are not finite.");
        end_sequence(lane, sequence);
    } else if (tell(sequence, now))
        complete(lane, sequence);
    else {
        sv_sequences_push(&lane->parting, sequence);
        wake_for_news(sequence->task);
    }
}

static void fill_slots(struct sv_lane *lane, int64_t now)
{
    for (int slot = 0; slot < lane->options.slots && lane->waiting.first; slot++) {
        if (lane->running[slot])
            continue;
        struct sv_sequence *sequence = sv_sequences_pop(&lane->waiting);
        lane->running[slot] = sequence;
        lane->running_count++;
        sequence->slot = slot;
        if (sequence->task->started_ns == 0) {
            sequence->task->started_ns = now;
            sv_metric_see(lane->series[SV_METRIC_QUEUE_SECONDS],
                          1e-9 * (double)(now - sequence->task->queued_ns));
        }
        if (sl_generation_finished(sequence->generation))
            part(lane, sequence, now); /* nothing was asked for: max_tokens 0 */
    }
}

/* Those whose stream had no room try again. */
static void retry_blocked(struct sv_lane *lane, int64_t now)
{
    struct sv_sequences before = lane->parting;
    lane->parting = (struct sv_sequences){0};
    for (struct sv_sequence *s; (s = sv_sequences_pop(&before));)
        if (tell(s, now))
            complete(lane, s);
        else {
            sv_sequences_push(&lane->parting, s);
            wake_for_news(s->task);
        }
    for (int i = 0; i < lane->options.slots; i++)
        if (lane->running[i] && lane->running[i]->blocked_ns > 0) {
            (void)tell(lane->running[i], now);
            wake_for_news(lane->running[i]->task);
        }
}

/* Asks every running sequence what to feed. All step: each leaves a row for those after it. */
static int gather_feeds(struct sv_lane *lane)
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

static void note_tokens(struct sv_lane *lane, struct sv_sequence *sequence, int64_t now)
{
    int generated = sl_generation_usage(sequence->generation).completion_tokens;
    if (generated == sequence->generated)
        return;
    if (sequence->generated == 0)
        sv_metric_see(lane->series[SV_METRIC_FIRST_TOKEN_SECONDS],
                      1e-9 * (double)(now - sequence->task->queued_ns));
    else
        sv_metric_see(lane->series[SV_METRIC_BETWEEN_TOKENS_SECONDS],
                      1e-9 * (double)(now - sequence->stepped_ns));
    sv_metric_add(lane->series[SV_METRIC_GENERATED_TOKENS], generated - sequence->generated);
    sequence->generated = generated;
    sequence->stepped_ns = now;
}

static void take_feed(struct sv_lane *lane, struct sv_sequence *sequence,
                      const struct sl_feed *feed, int64_t now)
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

static void note_batch(struct sv_lane *lane, int count, int64_t took)
{
    int rows = 0;
    for (int i = 0; i < count; i++)
        rows += lane->feeds[i].count;
    int64_t used = lane->layers_used, full = lane->layers_full;
    sv_metric_see(lane->series[SV_METRIC_BATCH_SIZE], count);
    sv_metric_see(lane->series[SV_METRIC_BATCH_TOKENS], rows);
    sv_metric_see(lane->series[SV_METRIC_BATCH_SECONDS], 1e-9 * (double)took);
    sv_metric_set(lane->series[SV_METRIC_LAYER_OPS], (double)used);
    sv_metric_set(lane->series[SV_METRIC_LAYER_OPS_FULL], (double)full);
    if (full > 0)
        sv_metric_set(lane->series[SV_METRIC_FLOPS_SAVED], 1 - (double)used / (double)full);
}

/* The engine refused the batch: a mistake of ours. Those in it are told, the daemon goes on. */
static void fail_batch(struct sv_lane *lane, int count, const struct sl_err *err)
{
    SV_LOG(SV_LOG_ERROR, "batch failed", sv_str("model", sv_served_id(lane->served)),
           sv_str("reason", err->text));
    for (int i = 0; i < count; i++) {
        struct sv_sequence *s = lane->fed[i];
        if (s->task->problem.kind == SV_FINE)
            (void)sv_refuse(&s->task->problem, SV_INTERNAL, NULL, "The model could not be run.");
        end_sequence(lane, s);
    }
}

bool sv_lane_step(struct sv_lane *lane)
{
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
    note_queue(lane);
    return true;
}
