/* test_adaptation.c - a transformer learns to skip layers from itself. */
#include "checkpoint/checkpoint.h"
#include "sluice/classifier.h"
#include "support/model_fixture.h"
#include "support/test.h"
#include "support/tiny_transformer.h"
#include "support/workspace.h"

#include "tuning/adaptation.h"
#include "tuning/tuning_state.h"
#include <math.h>

enum { TEXTS = 200, TRAINED = 180, STEPS = 60 };

static struct workspace dirs;
static char encoder[PATH_MAX];

static void setup(void)
{
    workspace_create(&dirs, "store/adapted/1");
    tiny_transformer_make(test_path(encoder, dirs.top, "store/encoder/1"), SL_TASK_PRETRAINING);
    tiny_texts_write(dirs.corpus, TEXTS);
}

static void teardown(void)
{
    workspace_remove(&dirs);
}

TestSuite(adaptation, .init = setup, .fini = teardown);

struct adapted {
    struct sl_engine *engine;
    struct sl_dataset set;
    struct sl_adaptation a;
};

static void open_adapted_of(struct adapted *t, const char *model, int threads, float compute_weight)
{
    struct sl_err err;
    struct sl_checkpoint from;
    const struct sl_record_options columns = {.unlabelled = true, .text = "1", .format = "tsv"};
    t->engine = fixture_engine(NULL, threads);
    EXPECT_OK(sl_checkpoint_open(&from, model, &err), err);
    const struct sl_dataset_encoding how = {.context = from.model_config.hyper.context_length};
    EXPECT_OK(sl_dataset_open(&t->set, dirs.corpus, &columns, NULL, &err), err);
    EXPECT_OK(sl_dataset_encode(&t->set, from.tokens, &how, &err), err);
    sl_checkpoint_close(&from);
    const struct sl_adaptation_options options = {.engine = t->engine,
                                                  .model = model,
                                                  .set = &t->set,
                                                  .steps = STEPS,
                                                  .batch_size = 16,
                                                  .learning_rate = 1e-3f,
                                                  .router_learning_rate = 1e-2f,
                                                  .compute_weight = compute_weight};
    EXPECT_OK(sl_adaptation_open(&t->a, &options, &err), err);
}

static void open_adapted(struct adapted *t, int threads, float compute_weight)
{
    open_adapted_of(t, encoder, threads, compute_weight);
}

static void close_adapted(struct adapted *t)
{
    sl_adaptation_close(&t->a);
    sl_dataset_close(&t->set);
    sl_engine_destroy(t->engine);
}

static void train(struct adapted *t)
{
    struct sl_err err;
    for (int i = 0; i < STEPS; i++)
        EXPECT_OK(sl_text_distillation_step(&t->a.d, &err), err);
}

static struct sl_likeness measured(struct adapted *t, float limit)
{
    struct sl_err err;
    struct sl_likeness q;
    EXPECT_OK(sl_adaptation_measure(&t->a, limit, &q, &err), err);
    cr_expect(q.lowest <= q.similarity);
    cr_expect(q.similarity <= 1.0 + 1e-6);
    return q;
}

Test(adaptation, begins_as_its_teacher)
{
    struct adapted t;
    open_adapted(&t, 2, 1.0f);
    cr_assert_eq(t.set.count, TEXTS);
    cr_assert_eq(t.a.d.trained, TRAINED);
    const struct sl_likeness q = measured(&t, 1.0f);
    cr_expect_eq(q.skipped, 0.0);
    cr_expect_gt(q.lowest, 0.9999, "%g", q.lowest);
    close_adapted(&t);
}

