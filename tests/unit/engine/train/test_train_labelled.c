/* test_train_labelled.c - learning to classify, for every row of the table that can: a rule is
 * learnt, a run that goes on ends with the same bits, and so does one with more threads; what is
 * published classifies the same texts as the trainer measured. */
#include "base/random.h"
#include "sluice/classifier.h"
#include "support/file_sha256.h"
#include "support/model_fixture.h"
#include "support/test.h"
#include "support/trainer_fixture.h"

#include <math.h>

enum { TEXTS = 60 };

static struct workspace dirs;
static char data[PATH_MAX];

/* One word of each text determines its label; the others are noise. */
static void write_data(const char *path)
{
    static const char *const telling[] = {"dull", "fine", "grand"};
    static const char *const others[] = {"the", "film", "was", "a", "story", "of", "it"};
    uint64_t key = sl_random_key(3, "texts");
    FILE *file = fopen(path, "we");
    cr_assert(file);
    for (uint64_t i = 0; i < TEXTS; i++) {
        int label = (int)(i % 3), words = 1 + (int)sl_random_below(key, i, 9);
        int at = (int)sl_random_below(key, i + 1000, (uint64_t)words);
        cr_assert_gt(fprintf(file, "%d\t", label), 0);
        for (int w = 0; w < words; w++) {
            uint64_t other = sl_random_below(key, 5000 + 20 * i + (uint64_t)w, 7);
            cr_assert_gt(fprintf(file, "%s ", w == at ? telling[label] : others[other]), 0);
        }
        cr_assert_gt(fprintf(file, "\n"), 0);
    }
    cr_assert_eq(fclose(file), 0);
}

static void setup(void)
{
    trainer_fixture_setup(&dirs);
    write_data(test_path(data, dirs.top, "data.tsv"));
}

static void teardown(void)
{
    workspace_remove(&dirs);
}

TestSuite(labelled, .init = setup, .fini = teardown);

/* The last batch of an epoch, and the last micro-batch of a batch, are smaller than the others. */
static struct sl_train_options labelled_of(const struct sl_arch *arch, int epochs)
{
    struct sl_train_options t = {.arch = arch,
                                 .sources = {.data = data, .columns = {.label = "1", .text = "2"}},
                                 .run_dir = dirs.run};
    t.config = fixture_config_for(arch, SL_TASK_CLASSIFICATION);
    t.config.depth = 2;
    fixture_clamp(arch, &t.config);
    t.config.dropout = 0.05f;
    sl_params_set_defaults(sl_hyperparameter_rows, &t.hyperparameters);
    t.hyperparameters.epochs = epochs;
    t.hyperparameters.batch_size = 8;
    t.hyperparameters.micro_batch_size = 3;
    t.hyperparameters.learning_rate = 0.01f;
    t.hyperparameters.min_learning_rate = 0.001f;
    t.hyperparameters.weight_decay = 0.0f;
    t.hyperparameters.word_dropout = 0.1f;
    t.hyperparameters.save_every = 3;
    t.hyperparameters.validation_fraction = 0.2f;
    return t;
}

/* The best measurement, as this file thinks. */
static struct sl_train_progress best_seen;
static int decided_by_loss;

static void follow_best(struct train_follower *f)
{
    const struct sl_train_progress *now = &f->last;
    bool first = f->evaluations == 1,
         same = now->validation_accuracy == best_seen.validation_accuracy;
    bool lower = now->validation_loss < best_seen.validation_loss;
    if (first || now->validation_accuracy > best_seen.validation_accuracy || (same && lower))
        best_seen = *now;
    decided_by_loss += !first && same && lower;
}

static void weights_digest(char hex[65])
{
    file_sha256(hex, dirs.output, "model.safetensors");
}

static void forget_run(void)
{
    test_directory_remove(dirs.run);
}

static const struct sl_arch *classifier_at(int index)
{
    for (int i = 0; sl_arch_at(i); i++)
        if (sl_arch_at(i)->tasks & SL_CLASSIFIES && index-- == 0)
            return sl_arch_at(i);
    return NULL;
}

