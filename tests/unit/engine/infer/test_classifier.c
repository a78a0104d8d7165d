/* test_classifier.c - the engine's classifier: any batch that it accepts runs in the memory it
 * took, and no text's result depends on its batch. */
#include "sluice/classifier.h"

#include "base/random.h"
#include "layers/layers.h"
#include "support/model_fixture.h"
#include "support/test.h"

enum { ITEMS_MAX = 40, ROWS_MAX = 200, MIXES = TEST_SANITIZED ? 4 : 30 };

static struct sl_engine *engine;
static struct sl_model *model;
static struct sl_classifier *classifier;

static void open_model(const struct fixture_case *f)
{
    const struct sl_arch *arch = sl_arch_at(f->arch);
    struct sl_config config = fixture_case_config(f);
    engine = fixture_engine(NULL, 2);
    model = fixture_model(engine, arch, &config);
    model->policy = fixture_policy(arch, 1);
}

static void open_classifier(int items, int rows)
{
    struct sl_err err;
    const struct sl_classifier_options options = {.max_batch_size = items,
                                                  .max_batch_tokens = rows};
    sl_classifier_destroy(classifier);
    EXPECT_OK((classifier = sl_classifier_create(model, &options, &err)), err);
}

static void close_all(void)
{
    sl_classifier_destroy(classifier);
    sl_model_close(model);
    sl_engine_destroy(engine);
    classifier = NULL;
    model = NULL;
    engine = NULL;
}

/* Texts with these lengths, of random tokens. */
static int32_t tokens[ITEMS_MAX][FIXTURE_CONTEXT];
static struct sl_classifier_item items[ITEMS_MAX];

static void fill(int count, const int *lengths, uint64_t seed)
{
    uint64_t key = sl_random_key(seed, "texts");
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < lengths[i]; k++)
            tokens[i][k] = (int32_t)sl_random_below(
                key, (uint64_t)i * FIXTURE_CONTEXT + (uint64_t)k, FIXTURE_VOCAB);
        items[i] = (struct sl_classifier_item){.tokens = tokens[i], .count = lengths[i]};
    }
}

/* A batch as full as the limits allow, of a random mix of long and short texts. */
static int mix(int max_items, int max_rows, uint64_t seed, int *lengths)
{
    uint64_t key = sl_random_key(seed, "lengths");
    int count = 0, rows = 0;
    int longest = 1 + (int)sl_random_below(key, 999, FIXTURE_CONTEXT);
    while (count < max_items && rows < max_rows) {
        int left = max_rows - rows, others = max_items - count - 1;
        int length = sl_random_below(key, (uint64_t)count, 2)
                         ? longest
                         : 1 + (int)sl_random_below(key, (uint64_t)count + 500, 3);
        if (left - others > length) /* else rows stay unused */
            length = left - others < FIXTURE_CONTEXT ? left - others : FIXTURE_CONTEXT;
        lengths[count] = length < left ? length : left;
        rows += lengths[count++];
    }
    return count;
}

Test(classifier, every_batch_within_the_limits_runs, .fini = close_all)
{
    static const struct {
        int items, rows;
    } limits[] = {{1, 24}, {3, 25}, {16, 100}, {40, 200}, {40, 24}, {7, 199}, {30, 47}};
    struct sl_err err;
    int lengths[ITEMS_MAX];
    for (struct fixture_case f = {0}; fixture_next(&f); f.variant++) {
        if (f.task != SL_TASK_CLASSIFICATION)
            continue;
        open_model(&f);
        for (size_t l = 0; l < sizeof limits / sizeof limits[0]; l++) {
            open_classifier(limits[l].items, limits[l].rows);
            for (uint64_t seed = 0; seed < MIXES; seed++) {
                int count = mix(limits[l].items, limits[l].rows, seed, lengths);
                fill(count, lengths, seed);
                EXPECT_OK(sl_classifier_run(classifier, items, count, &err), err);
            }
        }
        close_all();
    }
}

enum { FULL_ITEMS = 64, FULL_ROWS = 990, FULL_CONTEXT = 200 };