Test(adaptation, closes_gates_where_that_costs_little)
{
    struct adapted cheap, dear;
    open_adapted(&cheap, 1, 3.0f);
    open_adapted(&dear, 1, 0.0f);
    train(&cheap);
    train(&dear);
    cr_expect_gt(measured(&cheap, 0.5f).skipped, 0.3);
    cr_expect_lt(measured(&dear, 0.5f).skipped, 0.05);
    cr_expect_geq(measured(&cheap, 0.1f).skipped, measured(&cheap, 0.9f).skipped);
    cr_expect_lt(cheap.a.d.tuner.gates, dear.a.d.tuner.gates);
    close_adapted(&cheap);
    close_adapted(&dear);
}

Test(adaptation, does_not_depend_on_threads)
{
    struct adapted one, three;
    open_adapted(&one, 1, 1.0f);
    open_adapted(&three, 3, 1.0f);
    train(&one);
    train(&three);
    const struct sl_likeness a = measured(&one, 0.5f), b = measured(&three, 0.5f);
    cr_expect_eq(a.similarity, b.similarity);
    cr_expect_eq(a.skipped, b.skipped);
    close_adapted(&one);
    close_adapted(&three);
}

/* Halfway through an epoch, in a process that ends there. */
Test(adaptation, a_run_that_was_saved_goes_on_as_if_it_had_not_ended)
{
    enum { FIRST = STEPS / 2 + 5 };

    struct sl_err err;
    struct adapted whole, begun, rest;
    char state[PATH_MAX];
    (void)test_path(state, dirs.top, "state");
    open_adapted(&whole, 1, 1.0f);
    train(&whole);
    open_adapted(&begun, 2, 1.0f);
    for (int i = 0; i < FIRST; i++)
        EXPECT_OK(sl_text_distillation_step(&begun.a.d, &err), err);
    EXPECT_OK(sl_tuning_state_save(&begun.a.d, state, &err), err);
    close_adapted(&begun);
    open_adapted(&rest, 1, 1.0f);
    EXPECT_OK(sl_tuning_state_resume(&rest.a.d, state, &err), err);
    cr_assert_eq(rest.a.d.step, FIRST);
    for (int i = FIRST; i < STEPS; i++)
        EXPECT_OK(sl_text_distillation_step(&rest.a.d, &err), err);
    const struct sl_model *a = whole.a.d.tuner.model, *b = rest.a.d.tuner.model;
    for (int i = 0; i < a->state_dict_count; i++) {
        const struct sl_parameter *p = &a->state_dict[i], *q = &b->state_dict[i];
        cr_expect_eq(memcmp(p->data, q->data, sl_parameter_floats(p) * sizeof *p->data), 0, "%s",
                     p->name);
    }
    close_adapted(&whole);
    close_adapted(&rest);
}

Test(adaptation, another_run_is_not_continued)
{
    struct sl_err err;
    struct adapted t, other;
    char state[PATH_MAX];
    (void)test_path(state, dirs.top, "state");
    open_adapted(&t, 1, 1.0f);
    EXPECT_OK(sl_tuning_state_save(&t.a.d, state, &err), err);
    close_adapted(&t);
    open_adapted(&other, 1, 2.0f);
    EXPECT_FAIL(sl_tuning_state_resume(&other.a.d, state, &err), err, SL_BAD_INPUT,
                "the run was started with compute_weight 1 (now 2)");
    close_adapted(&other);
    tiny_texts_write(dirs.corpus, TEXTS + 10);
    open_adapted(&other, 1, 1.0f);
    EXPECT_FAIL(sl_tuning_state_resume(&other.a.d, state, &err), err, SL_BAD_INPUT,
                "the run was started with other texts");
    close_adapted(&other);
}

