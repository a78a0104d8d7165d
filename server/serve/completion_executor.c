/* completion_executor.c - the executor of a model that completes texts. */
#include "serve/completion_executor.h"
#include "base/allocate.h"
#include "base/clock.h"
#include "core/log.h"
#include "core/memory_left.h"

#include "sluice/session.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

static_assert(offsetof(struct sv_sequence, link) == 0, "it stands in queues");

/* Sequences in `waiting` need a slot. */
struct executor {
    struct sv_executor base;
    struct sv_completion_options options;
    struct sl_session *session;

    struct sv_sequence **running; /* by slot; NULL: the slot is free */
    int next_slot;                /* the first slot of the next step, for fairness */
    struct sv_queue draining;     /* generated, but not yet all in the stream */
    struct sl_chunk *feeds;
    struct sv_sequence **fed;
};

/* ---- making and unmaking --------------------------------------------------------------------- */

static void destroy(struct sv_executor *base)
{
    struct executor *executor = (struct executor *)base;
    sl_session_destroy(executor->session);
    free(executor->running);
    free(executor->fed);
    free(executor->feeds);
    sv_executor_release(base);
    free(executor);
}

/* As many as wanted, if all their caches, once full, leave half of the memory free. Further texts
 * wait, instead of the kernel killing the daemon. */
static int slots_that_fit(const struct sv_model_ref *ref, int wanted)
{
    const int64_t each = (int64_t)sl_session_slot_bytes(ref->model);
    const int64_t fit = sv_memory_left().bytes / 2 / (each > 0 ? each : 1);
    if (fit >= wanted)
        return wanted;
    const int slots = fit > 1 ? (int)fit : 1;
    SV_LOG(SV_LOG_WARN, "fewer completions at the same time than max_sequences: memory is short",
           sv_str("model", ref->name), sv_str("version", ref->version), sv_int("slots", slots),
           sv_int("bytes_per_slot", each));
    return slots;
}

/* A text to translate is not divided: beside a token of each other text there is room for one, and
 * for its translation's first tokens in a first run. */
static int batch_tokens_for(const struct sv_model_ref *ref, const struct sv_completion_options *o)
{
    const struct sl_model_info *info = sl_model_info(ref->model);
    const int least = info->task == SL_TASK_TRANSLATION ? o->max_sequences + 2 * info->context : 0;
    return o->max_batch_tokens > least ? o->max_batch_tokens : least;
}

static bool allocate(struct executor *executor, struct sl_err *err)
{
    size_t slots = (size_t)executor->options.max_sequences;
    executor->running = calloc(slots, sizeof(struct sv_sequence *));
    executor->fed = calloc(slots, sizeof(struct sv_sequence *));
    executor->feeds = calloc(slots, sizeof *executor->feeds);
    if (!executor->running || !executor->fed || !executor->feeds)
        return sl_fail(err, SL_NO_MEMORY, "%d slots", executor->options.max_sequences);
    const struct sl_session_options session = {.max_sequences = executor->options.max_sequences,
                                               .max_batch_tokens =
                                                   executor->options.max_batch_tokens};
    executor->session = sl_session_create(executor->base.ref->model, &session, err);
    return executor->session;
}

struct sv_executor *sv_completion_executor_create(struct sv_model_ref *ref,
                                                  const struct sv_completion_options *options,
                                                  struct sv_metrics *metrics, struct sl_err *err)
{
    assert(options->max_batch_tokens >= options->max_sequences);
    struct executor *executor = sl_new(sizeof *executor, "a completion executor", err);
    if (!executor)
        return NULL;
    executor->options = *options;
    executor->options.max_sequences = slots_that_fit(ref, options->max_sequences);
    executor->options.max_batch_tokens = batch_tokens_for(ref, &executor->options);
    sv_executor_init(&executor->base, &sv_completion_executor_ops, ref, &options->bounds, metrics);
    if (!allocate(executor, err)) {
        (void)sl_wrap(err, "session of '%s'", ref->id);
        destroy(&executor->base);
        return NULL;
    }
    return &executor->base;
}

void sv_completion_executor_push(struct sv_executor *executor, struct sv_completion_task *task)
{
    assert(executor->kind == &sv_completion_executor_ops);
    task->request = sv_request_acquire(task->request);
    task->queued_ns = sl_now_ns();
    task->remaining = task->count;
    for (int i = 0; i < task->count; i++) {
        task->sequences[i].task = task;
        task->sequences[i].slot = -1;
    }
    pthread_mutex_lock(&executor->lock);
    for (int i = 0; i < task->count; i++)
        sv_queue_push(&executor->arrived, &task->sequences[i]);
    pthread_mutex_unlock(&executor->lock);
}