/* Ever longer texts, as many as fit, so that both the rows and the items of a run are used up. */
static int full_lengths(int *lengths, int texts, int longest)
{
    int rows = 0;
    for (int i = 0; i < texts; i++)
        rows += lengths[i] = 1;
    for (int i = 0; i < texts && rows < FULL_ROWS; i++) {
        int more = longest - 1 < FULL_ROWS - rows ? longest - 1 : FULL_ROWS - rows;
        lengths[i] += more;
        rows += more;
    }
    return rows;
}

static void run_full(int texts, int longest)
{
    static const int32_t zeros[FULL_CONTEXT];
    struct sl_err err;
    struct sl_classifier_item list[FULL_ITEMS] = {0};
    int lengths[FULL_ITEMS], rows = full_lengths(lengths, texts, longest);
    for (int i = 0; i < texts; i++)
        list[i] = (struct sl_classifier_item){.tokens = zeros, .count = lengths[i]};
    EXPECT_OK(sl_classifier_run(classifier, list, texts, &err), err);
    cr_expect(rows == FULL_ROWS || texts * longest < FULL_ROWS);
    for (int i = 0; i < texts; i++)
        cr_expect(list[i].finite, "text %d of %d", i, texts);
}

/* An arena that is too small aborts. */
Test(classifier, has_room_for_full_runs_of_all_shapes, .fini = close_all)
{
    for (struct fixture_case f = {0}; fixture_next(&f); f.variant++) {
        if (f.task != SL_TASK_CLASSIFICATION)
            continue;
        const struct sl_arch *arch = sl_arch_at(f.arch);
        struct sl_config config = fixture_case_config(&f);
        config.context_length = FULL_CONTEXT;
        engine = fixture_engine(NULL, 2);
        model = fixture_model(engine, arch, &config);
        open_classifier(FULL_ITEMS, FULL_ROWS);
        for (int texts = 1; texts <= FULL_ITEMS; texts += TEST_SANITIZED ? 45 : 9)
            for (int longest = 1; longest <= FULL_CONTEXT;
                 longest += (TEST_SANITIZED ? 3 * longest : longest / 3) + 1)
                run_full(texts, longest);
        run_full(FULL_ITEMS, 16);
        run_full(FULL_ITEMS, FULL_CONTEXT);
        close_all();
    }
}

Test(classifier, the_same_bits_alone_and_in_company, .fini = close_all)
{
    struct sl_err err;
    int lengths[ITEMS_MAX];
    for (struct fixture_case f = {0}; fixture_next(&f); f.variant++) {
        if (f.task != SL_TASK_CLASSIFICATION)
            continue;
        open_model(&f);
        open_classifier(ITEMS_MAX, ROWS_MAX);
        float together[ITEMS_MAX][FIXTURE_CLASSES];
        int64_t used[ITEMS_MAX];
        int count = mix(ITEMS_MAX, ROWS_MAX, 5, lengths);
        fill(count, lengths, 5);
        EXPECT_OK(sl_classifier_run(classifier, items, count, &err), err);
        for (int i = 0; i < count; i++) {
            memcpy(together[i], items[i].logits, sizeof together[i]);
            used[i] = items[i].layers_used;
            cr_assert(items[i].finite);
        }
        for (int i = 0; i < count; i++) {
            struct sl_classifier_item alone = {.tokens = tokens[i], .count = lengths[i]};
            EXPECT_OK(sl_classifier_run(classifier, &alone, 1, &err), err);
            cr_assert_eq(memcmp(alone.logits, together[i], sizeof together[i]), 0, "text %d", i);
            cr_assert_eq(alone.layers_used, used[i]);
            cr_assert_eq(alone.layers_full, (int64_t)lengths[i] * model->config.depth);
        }
        close_all();
    }
}

static bool has_pooling(const struct sl_arch *arch)
{
    return sl_param_find(arch->hypers, "pooling");
}

