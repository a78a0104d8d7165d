/* test_classification_executor.c - every text gets its own answer, requests are admitted
 * whole, and cancelled ones are not computed. */
#include "base/clock.h"
#include "base/random.h"
#include "model/model.h"
#include "support/in_process_classifier.h"
#include "support/registry_fixture.h"
#include "support/test.h"
#include "support/tiny_classifiers.h"
#include "support/tiny_store.h"

#include <pthread.h>
#include <stdatomic.h>

enum { ITEMS = 16, ROWS = 100, TEXTS_MAX = 64, ENCODED_NS = 12345 };

static struct scheduler_fixture fixture;

static void teardown(void)
{
    scheduler_fixture_release(&fixture);
}

static struct sv_model_ref *mood_served, *plain_served;

static void start(void (*make)(const char *store), int64_t items_max)
{
    scheduler_fixture_init(&fixture, make);
    scheduler_fixture_start(
        &fixture, &(struct sv_scheduler_options){
                      .complete = {.max_sequences = 1,
                                   .max_batch_tokens = 8,
                                   .bounds = {.items_max = 8, .tokens_max = 1000}},
                      .classify = {.max_batch_size = ITEMS,
                                   .max_batch_tokens = ROWS,
                                   .bounds = {.items_max = items_max, .tokens_max = 10000000}}});
}

static void open_with(int64_t items_max)
{
    start(tiny_classifiers_make, items_max);
    mood_served = scheduler_fixture_acquire(&fixture, MOOD "@4");
    plain_served = scheduler_fixture_acquire(&fixture, PLAIN);
}

static void open_usual(void)
{
    open_with(1000000);
}

/* Of what is submitted from now on; and which of its texts breaks the numbers of `plain`. */
static int64_t deadline_ns = INT64_MAX;
static int poisoned = -1;

struct ask {
    struct sv_classification_task task;
    struct sv_classification_item *items;
    int32_t *ids;  /* TEXTS ids of all items, one after another */
    float *logits; /* and their answers */
    struct sv_model_ref *ref;
};

/* Text `index` of ask `seed`: a length and ids that no other text has together. */
static int write_text(uint64_t seed, int index, int vocab, int longest, int32_t *ids)
{
    uint64_t key = sl_random_key(seed + 1, "texts");
    int count = 1 + (int)sl_random_below(key, (uint64_t)index * 100, (uint32_t)longest);
    for (int i = 0; i < count; i++)
        ids[i] =
            (int32_t)sl_random_below(key, (uint64_t)index * 100 + 1 + (uint64_t)i, (uint32_t)vocab);
    return count;
}

/* A request of this many texts; NULL when they do not fit. */
static struct ask *submit(struct sv_model_ref *ref, uint64_t seed, int count)
{
    struct sv_error error;
    int64_t reserved;
    const struct sl_model_info *info = sl_model_info(ref->model);
    size_t texts = (size_t)count;
    int64_t tokens = 0;
    struct ask *ask = calloc(1, sizeof *ask);
    cr_assert(ask);
    ask->ref = ref;
    ask->items = calloc(texts, sizeof *ask->items);
    ask->ids = calloc(texts * (size_t)info->context, sizeof *ask->ids);
    ask->logits = calloc(texts * (size_t)info->classes, sizeof *ask->logits);
    for (size_t i = 0; i < texts; i++) {
        int32_t *ids = ask->ids + i * (size_t)info->context;
        /* Not the last sign of `plain`, which breaks the numbers. */
        ask->items[i] = (struct sv_classification_item){
            .tokens = ids,
            .count = write_text(seed, (int)i, PLAIN_SPECIAL + PLAIN_SIGNS - 1, info->context, ids),
            .rows = 1,
            .text = (int)i,
            .logits = ask->logits + i * (size_t)info->classes};
        ask->items[i].cost = ask->items[i].count;
        tokens += ask->items[i].count;
        if ((int)i == poisoned)
            ids[0] = PLAIN_SPECIAL + PLAIN_SIGNS - 1;
    }
    ask->task = (struct sv_classification_task){.request = scheduler_fixture_request(&fixture),
                                                .items = ask->items,
                                                .count = count,
                                                .deadline_ns = deadline_ns,
                                                .encoded_ns = ENCODED_NS};
    if (sv_scheduler_admit(fixture.scheduler, ref, count, tokens, &reserved, &error)) {
        sv_scheduler_submit_classification(fixture.scheduler, ref, &ask->task);
        return ask;
    }
    sv_request_release(ask->task.request);
    free(ask->items);
    free(ask->ids);
    free(ask->logits);
    free(ask);
    return NULL;
}

