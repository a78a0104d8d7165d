/* test_scheduler.c - scheduler: every request gets its own result, and none waits
 * for the dead. */
#include "base/clock.h"
#include "support/scheduler_fixture.h"
#include "support/test.h"
#include "support/tiny_store.h"

enum { PROMPT = 5, SLOTS = 4 };

static struct scheduler_fixture fixture;

static void teardown(void)
{
    scheduler_fixture_release(&fixture);
}

static struct sv_model_ref *ref;

static int64_t stream_interval_ns;

static void open_with(int64_t items_max, int64_t stall_ms)
{
    scheduler_fixture_init(&fixture, tiny_store_make);
    scheduler_fixture_start(
        &fixture, &(struct sv_scheduler_options){
                      .complete = {.max_sequences = SLOTS,
                                   .max_batch_tokens = 8,
                                   .bounds = {.items_max = items_max, .tokens_max = 10000000},
                                   .write_timeout_ns = stall_ms * 1000000,
                                   .stream_interval_ns = stream_interval_ns}});
    ref = scheduler_fixture_acquire(&fixture, TINY_MODEL "@1");
}

static void open_usual(void)
{
    open_with(1000, 60000);
}

/* Of what is submitted from now on. */
static int64_t deadline_ns = INT64_MAX;

struct ask {
    struct sv_completion_task task;
    struct sv_sequence sequences[8];
};

static struct sl_generation *generate(uint64_t seed, int choice, int tokens)
{
    struct sl_err err;
    struct sl_generation *generation;
    int32_t prompt[PROMPT];
    for (int i = 0; i < PROMPT; i++)
        prompt[i] = (int32_t)((seed * 7 + (uint64_t)i) % 50);
    const struct sl_generation_options options = {.prompt = prompt,
                                                  .prompt_count = PROMPT,
                                                  .max_tokens = tokens,
                                                  .sampling = {.temperature = 1, .top_p = 1},
                                                  .seed = seed,
                                                  .choice = choice};
    EXPECT_OK((generation = sl_generation_create(ref->model, &options, &err)), err);
    return generation;
}

static void room(void *context)
{
    (void)context;
    sv_scheduler_wake(fixture.scheduler);
}

/* Fills a request with this many choices; NULL when they do not fit. */
static struct ask *submit(uint64_t seed, int choices, int tokens, bool streams)
{
    struct sl_err err;
    struct sv_error error;
    int64_t reserved;
    const struct sv_sse_stream_options stream = {
        .head = {&sv_text_format, "id", "m", "fp", 0}, .choices = choices, .on_space = room};
    if (!sv_scheduler_admit(fixture.scheduler, ref, choices, (int64_t)choices * (PROMPT + tokens),
                            &reserved, &error))
        return NULL;
    struct ask *ask = calloc(1, sizeof *ask);
    cr_assert(ask);
    for (int i = 0; i < choices; i++)
        ask->sequences[i] = (struct sv_sequence){
            .generation = generate(seed, i, tokens), .choice = i, .cost = PROMPT + tokens};
    ask->task = (struct sv_completion_task){.request = scheduler_fixture_request(&fixture),
                                            .sequences = ask->sequences,
                                            .count = choices,
                                            .deadline_ns = deadline_ns,
                                            .usage = {.depth = 2}};
    if (streams)
        EXPECT_OK((ask->task.stream = sv_sse_stream_create(&stream, &err)), err);
    sv_scheduler_submit_completion(fixture.scheduler, ref, &ask->task);
    return ask;
}

static void ask_destroy(struct ask *ask)
{
    for (int i = 0; i < ask->task.count; i++)
        sl_generation_destroy(ask->sequences[i].generation);
    sv_sse_stream_destroy(ask->task.stream);
    sv_request_release(ask->task.request);
    free(ask);
}

/* The text that this seed and choice have when nothing else runs. */
static void alone(uint64_t seed, int choice, int tokens, char *out, size_t room_bytes)
{
    struct sl_err err;
    struct sl_session *session;
    const struct sl_session_options options = {.max_sequences = 1,
                                               .max_batch_tokens = TINY_CONTEXT};
    EXPECT_OK((session = sl_session_create(ref->model, &options, &err)), err);
    struct sl_generation *g = generate(seed, choice, tokens);
    while (!sl_generation_finished(g)) {
        struct sl_chunk feed = {.slot = 0};
        sl_generation_next_chunk(g, session, TINY_CONTEXT, &feed);
        EXPECT_OK(sl_session_run(session, &feed, 1, &err), err);
        sl_generation_accept(g, &feed);
    }
    size_t bytes;
    const char *text = sl_generation_text(g, &bytes);
    (void)snprintf(out, room_bytes, "%.*s", (int)bytes, text);
    sl_generation_destroy(g);
    sl_session_destroy(session);
}