/* ---- endings --------------------------------------------------------------------------------- */

static void add_usage(struct sv_completion_task *task)
{
    struct sv_usage *usage = &task->usage;
    for (int i = 0; i < task->count; i++) {
        struct sl_generation_usage one = sl_generation_usage(task->sequences[i].generation);
        usage->completion_tokens += one.completion_tokens;
        usage->layers_used += one.layers_used;
        usage->layers_full += one.layers_full;
    }
}

/* After the last sequence the task belongs to its request again. */
static void finish_task(struct executor *executor, struct sv_completion_task *task)
{
    struct sv_request *request = task->request;
    task->finished_ns = sl_now_ns();
    sv_executor_record_end(&executor->base, request, task->started_ns, task->finished_ns);
    if (task->error.kind != SV_OK && task->stream)
        sv_sse_stream_fail(task->stream, &task->error);
    atomic_store(&task->finished, true);
    sv_request_wake(request);
    sv_request_release(request);
}

static void free_slot(struct executor *executor, struct sv_sequence *sequence)
{
    if (sequence->slot < 0)
        return;
    assert(executor->running[sequence->slot] == sequence);
    executor->running[sequence->slot] = NULL;
    executor->base.running--;
    sl_session_clear(executor->session, sequence->slot);
    sequence->slot = -1;
}

/* Wakes the reader of a stream that has output. */
static void wake_reader(struct sv_completion_task *task)
{
    if (task->has_output && task->stream)
        sv_request_wake(task->request);
    task->has_output = false;
}

/* The same at the end of a step, unless the stream's last event was a moment ago: each event costs
 * as much as the computation of a token, and those of many streams compete with it. */
static void wake_reader_in_time(const struct executor *executor, struct sv_sequence *sequence,
                                int64_t now)
{
    struct sv_completion_task *task = sequence->task;
    if (!task->has_output ||
        (sequence->blocked_ns == 0 && now - task->woken_ns < executor->options.stream_interval_ns))
        return;
    task->woken_ns = now;
    wake_reader(task);
}

/* The sequence has left all lists and may be gone afterwards. */
static void end_sequence(struct executor *executor, struct sv_sequence *sequence)
{
    struct sv_completion_task *task = sequence->task;
    struct sl_generation_usage usage = sl_generation_usage(sequence->generation);
    sv_metric_add(executor->base.series[SV_METRIC_PROMPT_TOKENS], usage.prompt_tokens);
    if (usage.layers_full > 0)
        sv_metric_observe(executor->base.series[SV_METRIC_MEAN_DEPTH],
                          sv_mean_depth(task->usage.depth, usage.layers_used, usage.layers_full));
    free_slot(executor, sequence);
    sv_admission_complete(&executor->base.admission, sequence->cost);
    if (--task->remaining == 0)
        finish_task(executor, task);
    else
        wake_reader(task);
}

/* The text is complete and in the stream. */
static void complete(struct executor *executor, struct sv_sequence *sequence)
{
    struct sv_completion_task *task = sequence->task;
    if (task->remaining == 1)
        add_usage(task);
    if (task->stream && task->remaining == 1)
        sv_sse_stream_usage(task->stream, &task->usage);
    if (task->stream)
        sv_sse_stream_finish(task->stream, sequence->choice,
                             sl_generation_finish(sequence->generation));
    task->has_output = true;
    end_sequence(executor, sequence);
}

/* The first error of a task is the one that is sent. */
static bool must_end(const struct executor *executor, const struct sv_sequence *sequence,
                     const struct sv_error *ending, int64_t now)
{
    struct sv_completion_task *task = sequence->task;
    if (sv_request_must_stop(task->request, task->deadline_ns, ending, now, &task->error))
        return true;
    return sequence->blocked_ns > 0 &&
           now - sequence->blocked_ns > executor->options.write_timeout_ns &&
           !sv_fail(&task->error, SV_CLIENT_TOO_SLOW, NULL,
                    "The client did not read the stream in time.");
}

static void sweep_list(struct executor *executor, struct sv_queue *list,
                       const struct sv_error *ending, int64_t now)
{
    struct sv_queue before = *list;
    *list = (struct sv_queue){0};
    for (struct sv_sequence *s; (s = sv_queue_pop(&before));)
        if (must_end(executor, s, ending, now))
            end_sequence(executor, s);
        else
            sv_queue_push(list, s);
}

