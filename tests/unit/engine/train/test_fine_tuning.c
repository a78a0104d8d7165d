/* test_fine_tuning.c - what helps on few labelled texts: rates by layer, averaged weights, an early
 * end, and labels that count the same. */
#include "support/model_fixture.h"
#include "support/test.h"
#include "support/trainer_fixture.h"

#include <math.h>

static struct workspace dirs;
static char data[PATH_MAX];

/* Three of four texts have the first label. */
static void setup(void)
{
    workspace_create(&dirs, "out");
    FILE *file = fopen(test_path(data, dirs.top, "data.tsv"), "we");
    cr_assert(file);
    for (int i = 0; i < 64; i++)
        cr_assert_gt(fprintf(file, "%s\tthe %s of day %d\n", i % 4 ? "often" : "rare",
                             i % 4 ? "sun" : "moon", i),
                     0);
    cr_assert_eq(fclose(file), 0);
}

static void teardown(void)
{
    workspace_remove(&dirs);
}

TestSuite(fine_tuning, .init = setup, .fini = teardown);

static struct sl_train_options training_of(const char *arch)
{
    struct sl_train_options t = small_training(&dirs, sl_arch_find(arch), dirs.run);
    t.sources = (struct sl_data_sources){.data = data, .columns = {.label = "1", .text = "2"}};
    t.hyperparameters.steps = 0;
    t.hyperparameters.epochs = 3;
    t.hyperparameters.save_every = 5;
    sl_train_options_complete(&t);
    return t;
}

static const struct sl_parameter *parameter(const struct sl_model *m, const char *name)
{
    for (int i = 0; i < m->builder.count; i++)
        if (strcmp(m->builder.parameters[i].name, name) == 0)
            return &m->builder.parameters[i];
    cr_assert_fail("no parameter %s", name);
    return NULL;
}

/* The largest change of a parameter in the first step. */
static double first_change(struct sl_trainer *trainer, const char *name)
{
    struct sl_err err;
    const struct sl_parameter *p = parameter(sl_trainer_model(trainer), name);
    size_t floats = sl_parameter_floats(p);
    float *before = malloc(floats * sizeof *before);
    cr_assert(before);
    memcpy(before, p->data, floats * sizeof *before);
    EXPECT_OK(sl_trainer_step(trainer, &err), err);
    double change = 0.0;
    for (size_t i = 0; i < floats; i++)
        change = fmax(change, fabs((double)p->data[i] - (double)before[i]));
    free(before);
    return change;
}

/* AdamW's first step moves every weight with a gradient by the learning rate. */
Test(fine_tuning, lower_layers_learn_more_slowly)
{
    static const struct {
        const char *name;
        int below;
    } cases[] = {{"classifier.bias", 0},
                 {"final_norm.bias", 0},
                 {"layers.1.mlp.down.bias", 1},
                 {"layers.0.mlp.down.bias", 2},
                 {"token_embedding.weight", 3}};
    struct sl_engine *engine = fixture_engine(NULL, 1);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct sl_train_options training = training_of("encoder");
        training.hyperparameters.layer_decay = 0.5f;
        training.hyperparameters.weight_decay = 0.0f;
        training.hyperparameters.warmup_steps = 0;
        struct sl_trainer *trainer = trainer_begin(engine, &training);
        double want = (double)training.hyperparameters.learning_rate * pow(0.5, cases[i].below);
        double have = first_change(trainer, cases[i].name);
        cr_expect_lt(fabs(have / want - 1.0), 0.02, "%s: %g, not %g", cases[i].name, have, want);
        sl_trainer_destroy(trainer);
        test_directory_remove(dirs.run);
    }
    sl_engine_destroy(engine);
}

/* -- averaged weights ------------------------------------------------------------------------- */