/* ---- tests ---------------------------------------------------------------------------------- */

TestSuite(scheduler, .fini = teardown);

Test(scheduler, everybody_gets_their_own_answer, .init = open_usual)
{
    enum { ASKS = 40, TOKENS = 90 }; /* past the context, so that windows slide */

    struct ask *asks[ASKS];
    for (int i = 0; i < ASKS; i++)
        cr_assert(asks[i] = submit((uint64_t)i, 1 + i % 3, TOKENS, false));
    for (int i = 0; i < ASKS; i++)
        scheduler_fixture_wait(&asks[i]->task.finished);
    for (int i = 0; i < ASKS; i++) {
        cr_assert_eq(asks[i]->task.error.kind, SV_OK);
        cr_assert_eq(asks[i]->task.usage.completion_tokens, (int64_t)TOKENS * asks[i]->task.count);
        for (int k = 0; k < asks[i]->task.count; k++) {
            char wanted[1024];
            size_t bytes;
            const char *text = sl_generation_text(asks[i]->sequences[k].generation, &bytes);
            alone((uint64_t)i, k, TOKENS, wanted, sizeof wanted);
            cr_assert_eq(bytes, strlen(wanted));
            cr_assert_eq(memcmp(text, wanted, bytes), 0, "ask %d choice %d", i, k);
        }
        ask_destroy(asks[i]);
    }
    scheduler_fixture_expect_idle(&fixture);
}

static void open_for_three(void)
{
    open_with(3, 60000);
}

Test(scheduler, a_request_is_admitted_whole_or_not_at_all, .init = open_for_three)
{
    struct sv_error error;
    int64_t reserved;
    cr_assert(sv_scheduler_admit(fixture.scheduler, ref, 2, 100, &reserved, &error));
    cr_assert_not(sv_scheduler_admit(fixture.scheduler, ref, 2, 100, &reserved, &error));
    cr_assert_eq(error.kind, SV_OVERLOADED);
    cr_assert_gt(error.retry_ms, 0);
    cr_assert_not(sv_scheduler_admit(fixture.scheduler, ref, 1, 10000000, &reserved, &error));
    cr_assert_eq(error.kind, SV_OVERLOADED, "too many tokens now");
    cr_assert(sv_scheduler_admit(fixture.scheduler, ref, 1, 100, &reserved, &error));
    sv_scheduler_withdraw(fixture.scheduler, ref, 3, 200);
    cr_assert_not(sv_scheduler_admit(fixture.scheduler, ref, 4, 100, &reserved, &error));
    cr_assert_eq(error.kind, SV_INVALID_VALUE, "four can never fit");
    scheduler_fixture_expect_idle(&fixture);
}

Test(scheduler, cancelled_work_is_dropped_while_it_waits_and_while_it_runs, .init = open_usual)
{
    enum { ASKS = SLOTS * 3, FOREVER = 100000 };

    struct ask *asks[ASKS];
    for (int i = 0; i < ASKS; i++)
        cr_assert(asks[i] = submit((uint64_t)i, 1, FOREVER, false));
    (void)usleep(1000);
    for (int i = ASKS - 1; i >= 0; i--)
        sv_request_cancel(asks[i]->task.request);
    for (int i = 0; i < ASKS; i++) {
        scheduler_fixture_wait(&asks[i]->task.finished);
        cr_assert_eq(asks[i]->task.error.kind, SV_CLIENT_DISCONNECTED);
        ask_destroy(asks[i]);
    }
    scheduler_fixture_expect_idle(&fixture);
}

Test(scheduler, expired_work_is_dropped, .init = open_usual)
{
    struct ask *slow[SLOTS], *late;
    for (int i = 0; i < SLOTS; i++)
        cr_assert(slow[i] = submit(1, 1, 100000, false));
    deadline_ns = sl_now_ns() + 30000000;
    cr_assert(late = submit(2, 2, 100000, false)); /* waits for a slot, in vain */
    scheduler_fixture_wait(&late->task.finished);
    cr_assert_eq(late->task.error.kind, SV_DEADLINE_EXCEEDED);
    ask_destroy(late);
    for (int i = 0; i < SLOTS; i++)
        sv_request_cancel(slow[i]->task.request);
    for (int i = 0; i < SLOTS; i++) {
        scheduler_fixture_wait(&slow[i]->task.finished);
        ask_destroy(slow[i]);
    }
    scheduler_fixture_expect_idle(&fixture);
}

