/* test_cascade_run.c - the first part of a cascade answers what it is sure of, and only that; and
 * the second reads as much of a text as it has room for. */
#include "arch/arch.h"
#include "base/int_math.h"
#include "infer/cascade_run.h"
#include "infer/logits.h"
#include "sluice/classifier.h"
#include "support/model_fixture.h"
#include "support/test.h"

#include <math.h>

enum { TEXTS = 12, TOKENS = FIXTURE_CONTEXT, BLOCKS = 10 };

static const double always = 1e-6; /* a threshold that every text is above */

static int32_t tokens[TEXTS][TOKENS];
static struct sl_engine *engine;
static struct sl_model *model;

/* Lengths differ: some texts are longer than what the blocks read. */
static int length_of(int text)
{
    return 1 + text * (TOKENS - 1) / (TEXTS - 1);
}

static void open_model(int block_context, int multi_label)
{
    struct sl_err err;
    const struct sl_arch *arch = sl_arch_find("cascade");
    struct sl_config config = fixture_config_for(arch, SL_TASK_CLASSIFICATION);
    fixture_set(arch, &config, "block_context", block_context);
    config.multi_label = multi_label;
    EXPECT_OK(sl_config_check(arch, &config, &err), err);
    model = fixture_model(engine, arch, &config);
    sl_model_describe(model);
}

static void setup(void)
{
    engine = fixture_engine(NULL, 2);
    for (int t = 0; t < TEXTS; t++)
        for (int i = 0; i < TOKENS; i++)
            tokens[t][i] = (7 * t + 3 * i) % FIXTURE_VOCAB;
}

static void teardown(void)
{
    sl_model_close(model);
    sl_engine_destroy(engine);
}

TestSuite(cascade_run, .init = setup, .fini = teardown);

/* Results of all texts in one run; logits: texts x classes. Returns how many were asked about. */
static int run(double threshold, float *logits, int64_t *used)
{
    struct sl_err err;
    struct sl_classifier_item items[TEXTS] = {{0}};
    const struct sl_classifier_options options = {.max_batch_size = TEXTS,
                                                  .max_batch_tokens = TEXTS * TOKENS};
    model->policy = sl_model_policy_at(model, threshold);
    struct sl_classifier *c = sl_classifier_create(model, &options, &err);
    cr_assert(c, "%s", err.text);
    for (int t = 0; t < TEXTS; t++)
        items[t] = (struct sl_classifier_item){.tokens = tokens[t], .count = length_of(t)};
    EXPECT_OK(sl_classifier_run(c, items, TEXTS, &err), err);
    int asked = 0;
    for (int t = 0; t < TEXTS; t++) {
        int64_t layers = 0;
        memcpy(logits + (size_t)t * FIXTURE_CLASSES, items[t].logits,
               FIXTURE_CLASSES * sizeof *logits);
        cr_expect(items[t].finite);
        used[t] = items[t].layers_used;
        asked += used[t] > 0;
        for (int i = 0; i < items[t].count; i++)
            layers += items[t].token_layers[i];
        cr_expect_eq(layers, used[t], "text %d: tokens have %ld layers, the text %ld", t,
                     (long)layers, (long)used[t]);
    }
    sl_classifier_destroy(c);
    return asked;
}

static float highest_score(const float *logits)
{
    float scores[FIXTURE_CLASSES];
    sl_model_scores(model, logits, scores);
    float highest = 0.0f;
    for (int i = 0; i < FIXTURE_CLASSES; i++)
        highest = fmaxf(highest, scores[i]);
    return highest;
}

/* At the lowest threshold all are sure; at 1 none is. Between them each text has one of these
 * results, by how sure the first part is of it. */
Test(cascade_run, answers_alone_what_it_is_sure_of)
{
    float alone[TEXTS * FIXTURE_CLASSES], both[TEXTS * FIXTURE_CLASSES],
        some[TEXTS * FIXTURE_CLASSES], scores[TEXTS];
    int64_t used[TEXTS];
    open_model(0, false);
    cr_expect_eq(run(always, alone, used), 0);
    cr_expect_eq(run(1.0, both, used), TEXTS);
    cr_expect_arr_neq(alone, both, sizeof alone);
    for (int t = 0; t < TEXTS; t++)
        scores[t] = highest_score(alone + (size_t)t * FIXTURE_CLASSES);
    const double threshold = (double)scores[TEXTS / 2];
    const int asked = run(threshold, some, used);
    cr_expect_gt(asked, 0);
    cr_expect_lt(asked, TEXTS);
    for (int t = 0; t < TEXTS; t++) {
        const size_t at = (size_t)t * FIXTURE_CLASSES;
        const float *wanted = used[t] > 0 ? both + at : alone + at;
        cr_expect_eq(used[t] == 0, (double)scores[t] > threshold, "text %d, %g", t,
                     (double)scores[t]);
        cr_expect_arr_eq(some + at, wanted, FIXTURE_CLASSES * sizeof *some, "text %d", t);
    }
}

Test(cascade_run, the_second_part_reads_what_it_has_room_for)
{
    float whole[TEXTS * FIXTURE_CLASSES], part[TEXTS * FIXTURE_CLASSES];
    int64_t used[TEXTS];
    open_model(BLOCKS, false);
    cr_expect_eq(run(1.0, part, used), TEXTS);
    for (int t = 0; t < TEXTS; t++)
        cr_expect_eq(used[t], (int64_t)model->config.depth *
                                  (length_of(t) < BLOCKS ? length_of(t) : BLOCKS));
    /* What is left out still counts: the first part reads it. */
    tokens[TEXTS - 1][BLOCKS] = (tokens[TEXTS - 1][BLOCKS] + 1) % FIXTURE_VOCAB;
    cr_expect_eq(run(1.0, whole, used), TEXTS);
    const size_t last = (TEXTS - 1) * FIXTURE_CLASSES;
    cr_expect_arr_eq(whole, part, last * sizeof *part);
    cr_expect_arr_neq(whole + last, part + last, FIXTURE_CLASSES * sizeof *part);
}