static void sweep(struct sv_executor *base, const struct sv_error *ending)
{
    struct executor *executor = (struct executor *)base;
    int64_t now = sl_now_ns();
    sweep_list(executor, &executor->base.waiting, ending, now);
    sweep_list(executor, &executor->draining, ending, now);
    for (int i = 0; i < executor->options.max_sequences; i++)
        if (executor->running[i] && must_end(executor, executor->running[i], ending, now))
            end_sequence(executor, executor->running[i]);
    sv_executor_record_queue(&executor->base);
}

/* ---- one step -------------------------------------------------------------------------------- */

/* Puts the stable text into the stream. False: it does not all fit. */
static bool flush(struct sv_sequence *sequence, int64_t now)
{
    struct sv_completion_task *task = sequence->task;
    if (!task->stream)
        return true;
    size_t bytes;
    int records;
    const char *text = sl_generation_text(sequence->generation, &bytes);
    const struct sl_token_logprob *record = sl_generation_logprobs(sequence->generation, &records);
    if (bytes == sequence->flushed && records == sequence->flushed_records &&
        sequence->blocked_ns == 0)
        return true;
    bool whole = sv_sse_stream_put(task->stream, sequence->choice, text, bytes, record, records);
    task->has_output = true;
    sequence->flushed = bytes;
    sequence->flushed_records = records;
    if (whole)
        sequence->blocked_ns = 0;
    else if (sequence->blocked_ns == 0)
        sequence->blocked_ns = now;
    return whole;
}

/* The generation has ended. Its slot is freed even if the client has not read everything. */
static void finish_decoding(struct executor *executor, struct sv_sequence *sequence, int64_t now)
{
    free_slot(executor, sequence);
    if (sl_generation_finish(sequence->generation) == SL_FINISH_ERROR) {
        struct sv_error *error = &sequence->task->error;
        if (error->kind == SV_OK) {
            (void)sv_fail(error, SV_INTERNAL, NULL, "The model produced NaN or infinity.");
            error->permanent = true;
        }
        end_sequence(executor, sequence);
    } else if (flush(sequence, now))
        complete(executor, sequence);
    else {
        sv_queue_push(&executor->draining, sequence);
        wake_reader(sequence->task);
    }
}

/* Starts the sequence that has waited longest. */
static void fill_slot(struct executor *executor, int slot, int64_t now)
{
    struct sv_sequence *sequence = sv_queue_pop(&executor->base.waiting);
    executor->running[slot] = sequence;
    executor->base.running++;
    sequence->slot = slot;
    if (sequence->task->started_ns == 0) {
        sequence->task->started_ns = now;
        sv_executor_record_start(&executor->base, sequence->task->queued_ns, now);
    }
    if (sl_generation_finished(sequence->generation))
        finish_decoding(executor, sequence, now); /* max_tokens is 0 */
}

static void fill_slots(struct executor *executor, int64_t now)
{
    for (int slot = 0; slot < executor->options.max_sequences; slot++)
        while (!executor->running[slot] && executor->base.waiting.first)
            fill_slot(executor, slot, now);
}

/* Sequences whose stream was full try again. */
static void retry_blocked(struct executor *executor, int64_t now)
{
    struct sv_queue before = executor->draining;
    executor->draining = (struct sv_queue){0};
    for (struct sv_sequence *s; (s = sv_queue_pop(&before));)
        if (flush(s, now))
            complete(executor, s);
        else {
            sv_queue_push(&executor->draining, s);
            wake_reader(s->task);
        }
    for (int i = 0; i < executor->options.max_sequences; i++)
        if (executor->running[i] && executor->running[i]->blocked_ns > 0) {
            (void)flush(executor->running[i], now);
            wake_reader(executor->running[i]->task);
        }
}

/* Collects what every running sequence feeds. All take part: each leaves a token for the later
 * ones. */
static int build_batch(struct executor *executor)
{
    int slots = executor->options.max_sequences, runnable = 0, count = 0;
    for (int i = 0; i < slots; i++)
        runnable += executor->running[i] && executor->running[i]->blocked_ns == 0;
    int rows = executor->options.max_batch_tokens;
    executor->next_slot = (executor->next_slot + 1) % slots;
    for (int i = 0; i < slots && count < runnable; i++) {
        struct sv_sequence *s = executor->running[(executor->next_slot + i) % slots];
        if (!s || s->blocked_ns > 0)
            continue;
        struct sl_chunk *feed = &executor->feeds[count];
        *feed = (struct sl_chunk){.slot = s->slot, .operating_point = s->task->operating_point};
        sl_generation_next_chunk(s->generation, executor->session, rows - (runnable - count - 1),
                                 feed);
        if (feed->count == 0) { /* its source waits for a step with room */
            runnable--;
            continue;
        }
        rows -= feed->count + feed->source_count;
        executor->fed[count++] = s;
    }
    assert(rows >= 0);
    return count;
}

