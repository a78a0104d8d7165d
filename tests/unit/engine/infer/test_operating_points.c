/* test_operating_points.c - texts of one batch at different operating points: each gets the bits
 * that it gets alone, and those of a model that has only this policy. */
#include "sluice/classifier.h"
#include "sluice/session.h"
#include "support/model_fixture.h"
#include "support/test.h"

enum { TEXTS = TEST_SANITIZED ? 16 : 48, STEPS = 6, POINTS = 4 };

static const struct sl_operating_point points[POINTS] = {{.budget = 1, .threshold = 1},
                                                         {.budget = 0.8, .threshold = 0.7},
                                                         {.budget = 0.5, .threshold = 0.4},
                                                         {.budget = 0.2, .threshold = 0.1}};

static struct sl_engine *engine;
static struct sl_model *model;
static int32_t tokens[TEXTS][FIXTURE_CONTEXT];
static int lengths[TEXTS];

static void close_all(void)
{
    sl_model_close(model);
    sl_engine_destroy(engine);
    model = NULL;
    engine = NULL;
}

static void open_model(const struct sl_arch *arch, enum sl_task task)
{
    struct sl_config config = fixture_config_for(arch, task);
    uint64_t key = sl_random_key(test_seed(), "texts");
    engine = fixture_engine(NULL, 2);
    model = fixture_model(engine, arch, &config);
    model->policy = sl_policy_defaults(arch);
    sl_model_set_operating_points(model, points, POINTS);
    for (int i = 0; i < TEXTS; i++) {
        lengths[i] = STEPS + 1 + (int)sl_random_below(key, (uint64_t)i, FIXTURE_CONTEXT - STEPS);
        for (int k = 0; k < FIXTURE_CONTEXT; k++)
            tokens[i][k] = (int32_t)sl_random_below(key, 1000 + (uint64_t)i * 100 + (uint64_t)k,
                                                    FIXTURE_VOCAB);
    }
}

/* The architectures that have a threshold and do the task, from *a on. */
static const struct sl_arch *next_arch(int *a, enum sl_task task)
{
    for (; sl_arch_at(*a); (*a)++)
        if (sl_arch_at(*a)->threshold && (sl_arch_at(*a)->tasks & 1u << task))
            return sl_arch_at((*a)++);
    return NULL;
}

/* ---- completion ------------------------------------------------------------------------------ */

/* Of one text: the logits after its prompt and after each of STEPS more tokens. */
struct run {
    float logits[STEPS + 1][FIXTURE_VOCAB];
    int64_t layers_used;
};

static struct sl_session *session_of(int slots)
{
    struct sl_err err;
    const struct sl_session_options options = {.max_sequences = slots, .max_batch_tokens = 1600};
    struct sl_session *s = sl_session_create(model, &options, &err);
    cr_assert(s, "%s", err.text);
    return s;
}

/* Texts first, first + 1, ...: their prompts, then token by token, all in one batch each time. */
static void complete(int first, int count, const int *numbers, struct run *runs)
{
    struct sl_err err;
    struct sl_session *s = session_of(count);
    struct sl_chunk chunks[TEXTS];
    for (int step = 0; step <= STEPS; step++) {
        for (int i = 0; i < count; i++) {
            int prompt = lengths[first + i] - STEPS;
            chunks[i] =
                (struct sl_chunk){.slot = i,
                                  .tokens = tokens[first + i] + (step ? prompt + step - 1 : 0),
                                  .count = step ? 1 : prompt,
                                  .operating_point = numbers[i]};
        }
        EXPECT_OK(sl_session_run(s, chunks, count, &err), err);
        for (int i = 0; i < count; i++) {
            memcpy(runs[i].logits[step], chunks[i].logits, sizeof runs[i].logits[step]);
            runs[i].layers_used = (step ? runs[i].layers_used : 0) + chunks[i].layers_used;
        }
    }
    sl_session_destroy(s);
}

static void expect_run(const struct run *got, const struct run *want, const char *arch, int text,
                       const char *how)
{
    cr_expect_eq(memcmp(got->logits, want->logits, sizeof got->logits), 0,
                 "%s, text %d of %d tokens, %s (seed %llu)", arch, text, lengths[text], how,
                 (unsigned long long)test_seed());
    cr_expect_eq(got->layers_used, want->layers_used, "%s, text %d, %s", arch, text, how);
}