static void open_impatient(void)
{
    open_with(1000, 200);
}

/* Reads a stream to its end; how many bytes it had. */
static size_t read_stream(struct sv_sse_stream *stream)
{
    char bytes[4096];
    size_t total = 0;
    for (int idle = 0; idle < SCHEDULER_WAIT_MS; idle++) {
        ssize_t taken = sv_sse_stream_pull(stream, bytes, sizeof bytes);
        if (taken == SV_PULL_END)
            return total;
        cr_assert_geq(taken, 0);
        total += (size_t)taken;
        if (taken == 0)
            (void)usleep(1000);
        else
            idle = 0; /* however little comes at a time */
    }
    cr_assert(false, "no end after %zu bytes", total);
    return total;
}

Test(scheduler, a_slow_reader_stops_only_itself, .init = open_impatient)
{
    enum { QUICK = SV_STREAM_TEXT_BYTES * 3 / 2 }; /* goes on when the other's buffer is full */

    struct ask *slow, *quick;
    cr_assert(slow = submit(1, 1, 100000, true));
    while (!sv_sse_stream_has_begun(slow->task.stream))
        (void)usleep(1000);
    cr_assert(quick = submit(2, 1, QUICK, false));
    scheduler_fixture_wait(&quick->task.finished);
    cr_assert_eq(quick->task.error.kind, SV_OK);
    ask_destroy(quick);
    scheduler_fixture_wait(&slow->task.finished);
    cr_assert_eq(slow->task.error.kind, SV_CLIENT_TOO_SLOW);
    cr_assert_leq(sl_generation_usage(slow->sequences[0].generation).completion_tokens,
                  SV_STREAM_TEXT_BYTES + 1, "it was not fed any more");
    cr_assert_gt(read_stream(slow->task.stream), SV_STREAM_TEXT_BYTES);
    ask_destroy(slow);
    scheduler_fixture_expect_idle(&fixture);
}

Test(scheduler, a_reader_gets_all_of_a_text_longer_than_the_buffer, .init = open_usual)
{
    enum { TOKENS = SV_STREAM_TEXT_BYTES * 2 + 100, TOTAL = 2 * TOKENS };

    struct ask *ask;
    cr_assert(ask = submit(3, 2, TOKENS, true));
    cr_assert_gt(read_stream(ask->task.stream), TOTAL);
    scheduler_fixture_wait(&ask->task.finished);
    cr_assert_eq(ask->task.error.kind, SV_OK);
    cr_assert_eq(ask->task.usage.completion_tokens, TOTAL);
    ask_destroy(ask);
    scheduler_fixture_expect_idle(&fixture);
}

/* The part of a stream's time at which its reader was woken last, before its end. */
static double last_wake(void)
{
    enum { TOKENS = 1000 };

    struct ask *ask;
    cr_assert(ask = submit(4, 1, TOKENS, true));
    cr_assert_gt(read_stream(ask->task.stream), TOKENS);
    scheduler_fixture_wait(&ask->task.finished);
    const struct sv_completion_task *t = &ask->task;
    const double part =
        (double)(t->woken_ns - t->started_ns) / (double)(t->finished_ns - t->started_ns);
    ask_destroy(ask);
    return part;
}

static void open_with_rare_events(void)
{
    stream_interval_ns = INT64_MAX / 4;
    open_usual();
}

Test(scheduler, a_reader_is_woken_at_each_step, .init = open_usual)
{
    cr_assert_gt(last_wake(), 0.5);
}

Test(scheduler, a_reader_is_not_woken_before_its_interval, .init = open_with_rare_events)
{
    cr_assert_lt(last_wake(), 0.5);
}

Test(scheduler, end_all_ends_all_requests, .init = open_usual)
{
    enum { ASKS = SLOTS + 2 };

    struct ask *asks[ASKS];
    struct sv_error error;
    for (int i = 0; i < ASKS; i++)
        cr_assert(asks[i] = submit((uint64_t)i, 1, 100000, i % 2));
    (void)sv_fail(&error, SV_DRAINING, NULL, "Closing.");
    sv_scheduler_fail_all(fixture.scheduler, &error);
    for (int i = 0; i < ASKS; i++) {
        scheduler_fixture_wait(&asks[i]->task.finished);
        cr_assert_eq(asks[i]->task.error.kind, SV_DRAINING);
        ask_destroy(asks[i]);
    }
    scheduler_fixture_expect_idle(&fixture);
}