Test(cascade_run, the_middle_of_a_text_is_left_out)
{
    static const struct {
        float beginning;
        int count, want;
        int32_t tokens[6];
    } cases[] = {{0.5f, 6, 4, {0, 1, 4, 5}},
                 {0.0f, 6, 4, {0, 3, 4, 5}},
                 {1.0f, 6, 4, {0, 1, 2, 5}},
                 {0.5f, 4, 4, {0, 1, 2, 3}},
                 {0.5f, 1, 1, {0}}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct sl_cascade parts = {.context = 4, .beginning = cases[i].beginning};
        int32_t list[6] = {0, 1, 2, 3, 4, 5};
        cr_expect_eq(sl_cascade_shorten(&parts, list, cases[i].count), cases[i].want);
        cr_expect_arr_eq(list, cases[i].tokens, (size_t)cases[i].want * sizeof *list, "case %zu",
                         i);
    }
}

/* All labels have to be sure. */
Test(cascade_run, of_several_labels_the_least_sure_decides)
{
    float alone[TEXTS * FIXTURE_CLASSES], some[TEXTS * FIXTURE_CLASSES];
    int64_t used[TEXTS];
    open_model(0, true);
    cr_expect_eq(run(always, alone, used), 0);
    const double threshold = 0.55;
    (void)run(threshold, some, used);
    for (int t = 0; t < TEXTS; t++) {
        double least = 1.0;
        for (int c = 0; c < FIXTURE_CLASSES; c++) {
            const double p = sl_sigmoid((double)alone[t * FIXTURE_CLASSES + c]);
            least = fmin(least, fmax(p, 1.0 - p));
        }
        if (fabs(least - threshold) > 1e-5)
            cr_expect_eq(used[t] == 0, least > threshold, "text %d: %g", t, least);
    }
}

/* A text that is asked for both parts has the sum, as if the threshold were 1. */
Test(cascade_run, both_parts_can_be_asked_for)
{
    struct sl_err err;
    float both[TEXTS * FIXTURE_CLASSES];
    int64_t used[TEXTS];
    open_model(BLOCKS, false);
    cr_expect_eq(run(1.0, both, used), TEXTS);
    model->policy = sl_model_policy_at(model, always);
    const struct sl_classifier_options options = {.max_batch_size = TEXTS,
                                                  .max_batch_tokens = TEXTS * TOKENS};
    struct sl_classifier *c = sl_classifier_create(model, &options, &err);
    cr_assert(c, "%s", err.text);
    for (int t = 0; t < TEXTS; t++) {
        struct sl_classifier_item item = {
            .tokens = tokens[t], .count = length_of(t), .both_parts = true};
        EXPECT_OK(sl_classifier_run(c, &item, 1, &err), err);
        cr_expect_arr_eq(item.logits, both + (size_t)t * FIXTURE_CLASSES,
                         FIXTURE_CLASSES * sizeof *both, "text %d", t);
        cr_expect_eq(item.layers_used, item.layers_full);
    }
    sl_classifier_destroy(c);
}

/* Of equal tokens, too: the beginning and the end. */
Test(cascade_run, tokens_that_are_left_out_have_no_layers)
{
    struct sl_err err;
    int32_t same[TOKENS];
    open_model(BLOCKS, false);
    for (int i = 0; i < TOKENS; i++)
        same[i] = 3;
    const struct sl_classifier_options options = {.max_batch_size = 1, .max_batch_tokens = TOKENS};
    struct sl_classifier *c = sl_classifier_create(model, &options, &err);
    cr_assert(c, "%s", err.text);
    struct sl_classifier_item item = {.tokens = same, .count = TOKENS, .both_parts = true};
    EXPECT_OK(sl_classifier_run(c, &item, 1, &err), err);
    for (int i = 0; i < TOKENS; i++) {
        const bool is_read = i < 3 || i >= TOKENS - (BLOCKS - 3); /* 0.33 of BLOCKS */
        cr_expect_eq(item.token_layers[i] > 0, is_read, "token %d", i);
    }
    sl_classifier_destroy(c);
}

Test(cascade_run, one_that_reads_less_is_not_trained_as_a_whole)
{
    const struct sl_arch *arch = sl_arch_find("cascade");
    struct sl_config config = fixture_config_for(arch, SL_TASK_CLASSIFICATION);
    cr_expect(sl_arch_reads_whole_texts(arch, &config));
    fixture_set(arch, &config, "block_context", BLOCKS);
    cr_expect_not(sl_arch_reads_whole_texts(arch, &config));
    cr_expect(sl_arch_reads_whole_texts(sl_arch_find("transformer"), &config));
}

Test(cascade_run, its_facts_have_to_fit)
{
    struct sl_err err;
    const struct sl_arch *arch = sl_arch_find("cascade");
    struct sl_config config = fixture_config_for(arch, SL_TASK_CLASSIFICATION);
    fixture_set(arch, &config, "block_context", BLOCKS);
    fixture_set(arch, &config, "ngram_rows", 0);
    EXPECT_FAIL(sl_config_check(arch, &config, &err), err, SL_BAD_INPUT, "ngram_rows");
    fixture_set(arch, &config, "ngram_rows", 40);
    fixture_set(arch, &config, "block_context", FIXTURE_CONTEXT + 1);
    EXPECT_FAIL(sl_config_check(arch, &config, &err), err, SL_BAD_INPUT, "block_context");
}