Test(adaptation, what_is_published_skips_as_it_was_trained)
{
    struct sl_err err;
    struct adapted t;
    open_adapted(&t, 1, 3.0f);
    train(&t);
    const struct sl_operating_point points[] = {
        {.budget = 1, .threshold = 1, .loss = 0.01, .accuracy = NAN},
        {.budget = 0.5, .threshold = 0.1, .loss = 0.2, .accuracy = NAN, .layer_ops_skipped = 0.4}};
    const struct sl_adaptation_notes notes = {"{}", points, 2};
    EXPECT_OK(sl_adaptation_publish(&t.a, dirs.output, &notes, &err), err);
    struct sl_model *m = sl_model_open(t.engine, dirs.output, &err);
    cr_assert(m, "%s", err.text);
    cr_expect_str_eq(m->info.architecture, "adaptive_transformer");
    cr_expect_str_eq(m->info.gate, "mixed");
    cr_expect_str_eq(m->info.threshold, "gate_limit");
    cr_expect_eq(m->info.operating_point_count, 2);
    cr_expect_eq(sl_model_operating_point(m, 0.6), 2);
    const struct sl_classifier_options options = {.max_batch_size = 1, .max_batch_tokens = 64};
    struct sl_classifier *c = sl_classifier_create(m, &options, &err);
    cr_assert(c, "%s", err.text);
    int64_t used = 0, full = 0;
    for (int i = TRAINED; i < TEXTS; i++) {
        struct sl_classifier_item item = {0};
        item.tokens = sl_dataset_ids(&t.set, i, &item.count);
        EXPECT_OK(sl_classifier_run(c, &item, 1, &err), err);
        used += item.layers_used;
        full += item.layers_full;
    }
    cr_expect_float_eq(1.0 - (double)used / (double)full, measured(&t, 0.5f).skipped, 0.05);
    sl_classifier_destroy(c);
    sl_model_close(m);
    close_adapted(&t);
}

/* Texts have an output, or each of their tokens. */
static void adapt_for(enum sl_task task, const char *model, float compute_weight,
                      struct sl_likeness *before, struct sl_likeness *after)
{
    struct adapted t;
    open_adapted_of(&t, model, 2, compute_weight);
    *before = measured(&t, 1.0f);
    cr_expect_eq(t.a.d.target,
                 sl_distillation_target_of(&(struct sl_config){.task = task, .classes = 3}));
    train(&t);
    *after = measured(&t, 0.5f);
    close_adapted(&t);
}

Test(adaptation, every_task_is_kept)
{
    static const enum sl_task tasks[] = {SL_TASK_CLASSIFICATION, SL_TASK_TOKEN_CLASSIFICATION,
                                         SL_TASK_COMPLETION};

    static const char *const directories[] = {"store/texts/1", "store/tokens/1", "store/next/1"};
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        char model[PATH_MAX];
        const char *name = sl_task_name(tasks[i]);
        struct sl_likeness before, cheap, dear;
        tiny_transformer_make(test_path(model, dirs.top, directories[i]), tasks[i]);
        adapt_for(tasks[i], model, 3.0f, &before, &cheap);
        adapt_for(tasks[i], model, 0.0f, &before, &dear);
        cr_expect_eq(before.skipped, 0.0, "%s", name);
        cr_expect_gt(before.lowest, 0.9999, "%s: %g", name, before.lowest);
        cr_expect_gt(cheap.skipped, 0.3, "%s: %g", name, cheap.skipped);
        cr_expect_lt(dear.skipped, 0.05, "%s: %g", name, dear.skipped);
        cr_expect_gt(dear.similarity, 0.98, "%s: %g", name, dear.similarity);
    }
}

Test(adaptation, other_models_are_refused)
{
    struct sl_err err;
    struct adapted t;
    struct sl_adaptation a;
    char adaptive[PATH_MAX];
    tiny_adaptive_make(test_path(adaptive, dirs.top, "store/adaptive/1"), SL_TASK_PRETRAINING);
    open_adapted(&t, 1, 1.0f);
    struct sl_adaptation_options options = t.a.options;
    options.model = adaptive;
    cr_expect_not(sl_adaptation_open(&a, &options, &err));
    cr_expect(strstr(err.text, "its architecture is adaptive_transformer: expected transformer"),
              "%s", err.text);
    close_adapted(&t);
}