Test(labelled, a_rule_is_learnt)
{
    const int epochs = TEST_SANITIZED ? 4 : 40;
    const double min = TEST_SANITIZED ? 0.0 : 0.9;
    for (int a = 0; classifier_at(a); a++, forget_run()) {
        struct sl_train_options training = labelled_of(classifier_at(a), epochs);
        struct train_follower f = train_until(&dirs, &training, 0, 2);
        /* 48 texts to train on: 6 steps an epoch. */
        cr_expect_eq(f.last.steps, 6 * epochs, "%d", f.last.steps);
        cr_expect_eq(f.evaluations, epochs, "%d", f.evaluations);
        cr_expect_gt(f.last.best_accuracy, min, "%s: %g", training.arch->name,
                     f.last.best_accuracy);
        cr_expect(f.last.train_accuracy > min && f.last.train_accuracy <= 1.0, "%s: %g",
                  training.arch->name, f.last.train_accuracy);
        bool halting = strcmp(training.arch->name, "epsilon") == 0;
        int depth = sl_param_find(training.arch->hypers, "depth") ? training.config.depth : 0;
        cr_expect_eq(isfinite(f.last.validation_depth_first), halting, "%s", training.arch->name);
        cr_expect(halting || f.last.validation_depth == depth, "%s: %g", training.arch->name,
                  f.last.validation_depth);
    }
}

/* Twelve texts to measure on make thirteen accuracies, so that many epochs share one. */
Test(labelled, ties_in_accuracy_are_broken_by_loss)
{
    struct sl_train_options training =
        labelled_of(sl_arch_find("encoder"), TEST_SANITIZED ? 16 : 30);
    struct sl_err err;
    struct train_follower f = {.at_evaluation = follow_best};
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct sl_trainer *trainer = trainer_begin(engine, &training);
    EXPECT_OK(trainer_follow(trainer, &f, &err), err);
    cr_expect_gt(decided_by_loss, 0);
    cr_expect_eq(f.last.best_step, best_seen.step);
    cr_expect_eq(f.last.best_accuracy, best_seen.validation_accuracy);
    cr_expect_eq(f.last.best_loss, best_seen.validation_loss);
    sl_trainer_destroy(trainer);
    sl_engine_destroy(engine);
}

Test(labelled, a_run_that_goes_on_ends_with_the_same_bits)
{
    for (int a = 0; classifier_at(a); a++, forget_run()) {
        char whole[65], parts[65], threads[65];
        struct sl_train_options training = labelled_of(classifier_at(a), 3);
        (void)train_until(&dirs, &training, 0, 1);
        weights_digest(whole);
        forget_run();
        (void)train_until(&dirs, &training, 4, 1);
        training.resume = true;
        (void)train_until(&dirs, &training, 11, 1);
        (void)train_until(&dirs, &training, 0, 1);
        weights_digest(parts);
        cr_expect_str_eq(whole, parts, "%s", training.arch->name);
        training.resume = false;
        forget_run();
        (void)train_until(&dirs, &training, 0, 3);
        weights_digest(threads);
        cr_expect_str_eq(whole, threads, "%s, threads", training.arch->name);
    }
}

static double accuracy_of(const struct sl_model *m, const struct sl_dataset *set)
{
    struct sl_err err;
    struct sl_classifier_options options = {.max_batch_size = 7,
                                            .max_batch_tokens = m->config.context_length};
    struct sl_classifier *c = sl_classifier_create(m, &options, &err);
    cr_assert(c, "%s", err.text);
    int right = 0;
    for (int i = 0; i < set->count; i++) {
        struct sl_classifier_item item = {0};
        int best = 0;
        item.tokens = sl_dataset_ids(set, i, &item.count);
        EXPECT_OK(sl_classifier_run(c, &item, 1, &err), err);
        for (int k = 1; k < m->config.classes; k++)
            best = item.logits[k] > item.logits[best] ? k : best;
        right += best == sl_label_only(&set->label_lists, i);
    }
    sl_classifier_destroy(c);
    return (double)right / set->count;
}

/* What is measured says how deep texts went, where there is something to say: with everything
 * computed tokens differ from first tokens; else a text ends with its first. */