static void classify_as(bool dense, int count, float logits[][FIXTURE_CLASSES], int64_t *used)
{
    struct sl_err err;
    model->policy.dense = dense;
    open_classifier(ITEMS_MAX, ROWS_MAX);
    EXPECT_OK(sl_classifier_run(classifier, items, count, &err), err);
    *used = 0;
    for (int i = 0; i < count; i++) {
        memcpy(logits[i], items[i].logits, sizeof logits[i]);
        *used += items[i].layers_used;
    }
}

static void expect_exact_savings(const struct sl_arch *arch, int pooling, int policy)
{
    float all[ITEMS_MAX][FIXTURE_CLASSES], some[ITEMS_MAX][FIXTURE_CLASSES];
    int64_t used_all, used;
    int lengths[ITEMS_MAX], count = mix(ITEMS_MAX, ROWS_MAX, 5, lengths);
    struct sl_config config = fixture_config_for(arch, SL_TASK_CLASSIFICATION);
    config.pooling = pooling;
    engine = fixture_engine(NULL, 2);
    model = fixture_model(engine, arch, &config);
    model->policy = fixture_policy(arch, policy);
    fill(count, lengths, 5);
    classify_as(true, count, all, &used_all);
    classify_as(false, count, some, &used);
    cr_expect_eq(memcmp(all, some, (size_t)count * sizeof all[0]), 0, "%s, pooling %d, policy %d",
                 arch->name, pooling, policy);
    int64_t rows = 0, max = used_all;
    for (int i = 0; i < count; i++)
        rows += lengths[i];
    if (has_pooling(arch) && pooling != SL_POOLING_MEAN)
        max = rows * (config.depth - 1) + count;
    cr_expect_leq(used, max, "%s, pooling %d, policy %d: %lld", arch->name, pooling, policy,
                  (long long)used);
    close_all();
}

/* Of the last block a row that the answer is not read from gives its key and its value, no more. */
Test(classifier, unused_rows_are_skipped_exactly, .fini = close_all)
{
    for (struct fixture_case f = {0}; fixture_next(&f); f.variant++)
        for (int pooling = 0; pooling <= SL_POOLING_LAST; pooling++)
            for (int policy = 0; policy < FIXTURE_POLICIES; policy += TEST_SANITIZED ? 3 : 1)
                if (f.task == SL_TASK_CLASSIFICATION)
                    expect_exact_savings(sl_arch_at(f.arch), pooling, policy);
}

Test(classifier, invalid_items_are_rejected_before_anything_runs, .fini = close_all)
{
    struct sl_err err;
    struct fixture_case f = {.task = SL_TASK_CLASSIFICATION};
    cr_assert(fixture_next(&f));
    open_model(&f);
    open_classifier(2, 30);
    fill(3, (const int[]){10, 10, 10}, 1);
    EXPECT_FAIL(sl_classifier_run(classifier, items, 3, &err), err, SL_BAD_INPUT, "1 to 2");
    EXPECT_FAIL(sl_classifier_run(classifier, items, 0, &err), err, SL_BAD_INPUT, "1 to 2");
    fill(2, (const int[]){24, 24}, 1);
    EXPECT_FAIL(sl_classifier_run(classifier, items, 2, &err), err, SL_BAD_INPUT,
                "more than 30 tokens");
    items[0].count = 0;
    EXPECT_FAIL(sl_classifier_run(classifier, items, 1, &err), err, SL_BAD_INPUT, "1 to 24");
    items[0].count = 25;
    EXPECT_FAIL(sl_classifier_run(classifier, items, 1, &err), err, SL_BAD_INPUT, "1 to 24");
    items[0].count = 1;
    tokens[0][0] = FIXTURE_VOCAB;
    EXPECT_FAIL(sl_classifier_run(classifier, items, 1, &err), err, SL_BAD_INPUT, "0 to 10");
    const struct sl_classifier_options small = {.max_batch_size = 1,
                                                .max_batch_tokens = FIXTURE_CONTEXT - 1};
    EXPECT_FAIL(sl_classifier_create(model, &small, &err), err, SL_BAD_INPUT, "24 to");
}