static void record_tokens(struct executor *executor, struct sv_sequence *sequence, int64_t now)
{
    int generated = sl_generation_usage(sequence->generation).completion_tokens;
    if (generated == sequence->generated)
        return;
    if (sequence->generated == 0)
        sv_metric_observe(executor->base.series[SV_METRIC_FIRST_TOKEN_SECONDS],
                          1e-9 * (double)(now - sequence->task->queued_ns));
    else
        sv_metric_observe(executor->base.series[SV_METRIC_INTER_TOKEN_SECONDS],
                          1e-9 * (double)(now - sequence->stepped_ns));
    sv_metric_add(executor->base.series[SV_METRIC_GENERATED_TOKENS],
                  generated - sequence->generated);
    sequence->generated = generated;
    sequence->stepped_ns = now;
}

static void apply_result(struct executor *executor, struct sv_sequence *sequence,
                         const struct sl_chunk *feed, int64_t now)
{
    executor->base.layers_used += feed->layers_used;
    executor->base.layers_full += feed->layers_full;
    sl_generation_accept(sequence->generation, feed);
    record_tokens(executor, sequence, now);
    if (sl_generation_finished(sequence->generation))
        finish_decoding(executor, sequence, now);
    else
        (void)flush(sequence, now);
}

static void record_batch(struct executor *executor, int count, int64_t took)
{
    int rows = 0;
    for (int i = 0; i < count; i++)
        rows += executor->feeds[i].count + executor->feeds[i].source_count;
    sv_executor_record_batch(&executor->base, count, rows, took);
    sv_executor_record_layers(&executor->base);
}

/* The engine rejected the batch, which is a bug. Its requests fail; the daemon goes on. */
static void fail_batch(struct executor *executor, int count, const struct sl_err *err)
{
    SV_LOG(SV_LOG_ERROR, "batch failed", sv_str("model", executor->base.ref->id),
           sv_str("reason", err->text));
    for (int i = 0; i < count; i++) {
        struct sv_sequence *s = executor->fed[i];
        if (s->task->error.kind == SV_OK)
            (void)sv_fail(&s->task->error, SV_INTERNAL, NULL, "The model failed to run.");
        end_sequence(executor, s);
    }
}

static bool step(struct sv_executor *base)
{
    struct executor *executor = (struct executor *)base;
    struct sl_err err;
    int64_t now = sl_now_ns();
    retry_blocked(executor, now);
    fill_slots(executor, now);
    int count = build_batch(executor);
    if (count == 0)
        return false;
    int64_t began = sl_now_ns();
    if (!sl_session_run(executor->session, executor->feeds, count, &err)) {
        fail_batch(executor, count, &err);
        return true;
    }
    now = sl_now_ns();
    record_batch(executor, count, now - began);
    for (int i = 0; i < count; i++) {
        struct sv_sequence *s = executor->fed[i];
        apply_result(executor, s, &executor->feeds[i], now);
        /* A sequence without a slot has ended and may be gone; its reader was woken then. */
        if (executor->running[executor->feeds[i].slot] == s)
            wake_reader_in_time(executor, s, now);
    }
    sv_executor_record_queue(&executor->base);
    return true;
}

static bool warm(struct sv_executor *base, const int32_t *tokens, int count, struct sl_err *err)
{
    const struct executor *executor = (const struct executor *)base;
    int rows = executor->options.max_batch_tokens;
    return sl_session_warm_up(executor->session, tokens, count < rows ? count : rows, err);
}

static const enum sv_metric metric_ids[] = {
    SV_METRIC_FIRST_TOKEN_SECONDS, SV_METRIC_INTER_TOKEN_SECONDS, SV_METRIC_GENERATED_TOKENS};

const struct sv_executor_ops sv_completion_executor_ops = {
    .metrics = metric_ids,
    .metric_count = sizeof metric_ids / sizeof metric_ids[0],
    .sweep = sweep,
    .step = step,
    .warm = warm,
    .destroy = destroy,
};