Test(fine_tuning, a_run_with_averaged_weights_resumes_to_the_same_bits)
{
    static const int stops[] = {1, 6, 0};
    struct sl_train_options training = training_of("tsa");
    training.hyperparameters.average_decay = 0.9f;
    struct run_digests want = digests_without_events(&dirs, training, 1);
    for (size_t i = 0; i < COUNT(stops); i++) {
        (void)train_until(&dirs, &training, stops[i], 1 + (int)i % 2);
        training.resume = true;
    }
    expect_same_digests(digests_of(&dirs, dirs.run), want, "tsa");
}

/* Weights that swing by the same amount in every step: their average is computed here again. */
Test(fine_tuning, what_is_published_is_the_average)
{
    struct sl_err err;
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct sl_train_options training = training_of("encoder");
    training.hyperparameters.average_decay = 0.9f;
    struct sl_trainer *trainer = trainer_begin(engine, &training);
    const struct sl_parameter *p = parameter(sl_trainer_model(trainer), "classifier.bias");
    double average = (double)p->data[0];
    for (int step = 0; step < 12; step++) {
        double decay = fmin(0.9, (1.0 + step) / (10.0 + step));
        EXPECT_OK(sl_trainer_step(trainer, &err), err);
        average = decay * average + (1.0 - decay) * (double)p->data[0];
    }
    double last = (double)p->data[0];
    EXPECT_OK(sl_trainer_publish(trainer, dirs.output, false, "{}", &err), err);
    cr_expect_eq((double)p->data[0], last, "publishing changed the trained weights");
    struct sl_model *m = sl_model_open(engine, dirs.output, &err);
    cr_assert(m, "%s", err.text);
    double published = (double)parameter(m, "classifier.bias")->data[0];
    cr_expect_lt(fabs(published - average), 1e-5, "%g, not %g", published, average);
    cr_expect_gt(fabs(published - last), 1e-3);
    sl_model_close(m);
    sl_trainer_destroy(trainer);
    sl_engine_destroy(engine);
}

/* -- the end ---------------------------------------------------------------------------------- */

/* At so small a rate nothing improves after the first evaluations. */
Test(fine_tuning, a_run_that_no_longer_improves_ends)
{
    struct sl_train_options training = training_of("encoder");
    training.hyperparameters.epochs = 50;
    training.hyperparameters.learning_rate = 1.0f;
    training.hyperparameters.min_learning_rate = 0.0f;
    training.hyperparameters.patience = 3;
    struct train_follower f = {0};
    struct sl_err err;
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct sl_trainer *trainer = trainer_begin(engine, &training);
    int epoch = sl_dataloader_epoch_steps(sl_trainer_dataloader(trainer));
    EXPECT_OK(trainer_follow(trainer, &f, &err), err);
    cr_expect_lt(f.last.step, 50 * epoch);
    cr_expect_eq(f.last.step, f.last.best_step + 3 * epoch);
    cr_expect(sl_trainer_finished(trainer));
    sl_trainer_destroy(trainer);
    training.resume = true;
    trainer = trainer_begin(engine, &training);
    cr_expect(sl_trainer_finished(trainer), "a run that has ended goes on when it is resumed");
    cr_expect_eq(sl_trainer_progress(trainer)->step, f.last.step);
    sl_trainer_destroy(trainer);
    sl_engine_destroy(engine);
}

/* -- labels ----------------------------------------------------------------------------------- */

Test(fine_tuning, balanced_labels_count_the_same)
{
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct sl_train_options training = training_of("encoder");
    training.hyperparameters.balance_labels = 1;
    struct sl_trainer *trainer = trainer_begin(engine, &training);
    const struct sl_dataset *texts = &sl_trainer_dataloader(trainer)->train;
    const float *weights = sl_trainer_dataloader(trainer)->label_weights;
    double sums[2] = {0};
    for (int i = 0; i < texts->count; i++)
        sums[sl_label_only(&texts->label_lists, i)] +=
            (double)weights[sl_label_only(&texts->label_lists, i)];
    cr_expect_lt(fabs(sums[0] - texts->count / 2.0), 1e-3);
    cr_expect_lt(fabs(sums[1] - texts->count / 2.0), 1e-3);
    sl_trainer_destroy(trainer);
    sl_engine_destroy(engine);
}