static void ask_destroy(struct ask *ask)
{
    sv_request_release(ask->task.request);
    free(ask->items);
    free(ask->ids);
    free(ask->logits);
    free(ask);
}

static double outcome(const char *model, const char *how)
{
    return sv_metric_value(sv_metrics_series(fixture.metrics, SV_METRIC_ITEMS,
                                             (const char *const[]){model, "4", how}));
}

/* Every text has the bits that it has alone. */
static void expect_answers(const struct ask *ask, const struct in_process_classifier *oracle)
{
    cr_assert_eq(ask->task.error.kind, SV_OK, "%s", ask->task.error.message);
    for (int i = 0; i < ask->task.count; i++) {
        const struct sv_classification_item *item = &ask->items[i];
        struct classification v = in_process_classify_tokens(oracle, item->tokens, item->count);
        cr_assert_eq(memcmp(v.logits, item->logits, (size_t)v.classes * sizeof *v.logits), 0,
                     "text %d of %d", i, ask->task.count);
        cr_assert_eq(item->layers_used, v.layers_used);
        cr_assert_eq(item->layers_full, v.layers_full);
    }
}

/* ---- tests ---------------------------------------------------------------------------------- */

TestSuite(classification_executor, .fini = teardown);

Test(classification_executor, every_text_gets_its_own_result_over_any_number_of_batches,
     .init = open_usual)
{
    enum { ASKS = TEST_SANITIZED ? 20 : 60 };

    struct ask *asks[ASKS];
    int64_t texts = 0;
    struct in_process_classifier mood = in_process_open(fixture.store, MOOD),
                                 plain = in_process_open(fixture.store, PLAIN);
    for (int i = 0; i < ASKS; i++) {
        asks[i] = submit(i % 3 ? mood_served : plain_served, (uint64_t)i, 1 + i * 7 % TEXTS_MAX);
        cr_assert(asks[i]);
    }
    for (int i = 0; i < ASKS; i++) {
        scheduler_fixture_wait(&asks[i]->task.finished);
        expect_answers(asks[i], i % 3 ? &mood : &plain);
        texts += asks[i]->task.count;
        ask_destroy(asks[i]);
    }
    scheduler_fixture_expect_idle(&fixture);
    cr_assert_eq(outcome("mood", "ok") + outcome("plain", "ok"), (double)texts);
    const char *labels[] = {"mood", "4"};
    const struct sv_series *sizes =
        sv_metrics_series(fixture.metrics, SV_METRIC_BATCH_SIZE, labels);
    const struct sv_series *tokens =
        sv_metrics_series(fixture.metrics, SV_METRIC_BATCH_TOKENS, labels);
    double batches = (double)sv_metric_count(sizes);
    cr_assert_gt(sv_metric_value(sizes), 2 * batches, "texts did not share batches");
    cr_assert_leq(sv_metric_value(tokens), ROWS * batches);
    in_process_close(&mood);
    in_process_close(&plain);
}

static void open_for_three(void)
{
    open_with(3);
}