static void check_depths(const struct sl_model *m, const struct sl_dataset *set)
{
    struct sl_err err;
    struct sl_evaluation lazy, dense;
    struct sl_policy policy = {0};
    EXPECT_OK(sl_evaluate_labelled(m, set, &policy, &lazy, NULL, &err), err);
    policy.dense = true;
    EXPECT_OK(sl_evaluate_labelled(m, set, &policy, &dense, NULL, &err), err);
    cr_expect_float_eq(lazy.loss, dense.loss, 1e-4);
    const char *routes_to = m->arch->routes_to;
    bool halting = strcmp(m->arch->name, "epsilon") == 0,
         gates = routes_to && strcmp(routes_to, "block") == 0;
    cr_expect_eq(isfinite(lazy.halting_depth), halting);
    cr_expect_eq(isfinite(lazy.gate_mean), gates);
    if (!halting)
        return;
    cr_expect(dense.halting_depth >= 1.0 && dense.halting_depth <= m->config.depth);
    cr_expect_float_eq(lazy.halting_depth_first, dense.halting_depth_first, 1e-9);
    cr_expect_float_eq(lazy.halting_depth, lazy.halting_depth_first, 1e-9);
}

Test(labelled, what_is_published_is_what_was_measured)
{
    for (int a = 0; classifier_at(a); a++, forget_run()) {
        struct sl_err err;
        struct sl_train_options training = labelled_of(classifier_at(a), 2);
        struct sl_engine *engine = fixture_engine(NULL, 2);
        struct train_follower f = train_until(&dirs, &training, 0, 2);
        struct sl_model *m = sl_model_open(engine, dirs.output, &err);
        cr_assert(m, "%s", err.text);
        const struct sl_model_info *info = sl_model_info(m);
        cr_expect_eq(info->task, SL_TASK_CLASSIFICATION);
        cr_assert_eq(info->classes, 3);
        cr_expect_str_eq(info->labels[2], "2");
        m->policy = (struct sl_policy){0};
        struct sl_dataloader dataloader;
        struct sl_hyperparameters hyperparameters = training.hyperparameters;
        struct sl_config config = training.config;
        EXPECT_OK(
            sl_dataloader_open(&dataloader, &training.sources, &config, &hyperparameters, &err),
            err);
        double accuracy = accuracy_of(m, &dataloader.validation);
        cr_expect_float_eq(accuracy, f.last.validation_accuracy, 1e-9, "%s: %g, measured %g",
                           training.arch->name, accuracy, f.last.validation_accuracy);
        check_depths(m, &dataloader.validation);
        sl_dataloader_close(&dataloader);
        sl_model_close(m);
        sl_engine_destroy(engine);
    }
}

static void expect_refused(const struct sl_train_options *training, const char *want)
{
    struct sl_err err;
    struct sl_engine *engine = fixture_engine(NULL, 1);
    EXPECT_FAIL(sl_trainer_create(engine, training, &err), err, SL_BAD_INPUT, want);
    sl_engine_destroy(engine);
}

Test(labelled, mistakes_are_named)
{
    struct sl_train_options training = labelled_of(sl_arch_find("vanilla"), 2), other = training;
    other.sources.columns.text = "3";
    expect_refused(&other, "data.tsv");
    other = training;
    other.arch = sl_arch_find("early_exit");
    expect_refused(
        &other, "early_exit only generates text (with --corpus). To classify, use one of: vanilla");
    other = training;
    other.sources.tokenizer = "letters";
    expect_refused(&other, "wordpiece");
    other = training;
    other.hyperparameters.validation_fraction = 0.1f;
    other.sources.corpus = data;
    other.sources.data = NULL;
    expect_refused(&other, "invalid epochs '2'");
}

/* Tokens and their order are the same; what they mean is not. */
Test(labelled, a_run_does_not_go_on_with_other_classes)
{
    char labels[PATH_MAX];
    struct sl_train_options training = labelled_of(sl_arch_find("vanilla"), 2);
    training.sources.labels = test_path(labels, dirs.top, "labels.txt");
    test_write_file(labels, "0\n1\n2\n");
    (void)train_until(&dirs, &training, 3, 1);
    training.resume = true;
    test_write_file(labels, "2\n1\n0\n");
    expect_refused(&training, "other texts or labels");
    test_write_file(labels, "0\n1\n2\n");
    (void)train_until(&dirs, &training, 0, 1);
}

static struct sl_train_options from_model(const struct sl_arch *arch, const char *from)
{
    struct sl_train_options t = labelled_of(arch, 1);
    t.init_from = from;
    t.hyperparameters.learning_rate = 1e-9f;
    t.hyperparameters.min_learning_rate = 0.0f;
    return t;
}