/* With the threshold 1 nothing that matters is skipped, and with no choice set (all of its members
 * are 0) neither. */
static void expect_completed_whole(const struct sl_arch *arch)
{
    static struct run whole, with_1;
    for (int i = 0; i < TEXTS; i++) {
        const struct sl_policy own = model->policy;
        complete(i, 1, (const int[]){1}, &with_1);
        model->policy = (struct sl_policy){0};
        complete(i, 1, (const int[]){0}, &whole);
        model->policy = own;
        cr_expect_eq(memcmp(with_1.logits, whole.logits, sizeof whole.logits), 0,
                     "%s, text %d: %s 1 must give what was trained, as nothing set does",
                     arch->name, i, arch->threshold);
    }
}

Test(operating_points, completions_do_not_depend_on_those_of_others, .fini = close_all)
{
    static struct run mixed[TEXTS], alone;
    const struct sl_arch *arch;
    for (int a = 0; (arch = next_arch(&a, SL_TASK_COMPLETION));) {
        int numbers[TEXTS];
        int64_t used[POINTS + 1] = {0};
        open_model(arch, SL_TASK_COMPLETION);
        for (int i = 0; i < TEXTS; i++)
            numbers[i] = i % (POINTS + 1);
        complete(0, TEXTS, numbers, mixed);
        for (int i = 0; i < TEXTS; i++) {
            struct sl_policy own = model->policy;
            complete(i, 1, &numbers[i], &alone);
            expect_run(&mixed[i], &alone, arch->name, i, "alone");
            if (numbers[i] > 0)
                model->policy = sl_model_policy_at(model, points[numbers[i] - 1].threshold);
            complete(i, 1, (const int[]){0}, &alone);
            expect_run(&mixed[i], &alone, arch->name, i, "with this policy alone");
            model->policy = own;
        }
        for (int p = 0; p <= POINTS; p++) {
            for (int i = 0; i < TEXTS; i++)
                numbers[i] = p;
            complete(0, TEXTS, numbers, mixed);
            for (int i = 0; i < TEXTS; i++)
                used[p] += mixed[i].layers_used;
        }
        expect_completed_whole(arch);
        for (int p = 2; p <= POINTS; p++)
            cr_expect_leq(used[p], used[p - 1],
                          "%s: %s %g computes more than %g: it must not compute less", arch->name,
                          arch->threshold, points[p - 1].threshold, points[p - 2].threshold);
        cr_expect_lt(used[POINTS], used[1], "%s: %s %g computes as much as 1", arch->name,
                     arch->threshold, points[POINTS - 1].threshold);
        close_all();
    }
}

/* ---- classification -------------------------------------------------------------------------- */

static int64_t classify(struct sl_classifier *c, int first, int count, const int *numbers,
                        float *logits)
{
    struct sl_err err;
    struct sl_classifier_item items[TEXTS];
    int64_t used = 0;
    for (int i = 0; i < count; i++)
        items[i] = (struct sl_classifier_item){.tokens = tokens[first + i],
                                               .count = lengths[first + i],
                                               .operating_point = numbers[i]};
    EXPECT_OK(sl_classifier_run(c, items, count, &err), err);
    for (int i = 0; i < count; i++) {
        memcpy(logits + (size_t)i * FIXTURE_CLASSES, items[i].logits,
               FIXTURE_CLASSES * sizeof *logits);
        used += items[i].layers_used;
    }
    return used;
}

static void expect_classified_whole(struct sl_classifier *c, const struct sl_arch *arch)
{
    float whole[FIXTURE_CLASSES], with_1[FIXTURE_CLASSES];
    for (int i = 0; i < TEXTS; i++) {
        const struct sl_policy own = model->policy;
        (void)classify(c, i, 1, (const int[]){1}, with_1);
        model->policy = (struct sl_policy){0};
        (void)classify(c, i, 1, (const int[]){0}, whole);
        model->policy = own;
        cr_expect_eq(memcmp(with_1, whole, sizeof whole), 0,
                     "%s, text %d: %s 1 must give what was trained, as nothing set does",
                     arch->name, i, arch->threshold);
    }
}