Test(classification_executor, a_request_is_admitted_whole_or_not_at_all, .init = open_for_three)
{
    struct sv_error error;
    int64_t reserved;
    cr_assert(sv_scheduler_admit(fixture.scheduler, mood_served, 2, 100, &reserved, &error));
    cr_assert_not(sv_scheduler_admit(fixture.scheduler, mood_served, 2, 100, &reserved, &error));
    cr_assert_eq(error.kind, SV_OVERLOADED);
    cr_assert_gt(error.retry_ms, 0);
    cr_assert(sv_scheduler_admit(fixture.scheduler, plain_served, 3, 100, &reserved, &error),
              "another queue");
    cr_assert(sv_scheduler_admit(fixture.scheduler, mood_served, 1, 100, &reserved, &error));
    sv_scheduler_withdraw(fixture.scheduler, mood_served, 3, 200);
    sv_scheduler_withdraw(fixture.scheduler, plain_served, 3, 100);
    cr_assert_not(sv_scheduler_admit(fixture.scheduler, mood_served, 4, 100, &reserved, &error));
    cr_assert_eq(error.kind, SV_INVALID_VALUE, "four can never fit");
    scheduler_fixture_expect_idle(&fixture);
}

/* Long enough that whatever comes after it has to wait. */
static struct ask *submit_long(void)
{
    enum { LONG = TEST_SANITIZED ? 500 : 2000 };

    struct ask *ask = submit(mood_served, 1, LONG);
    cr_assert(ask);
    return ask;
}

Test(classification_executor, cancelled_requests_are_not_computed, .init = open_usual)
{
    enum { ASKS = 8, EACH = 10 };

    struct ask *first = submit_long(), *asks[ASKS];
    for (int i = 0; i < ASKS; i++)
        cr_assert(asks[i] = submit(mood_served, (uint64_t)i, EACH));
    for (int i = 0; i < ASKS; i++)
        sv_request_cancel(asks[i]->task.request);
    for (int i = 0; i < ASKS; i++) {
        scheduler_fixture_wait(&asks[i]->task.finished);
        cr_assert_eq(asks[i]->task.error.kind, SV_CLIENT_DISCONNECTED);
        cr_assert_eq(asks[i]->task.started_ns, 0, "it was in a batch");
        ask_destroy(asks[i]);
    }
    cr_assert_not(atomic_load(&first->task.finished), "it was not long enough");
    sv_request_cancel(first->task.request);
    scheduler_fixture_wait(&first->task.finished);
    cr_assert_eq(first->task.error.kind, SV_CLIENT_DISCONNECTED);
    cr_assert_eq(outcome("mood", "cancelled") + outcome("mood", "ok"),
                 first->task.count + ASKS * EACH);
    cr_assert_geq(outcome("mood", "cancelled"), ASKS * EACH + 1, "in the middle");
    ask_destroy(first);
    scheduler_fixture_expect_idle(&fixture);
}

static double gauge(enum sv_metric metric)
{
    return sv_metric_value(
        sv_metrics_series(fixture.metrics, metric, (const char *const[]){"mood", "4"}));
}

/* Who holds the engine's lock keeps a batch from running, so that it is seen amid it. */
Test(classification_executor, a_request_cancelled_during_a_batch_has_no_results, .init = open_usual)
{
    enum { TEXTS = 2 * ITEMS };

    double running = 0;
    pthread_mutex_lock(&fixture.engine->lock);
    struct ask *ask = submit(mood_served, 1, TEXTS);
    for (int i = 0; i < SCHEDULER_WAIT_MS &&
                    (running == 0 || gauge(SV_METRIC_SEQUENCES_WAITING) != TEXTS - running);
         i++) {
        (void)usleep(1000);
        running = gauge(SV_METRIC_SEQUENCES_RUNNING);
    }
    cr_expect_gt(running, 0);
    cr_expect_eq(gauge(SV_METRIC_SEQUENCES_WAITING), TEXTS - running,
                 "those in the batch wait no more");
    sv_request_cancel(ask->task.request);
    pthread_mutex_unlock(&fixture.engine->lock);
    scheduler_fixture_wait(&ask->task.finished);
    cr_expect_eq(ask->task.error.kind, SV_CLIENT_DISCONNECTED);
    cr_expect_eq(outcome("mood", "cancelled"), TEXTS);
    cr_expect_eq(outcome("mood", "ok"), 0);
    ask_destroy(ask);
    scheduler_fixture_expect_idle(&fixture);
}