static void expect_equal_parameter(const struct sl_parameter *p, const struct sl_model *m)
{
    const struct sl_parameter *q = NULL;
    for (int i = 0; i < m->builder.count && !q; i++)
        if (strcmp(m->builder.parameters[i].name, p->name) == 0)
            q = &m->builder.parameters[i];
    cr_assert(q, "%s has no %s", m->arch->name, p->name);
    for (int i = 0; i < p->rows * p->cols; i++)
        cr_assert_float_eq((double)p->data[i], (double)q->data[i], 1e-5, "%s", p->name);
}

/* Whether a parameter of a model has the values of another's. */
static bool is_equal_parameter(const struct sl_model *a, const struct sl_model *b, const char *name)
{
    const struct sl_parameter *p = sl_builder_find(&a->builder, name),
                              *q = sl_builder_find(&b->builder, name);
    cr_assert(p && q, "there is no %s", name);
    for (int i = 0; i < p->rows * p->cols; i++)
        if (fabs((double)p->data[i] - (double)q->data[i]) > 1e-5)
            return false;
    return true;
}

/* The classes of a model that training begins with are its labels, not their numbers. */
Test(labelled, other_labels_begin_with_a_new_last_layer)
{
    static const char *const orders[] = {"0\n1\n2\n", "2\n1\n0\n"};
    struct sl_err err;
    char first[PATH_MAX], labels[PATH_MAX];
    struct sl_train_options training = labelled_of(sl_arch_find("vanilla"), 1);
    training.sources.labels = test_path(labels, dirs.top, "labels.txt");
    test_write_file(labels, orders[0]);
    (void)train_until(&dirs, &training, 0, 1);
    cr_assert_eq(rename(dirs.output, test_path(first, dirs.top, "first")), 0);
    forget_run();
    struct sl_engine *engine = fixture_engine(NULL, 1);
    engine->keeps_values = true;
    struct sl_model *a = sl_model_open(engine, first, &err);
    cr_assert(a, "%s", err.text);
    for (int other = 0; other < 2; other++) {
        training = from_model(sl_arch_find("vanilla"), first);
        training.sources.labels = labels;
        test_write_file(labels, orders[other]);
        (void)train_until(&dirs, &training, 0, 1);
        struct sl_model *b = sl_model_open(engine, dirs.output, &err);
        cr_assert(b, "%s", err.text);
        cr_expect_eq(is_equal_parameter(a, b, "classifier.weight"), other == 0);
        cr_expect(is_equal_parameter(a, b, "token_embedding.weight"));
        sl_model_close(b);
        forget_run();
    }
    sl_model_close(a);
    sl_engine_destroy(engine);
}

/* A completion model's table and blocks begin a classifier; its head is drawn. */
Test(labelled, a_model_begins_where_another_ended)
{
    struct sl_err err;
    char first[PATH_MAX], text[PATH_MAX];
    struct sl_train_options pretraining = labelled_of(sl_arch_find("vanilla"), 0);
    pretraining.config.task = SL_TASK_COMPLETION;
    pretraining.config.classes = 0;
    pretraining.sources = (struct sl_data_sources){.corpus = test_path(text, dirs.top, "data.tsv")};
    pretraining.hyperparameters.steps = 3;
    pretraining.hyperparameters.validation_fraction = 0.1f;
    (void)train_until(&dirs, &pretraining, 0, 1);
    cr_assert_eq(rename(dirs.output, test_path(first, dirs.top, "first")), 0);
    forget_run();

    /* tsa has routers besides. */
    static const char *const archs[] = {"vanilla", "tsa"};
    struct sl_train_options training;
    struct sl_engine *engine = fixture_engine(NULL, 1);
    engine->keeps_values = true;
    struct sl_model *a = sl_model_open(engine, first, &err);
    cr_assert(a, "%s", err.text);
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        training = from_model(sl_arch_find(archs[i]), first);
        (void)train_until(&dirs, &training, 0, 1);
        struct sl_model *b = sl_model_open(engine, dirs.output, &err);
        cr_assert(b, "%s", err.text);
        cr_expect_str_eq(sl_tokenizer_kind(sl_model_tokenizer(b)), "characters");
        for (int j = 0; j < a->builder.count; j++)
            expect_equal_parameter(&a->builder.parameters[j], b);
        sl_model_close(b);
        forget_run();
    }
    sl_model_close(a);
    training.config.width = 24;
    struct sl_trainer *none = sl_trainer_create(engine, &training, &err);
    cr_expect_null(none);
    cr_expect(strstr(err.text, "x36: expected"), "%s", err.text);
    sl_engine_destroy(engine);
}
