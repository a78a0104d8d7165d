/* test_distillation.c - learning from a teacher: the same bits when interrupted, what a teacher
 * must have, and a student that agrees with it has nothing to learn. */
#include "support/model_fixture.h"
#include "support/test.h"
#include "support/trainer_fixture.h"

#include <math.h>
#include <stdlib.h>

static struct workspace dirs;
static char teacher[PATH_MAX];

static void copy_run(const struct sl_train_options *training, const char *output)
{
    struct sl_err err;
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct sl_trainer *trainer = trainer_begin(engine, training);
    for (int i = 0; i < 3; i++)
        EXPECT_OK(sl_trainer_step(trainer, &err), err);
    EXPECT_OK(sl_trainer_publish(trainer, output, false, "{}", &err), err);
    sl_trainer_destroy(trainer);
    sl_engine_destroy(engine);
    test_directory_remove(dirs.run);
}

/* A teacher that is wider than its students, and another architecture than most of them. */
static void setup(void)
{
    trainer_fixture_setup(&dirs);
    struct sl_train_options training = small_training(&dirs, sl_arch_find("vanilla"), dirs.run);
    training.config.width = 28;
    copy_run(&training, test_path(teacher, dirs.top, "teacher"));
}

static void teardown(void)
{
    workspace_remove(&dirs);
}

TestSuite(distillation, .init = setup, .fini = teardown);

static struct sl_train_options distilled(const char *arch)
{
    struct sl_train_options training = small_training(&dirs, sl_arch_find(arch), dirs.run);
    training.teacher = teacher;
    return training;
}

Test(distillation, interrupted_runs_end_with_the_same_bits)
{
    static const int stops[] = {1, 5, 9, 0};
    for (int a = 0; sl_arch_at(a); a++) {
        if (!(sl_arch_at(a)->tasks & SL_COMPLETES))
            continue;
        struct sl_train_options training = distilled(sl_arch_at(a)->name);
        struct run_digests want = digests_without_events(&dirs, training, 1);
        for (size_t i = TEST_SANITIZED ? 2 : 0; i < COUNT(stops); i++) {
            (void)train_until(&dirs, &training, stops[i], 1 + (int)i % 3);
            training.resume = true;
        }
        expect_same_digests(digests_of(&dirs, dirs.run), want, sl_arch_at(a)->name);
        test_directory_remove(dirs.run);
    }
}

/* The loss of the first step. */
static double first_loss(const struct sl_train_options *training, double *norm)
{
    struct sl_err err;
    struct sl_engine *engine = fixture_engine(NULL, 2);
    struct sl_trainer *trainer = trainer_begin(engine, training);
    EXPECT_OK(sl_trainer_step(trainer, &err), err);
    double loss = sl_trainer_progress(trainer)->loss;
    *norm = sl_trainer_progress(trainer)->grad_norm;
    sl_trainer_destroy(trainer);
    sl_engine_destroy(engine);
    test_directory_remove(dirs.run);
    return loss;
}

Test(distillation, a_student_that_equals_its_teacher_has_nothing_to_learn)
{
    double norm, alone, half;
    struct sl_train_options training = distilled("vanilla");
    training.init_from = teacher;
    training.config.width = 28;
    training.config.dropout = 0.0f;
    training.hyperparameters.distillation_weight = 1.0f;
    double same = first_loss(&training, &norm);
    cr_expect_lt(fabs(same), 1e-5, "%g", same);
    cr_expect_lt(norm, 1e-3, "%g", norm);
    training.hyperparameters.distillation_weight = 0.0f;
    alone = first_loss(&training, &norm);
    cr_expect_gt(alone, 1.0);
    cr_expect_gt(norm, 0.01);
    training.hyperparameters.distillation_weight = 0.5f;
    half = first_loss(&training, &norm);
    cr_expect_float_eq(half, 0.5 * alone, 1e-4, "%g, alone %g", half, alone);
}

/* A classifier learns from a classifier. */
static void write_labelled(char path[PATH_MAX], const char *name, const char *often,
                           const char *rare)
{
    FILE *file = fopen(test_path(path, dirs.top, name), "we");
    cr_assert(file);
    for (int i = 0; i < 64; i++)
        cr_assert_gt(fprintf(file, "%s\tthe %s of day %d\n", i % 4 ? often : rare,
                             i % 4 ? "sun" : "moon", i % 8),
                     0);
    cr_assert_eq(fclose(file), 0);
}