Test(classification_executor, expired_requests_are_not_computed, .init = open_usual)
{
    deadline_ns = sl_now_ns();
    struct ask *late = submit(mood_served, 1, 5);
    deadline_ns = INT64_MAX;
    struct ask *fine = submit(mood_served, 2, 5);
    scheduler_fixture_wait(&late->task.finished);
    scheduler_fixture_wait(&fine->task.finished);
    cr_assert_eq(late->task.error.kind, SV_DEADLINE_EXCEEDED);
    cr_assert_eq(late->task.started_ns, 0);
    cr_assert_eq(fine->task.error.kind, SV_OK);
    cr_assert_eq(outcome("mood", "expired"), 5);
    cr_assert_eq(outcome("mood", "ok"), 5);
    ask_destroy(late);
    ask_destroy(fine);
    scheduler_fixture_expect_idle(&fixture);
}

/* First come, first served: a later request of another model does not wait for an earlier one's
 * end, but a later one of the same does. */
Test(classification_executor, models_take_turns, .init = open_usual)
{
    struct ask *first = submit_long(), *other = submit(plain_served, 2, TEXTS_MAX);
    struct ask *later = submit(mood_served, 3, 1);
    scheduler_fixture_wait(&other->task.finished);
    cr_assert_not(atomic_load(&first->task.finished), "the other model waited for all of it");
    cr_assert_not(atomic_load(&later->task.finished), "it came later");
    scheduler_fixture_wait(&later->task.finished);
    cr_assert(atomic_load(&first->task.finished));
    ask_destroy(first);
    ask_destroy(other);
    ask_destroy(later);
    scheduler_fixture_expect_idle(&fixture);
}

Test(classification_executor, nan_and_infinity_fail_only_their_request, .init = open_usual)
{
    enum { ASKS = 20, BAD = ASKS / 4, EACH = 6 };

    struct ask *asks[ASKS];
    struct in_process_classifier plain = in_process_open(fixture.store, PLAIN);
    struct ask *first = submit_long(); /* so that all the others share batches */
    for (int i = 0; i < ASKS; i++) {
        poisoned = i % 4 == 1 ? 3 : -1;
        cr_assert(asks[i] = submit(plain_served, (uint64_t)i, EACH));
    }
    for (int i = 0; i < ASKS; i++) {
        scheduler_fixture_wait(&asks[i]->task.finished);
        if (i % 4 == 1) {
            cr_assert_eq(asks[i]->task.error.kind, SV_INTERNAL);
            cr_assert(strstr(asks[i]->task.error.message, "text 3 of"));
        } else
            expect_answers(asks[i], &plain);
        ask_destroy(asks[i]);
    }
    sv_request_cancel(first->task.request);
    scheduler_fixture_wait(&first->task.finished);
    ask_destroy(first);
    scheduler_fixture_expect_idle(&fixture);
    cr_assert_eq(outcome("plain", "error"), BAD);
    cr_assert_eq(outcome("plain", "ok"), ASKS * EACH - BAD);
    in_process_close(&plain);
}

/* Each text counts as what came of it, wherever among the others of its request the bad one is and
 * whatever batches they are in. */
Test(classification_executor, a_failed_text_is_counted_once_at_any_index, .init = open_usual)
{
    enum { TEXTS = 3 * ITEMS };

    static const int places[] = {0, ITEMS - 1, ITEMS, TEXTS / 2, TEXTS - 1};
    int count = sizeof places / sizeof places[0];
    char wanted[32];
    for (int i = 0; i < count; i++) {
        poisoned = places[i];
        struct ask *ask = submit(plain_served, (uint64_t)i, TEXTS);
        cr_assert(ask);
        scheduler_fixture_wait(&ask->task.finished);
        (void)snprintf(wanted, sizeof wanted, "for text %d of", places[i]);
        cr_assert_eq(ask->task.error.kind, SV_INTERNAL);
        cr_assert(strstr(ask->task.error.message, wanted), "%s", ask->task.error.message);
        ask_destroy(ask);
        cr_assert_eq(outcome("plain", "error"), i + 1, "%s", wanted);
        cr_assert_eq(outcome("plain", "ok"), (i + 1) * (TEXTS - 1), "%s", wanted);
    }
    scheduler_fixture_expect_idle(&fixture);
}