static struct sl_classifier *classifier_of(void)
{
    struct sl_err err;
    const struct sl_classifier_options options = {.max_batch_size = TEXTS,
                                                  .max_batch_tokens = TEXTS * FIXTURE_CONTEXT};
    struct sl_classifier *c = sl_classifier_create(model, &options, &err);
    cr_assert(c, "%s", err.text);
    return c;
}

Test(operating_points, classifications_do_not_depend_on_those_of_others, .fini = close_all)
{
    static float mixed[TEXTS][FIXTURE_CLASSES];
    float alone[FIXTURE_CLASSES];
    const struct sl_arch *arch;
    for (int a = 0; (arch = next_arch(&a, SL_TASK_CLASSIFICATION));) {
        int numbers[TEXTS];
        open_model(arch, SL_TASK_CLASSIFICATION);
        struct sl_classifier *c = classifier_of();
        for (int i = 0; i < TEXTS; i++)
            numbers[i] = i % (POINTS + 1);
        (void)classify(c, 0, TEXTS, numbers, mixed[0]);
        for (int i = 0; i < TEXTS; i++) {
            struct sl_policy own = model->policy;
            (void)classify(c, i, 1, &numbers[i], alone);
            cr_expect_eq(memcmp(mixed[i], alone, sizeof alone), 0, "%s, text %d", arch->name, i);
            if (numbers[i] > 0)
                model->policy = sl_model_policy_at(model, points[numbers[i] - 1].threshold);
            (void)classify(c, i, 1, (const int[]){0}, alone);
            cr_expect_eq(memcmp(mixed[i], alone, sizeof alone), 0, "%s, text %d, policy",
                         arch->name, i);
            model->policy = own;
        }
        int64_t used = 0;
        for (int p = 1; p <= POINTS; p++) {
            for (int i = 0; i < TEXTS; i++)
                numbers[i] = p;
            int64_t now = classify(c, 0, TEXTS, numbers, mixed[0]);
            cr_expect(p == 1 || now < used || used == 0,
                      "%s: %s %g must compute less than at point %d", arch->name, arch->threshold,
                      points[p - 1].threshold, p - 1);
            used = now;
        }
        expect_classified_whole(c, arch);
        sl_classifier_destroy(c);
        close_all();
    }
}

/* ---- the choice ------------------------------------------------------------------------------ */

static void open_any(enum sl_task task)
{
    int a = 0;
    open_model(next_arch(&a, task), task);
}

Test(operating_points, the_largest_budget_that_is_allowed_is_taken, .fini = close_all)
{
    static const struct {
        double budget;
        int number;
    } cases[] = {{2, 1},    {1, 1},   {0.9999, 2}, {0.8, 2}, {0.5, 3},
                 {0.49, 4}, {0.2, 4}, {0.19, 0},   {0, 0}};

    open_any(SL_TASK_COMPLETION);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        cr_expect_eq(sl_model_operating_point(model, cases[i].budget), cases[i].number, "%g",
                     cases[i].budget);
    sl_model_set_operating_points(model, NULL, 0);
    cr_expect_eq(sl_model_operating_point(model, 1), 0, "a model without operating points");
}

Test(operating_points, other_numbers_are_rejected, .fini = close_all)
{
    struct sl_err err;
    static const int bad[] = {-1, POINTS + 1};
    open_any(SL_TASK_COMPLETION);
    struct sl_session *s = session_of(1);
    for (int i = 0; i < 2; i++) {
        struct sl_chunk chunk = {.tokens = tokens[0], .count = 1, .operating_point = bad[i]};
        EXPECT_FAIL(sl_session_run(s, &chunk, 1, &err), err, SL_BAD_INPUT, "expected 0 to 4");
    }
    sl_session_destroy(s);
    close_all();
    open_any(SL_TASK_CLASSIFICATION);
    struct sl_classifier *c = classifier_of();
    for (int i = 0; i < 2; i++) {
        struct sl_classifier_item item = {
            .tokens = tokens[0], .count = 1, .operating_point = bad[i]};
        EXPECT_FAIL(sl_classifier_run(c, &item, 1, &err), err, SL_BAD_INPUT, "expected 0 to 4");
    }
    sl_classifier_destroy(c);
}