static struct sl_train_options labelled(const char *arch, const char *data)
{
    struct sl_train_options t = small_training(&dirs, sl_arch_find(arch), dirs.run);
    t.sources = (struct sl_data_sources){.data = data, .columns = {.label = "1", .text = "2"}};
    t.hyperparameters.steps = 0;
    t.hyperparameters.epochs = 2;
    sl_train_options_complete(&t);
    return t;
}

Test(distillation, a_classifier_learns_from_a_classifier_of_the_same_labels)
{
    char data[PATH_MAX], other[PATH_MAX], expert[PATH_MAX];
    struct sl_err err;
    struct sl_engine *engine = fixture_engine(NULL, 1);
    write_labelled(data, "data.tsv", "often", "rare");
    write_labelled(other, "other.tsv", "often", "seldom");
    struct sl_train_options training = labelled("encoder", data);
    copy_run(&training, test_path(expert, dirs.top, "expert"));
    training = labelled("tsa", data);
    training.teacher = expert;
    struct train_follower f = {0};
    struct sl_trainer *trainer = trainer_begin(engine, &training);
    EXPECT_OK(trainer_follow(trainer, &f, &err), err);
    sl_trainer_destroy(trainer);
    test_directory_remove(dirs.run);
    training = labelled("tsa", other);
    training.teacher = expert;
    cr_assert_null(sl_trainer_create(engine, &training, &err));
    cr_expect(strstr(err.text, "it has other labels than this training"), "%s", err.text);
    sl_engine_destroy(engine);
}

/* -- what is refused -------------------------------------------------------------------------- */

static void expect_refused(const struct sl_train_options *training, const char *why)
{
    struct sl_err err;
    struct sl_engine *engine = fixture_engine(NULL, 1);
    cr_expect_null(sl_trainer_create(engine, training, &err));
    cr_expect(strstr(err.text, why), "%s", err.text);
    sl_engine_destroy(engine);
    test_directory_remove(dirs.run);
}

Test(distillation, a_teacher_must_fit, TEST_ONE_THREAD)
{
    struct sl_train_options training = distilled("tsa");
    training.config.context_length = 14;
    expect_refused(&training, "its context_length is 13: expected at least that of this training");
    training = distilled("tsa");
    training.sources.tokenizer = "bytes";
    expect_refused(&training, "it has another vocabulary (characters, ");
    training = distilled("tsa");
    training.hyperparameters.mask_fraction = 0.2f;
    expect_refused(&training, "it is for completion, and cannot teach a model for pretraining");
    training = distilled("tsa");
    training.teacher = dirs.top;
    expect_refused(&training, dirs.top);
    training = distilled("tsa");
    training.teacher = NULL;
    training.hyperparameters.distillation_weight = 0.3f;
    expect_refused(&training, "distillation_weight has no effect without a teacher");
}

static void expect_not_resumed(const char *with, const char *why)
{
    struct sl_err err;
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct sl_train_options training = distilled("tsa");
    training.teacher = with;
    training.resume = true;
    cr_expect_null(sl_trainer_create(engine, &training, &err));
    cr_expect(strstr(err.text, why), "%s", err.text);
    sl_engine_destroy(engine);
}

Test(distillation, a_run_resumes_with_its_teacher_only, TEST_ONE_THREAD)
{
    char other[PATH_MAX], elsewhere[PATH_MAX];
    struct sl_train_options training = distilled("tsa");
    struct sl_train_options more =
        small_training(&dirs, sl_arch_find("vanilla"), test_path(elsewhere, dirs.top, "elsewhere"));
    copy_run(&more, test_path(other, dirs.top, "other"));
    (void)train_until(&dirs, &training, 3, 1);
    expect_not_resumed(NULL, "the run was started with a teacher");
    expect_not_resumed(other, "the run was started with another teacher");
    test_directory_remove(dirs.run);
    training.teacher = NULL;
    (void)train_until(&dirs, &training, 3, 1);
    expect_not_resumed(teacher, "the run was started with no teacher");
}