Test(classification_executor, end_all_ends_all_requests, .init = open_usual)
{
    enum { ASKS = 6 };

    struct ask *asks[ASKS], *first = submit_long();
    struct sv_error error;
    for (int i = 0; i < ASKS; i++)
        cr_assert(asks[i] = submit(i % 2 ? mood_served : plain_served, (uint64_t)i, 3));
    (void)sv_fail(&error, SV_DRAINING, NULL, "Closing.");
    sv_scheduler_fail_all(fixture.scheduler, &error);
    scheduler_fixture_wait(&first->task.finished);
    cr_assert_eq(first->task.error.kind, SV_DRAINING);
    ask_destroy(first);
    for (int i = 0; i < ASKS; i++) {
        scheduler_fixture_wait(&asks[i]->task.finished);
        ask_destroy(asks[i]);
    }
    scheduler_fixture_expect_idle(&fixture);
}

static void make_two_versions(const char *store)
{
    tiny_classifiers_make(store);
    tiny_store_copy(store, MOOD "/4", MOOD "/5");
}

/* When a version is replaced under load, those that wait for it must not wait twice as long. */
Test(classification_executor, versions_of_a_model_are_served_in_the_order_of_arrival)
{
    enum { ASKS = 10 };

    struct ask *asks[ASKS];
    start(make_two_versions, 1000000);
    struct sv_change_result loaded = registry_change(&fixture, SV_CHANGE_LOAD, MOOD, 4);
    cr_assert_eq(loaded.error.kind, SV_OK);
    struct sv_model_ref *before = scheduler_fixture_acquire(&fixture, MOOD "@4");
    struct sv_model_ref *after = scheduler_fixture_acquire(&fixture, MOOD "@5");
    for (int i = 0; i < ASKS; i++)
        asks[i] = submit(i < ASKS - 1 ? before : after, (uint64_t)i, TEXTS_MAX);
    for (int i = 0; i < ASKS; i++)
        scheduler_fixture_wait(&asks[i]->task.finished);
    for (int i = 0; i + 1 < ASKS; i++)
        cr_assert_leq(asks[i]->task.started_ns, asks[i + 1]->task.started_ns, "request %d", i);
    for (int i = 0; i < ASKS; i++)
        ask_destroy(asks[i]);
}

Test(classification_executor, statistics_add_up, .init = open_usual)
{
    struct sv_classification_stats stats;
    struct ask *good = submit(mood_served, 1, 40);
    scheduler_fixture_wait(&good->task.finished);
    const struct sv_classification_task *task = &good->task;
    deadline_ns = 0;
    struct ask *late = submit(mood_served, 2, 3);
    scheduler_fixture_wait(&late->task.finished);
    cr_assert(sv_scheduler_stats(fixture.scheduler, mood_served, &stats));
    cr_assert_eq(stats.size_max, ITEMS);
    int64_t batches = 0, texts = 0, tokens = 0;
    for (int i = 0; i < task->count; i++)
        tokens += task->items[i].count;
    for (int i = 0; i <= stats.size_max; i++) {
        batches += stats.by_size[i].count;
        texts += i * stats.by_size[i].count;
    }
    cr_assert_eq(stats.by_size[0].count, 0);
    cr_assert_eq(stats.items, 40);
    cr_assert_eq(texts, 40);
    cr_assert_eq(stats.batches, batches);
    cr_assert_geq(batches, 40 / ITEMS);
    cr_assert_eq(stats.success.count, 1);
    cr_assert_eq(stats.fail.count, 1);
    cr_assert_eq(stats.queue.count, 1);
    cr_assert_eq(stats.queue.ns, task->started_ns - task->queued_ns);
    cr_assert_eq(stats.encode.ns, ENCODED_NS);
    cr_assert_gt(stats.compute.ns, 0);
    cr_assert_eq(stats.compute.ns, task->finished_ns - task->started_ns);
    cr_assert_eq((int64_t)gauge(SV_METRIC_PROMPT_TOKENS), tokens);
    free(stats.by_size);
    ask_destroy(good);
    ask_destroy(late);
}
