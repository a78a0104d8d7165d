/* test_trainer_failures.c - training runs whose state survives whatever goes wrong. */
#include "checkpoint/manifest.h"
#include "support/model_fixture.h"
#include "support/test.h"
#include "support/trainer_fixture.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>

static struct workspace dirs;

static void setup(void)
{
    trainer_fixture_setup(&dirs);
}

static void teardown(void)
{
    workspace_remove(&dirs);
}

TestSuite(trainer_failures, .init = setup, .fini = teardown);

static bool is_finite(const struct sl_model *m)
{
    for (int i = 0; i < m->builder.count; i++) {
        const struct sl_parameter *p = &m->builder.parameters[i];
        for (size_t j = 0; j < sl_parameter_floats(p); j++)
            if (!isfinite(p->data[j]))
                return false;
    }
    return true;
}

/* Takes the run up again after a failure, and finds the state of that step. */
static void expect_left_at(struct sl_train_options *training, struct sl_engine *engine, int step)
{
    training->resume = true;
    struct sl_trainer *trainer = trainer_begin(engine, training);
    cr_expect_eq(sl_trainer_progress(trainer)->step, step);
    cr_expect(is_finite(sl_trainer_model(trainer)));
    sl_trainer_destroy(trainer);
}

/* -- numbers that are not finite -------------------------------------------------------------- */

enum { AT_A_STEP = 7, AT_A_MEASUREMENT = 8 };

static void poison(struct train_follower *f)
{
    const struct sl_parameter *p = &sl_trainer_model(f->trainer)->builder.parameters[0];
    p->data[0] = (float)NAN;
    sl_model_pack((struct sl_model *)(uintptr_t)sl_trainer_model(f->trainer));
}

/* What an overflow in the middle of a run does to the next step. */
static void poison_step(struct train_follower *f, int step)
{
    if (step == AT_A_STEP)
        poison(f);
}

/* And to a measurement, which comes before the next step. */
static void poison_measurement(struct train_follower *f, int step)
{
    if (step == AT_A_MEASUREMENT)
        poison(f);
}

Test(trainer_failures, a_loss_that_is_not_finite_leaves_the_last_good_state)
{
    struct sl_err err;
    struct train_follower f = {.at_step = poison_step};
    struct sl_train_options training = small_training(&dirs, sl_arch_find("tsa"), dirs.run);
    struct run_digests want = digests_without_events(&dirs, training, 1);
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct sl_trainer *trainer = trainer_begin(engine, &training);
    EXPECT_FAIL(trainer_follow(trainer, &f, &err), err, SL_NOT_FINITE, "last saved state");
    cr_expect(strstr(err.text, dirs.run) && strstr(err.text, "step 7: the loss"), "%s", err.text);
    sl_trainer_destroy(trainer);
    expect_left_at(&training, engine, 6);
    sl_engine_destroy(engine);
    (void)train_until(&dirs, &training, 0, 1);
    expect_same_digests(digests_of(&dirs, dirs.run), want, "after a NaN");
}

/* What a model is measured on may be text or labelled texts; what it says is the same. */
Test(trainer_failures, nan_in_an_evaluation_is_reported_with_advice)
{
    struct sl_err err;
    struct train_follower f = {.at_step = poison_measurement};
    struct sl_train_options training = small_training(&dirs, sl_arch_find("vanilla"), dirs.run);
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct sl_trainer *trainer = trainer_begin(engine, &training);
    EXPECT_FAIL(trainer_follow(trainer, &f, &err), err, SL_NOT_FINITE,
                "NaN or infinity; try a smaller learning_rate");
    cr_expect(strstr(err.text, dirs.run) && strstr(err.text, "step 8: "), "%s", err.text);
    sl_trainer_destroy(trainer);
    expect_left_at(&training, engine, 6);
    sl_engine_destroy(engine);
}

Test(trainer_failures, a_diverging_learning_rate_is_reported)
{
    struct sl_err err;
    struct train_follower f = {0};
    struct sl_train_options training = small_training(&dirs, sl_arch_find("vanilla"), dirs.run);
    training.hyperparameters.learning_rate = 1e30f;
    training.hyperparameters.max_grad_norm = 0.0f;
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct sl_trainer *trainer = trainer_begin(engine, &training);
    EXPECT_FAIL(trainer_follow(trainer, &f, &err), err, SL_NOT_FINITE, "smaller learning_rate");
    sl_trainer_destroy(trainer);
    expect_left_at(&training, engine, f.saves > 0 ? 3 : 0);
    sl_engine_destroy(engine);
}

/* -- only the same training goes on ----------------------------------------------------------- */

static void expect_refused(const struct sl_train_options *training, enum sl_code code,
                           const char *part)
{
    struct sl_err err;
    struct sl_engine *engine = fixture_engine(NULL, 1);
    EXPECT_FAIL(sl_trainer_create(engine, training, &err), err, code, part);
    sl_engine_destroy(engine);
}

/* A number near x that is not x, for a row of hyperparameters or architecture. */
static double other_number(double x, double max, bool whole)
{
    if (!whole)
        return x > 0.0 ? 0.9 * x : 0.5 * max;
    return x + 1.0 <= max ? x + 1.0 : x - 1.0;
}

Test(trainer_failures, resuming_with_another_hyper_parameter_is_rejected)
{
    struct sl_err err;
    struct sl_train_options training = small_training(&dirs, sl_arch_find("tsa"), dirs.run);
    (void)train_until(&dirs, &training, 4, 1);
    training.resume = true;
    for (const struct sl_param *r = sl_hyperparameter_rows; r->name; r++) {
        const struct sl_param *row = r;
        struct sl_train_options other = training;
        double value =
            other_number(sl_param_get(row, &other.hyperparameters), row->max, row->kind != SL_REAL);
        EXPECT_OK(sl_param_set(row, &other.hyperparameters, value, &err), err);
        expect_refused(&other, SL_BAD_INPUT, row->name);
    }
    for (const struct sl_param *h = training.arch->hypers; h->name; h++) {
        struct sl_train_options other = training;
        double value = other_number(sl_param_get(h, &other.config), h->max, h->kind != SL_REAL);
        if (strcmp(h->name, "heads") == 0)
            value = 2.0;
        EXPECT_OK(sl_param_set(h, &other.config, value, &err), err);
        expect_refused(&other, SL_BAD_INPUT, h->name);
    }
}

Test(trainer_failures, resuming_with_another_architecture_is_rejected)
{
    struct sl_train_options training = small_training(&dirs, sl_arch_find("vanilla"), dirs.run);
    (void)train_until(&dirs, &training, 4, 1);
    for (int a = 0; sl_arch_at(a); a++) {
        if (!(sl_arch_at(a)->tasks & SL_COMPLETES))
            continue;
        struct sl_train_options other = small_training(&dirs, sl_arch_at(a), dirs.run);
        other.resume = true;
        if (other.arch != training.arch)
            expect_refused(&other, SL_BAD_INPUT, "the run was started with vanilla, not ");
    }
    training.resume = true;
    (void)train_until(&dirs, &training, 0, 1);
}

Test(trainer_failures, resuming_with_another_corpus_is_rejected)
{
    struct sl_train_options training = small_training(&dirs, sl_arch_find("tsa"), dirs.run);
    (void)train_until(&dirs, &training, 4, 1);
    training.resume = true;
    trainer_write_corpus(dirs.corpus, 400, 2); /* the same characters in another order */
    expect_refused(&training, SL_BAD_INPUT, "with other texts or labels");
    test_write_file(dirs.corpus,
                    "Other characters altogether, and so another vocabulary. Other characters "
                    "altogether, and so another vocabulary.");
    expect_refused(&training, SL_BAD_INPUT, "with other texts or labels");
    trainer_write_corpus(dirs.corpus, 400, 1);
    (void)train_until(&dirs, &training, 0, 1);
}

Test(trainer_failures, a_new_run_over_an_old_one_is_rejected)
{
    struct sl_train_options training = small_training(&dirs, sl_arch_find("tsa"), dirs.run);
    (void)train_until(&dirs, &training, 4, 1);
    expect_refused(&training, SL_BAD_INPUT, "already holds a run");
    training.resume = true;
    (void)train_until(&dirs, &training, 0, 1);
}

Test(trainer_failures, resuming_a_missing_run_is_rejected)
{
    struct sl_train_options training = small_training(&dirs, sl_arch_find("tsa"), dirs.run);
    training.resume = true;
    expect_refused(&training, SL_NOT_FOUND, dirs.run);
    cr_expect_neq(access(dirs.run, F_OK), 0, "a failed resume made a directory");
}

/* -- files that are not as they should be ----------------------------------------------------- */

Test(trainer_failures, a_corpus_that_cannot_be_used_is_named)
{
    struct sl_train_options training = small_training(&dirs, sl_arch_find("tsa"), dirs.run);
    char missing[PATH_MAX];
    training.sources.corpus = test_path(missing, dirs.top, "missing.txt");
    expect_refused(&training, SL_NOT_FOUND, "missing.txt");
    training.sources.corpus = dirs.top;
    expect_refused(&training, SL_BAD_INPUT, "a directory, not a file");
    training.sources.corpus = dirs.corpus;
    test_write_file(dirs.corpus, "");
    expect_refused(&training, SL_BAD_INPUT, "empty");
    test_write_file(dirs.corpus, "too short");
    expect_refused(&training, SL_BAD_INPUT, "too few for a context length of 13");
    test_write_file(dirs.corpus, "not UTF-8 from byte 27 on: \xff\xfe and so on, for long enough.");
    expect_refused(&training, SL_BAD_INPUT, "UTF-8");
    cr_expect_neq(access(dirs.run, F_OK), 0, "a failed beginning made a directory");
}

Test(trainer_failures, a_corpus_without_permission_is_named)
{
    struct sl_train_options training = small_training(&dirs, sl_arch_find("tsa"), dirs.run);
    if (geteuid() == 0) {
        teardown(); /* which a skipped test does not reach */
        cr_skip_test("root may read everything");
    }
    cr_assert_eq(chmod(dirs.corpus, 0), 0);
    expect_refused(&training, SL_IO, strerrordesc_np(EACCES));
}

Test(trainer_failures, a_directory_that_cannot_be_written_is_named)
{
    char below[PATH_MAX];
    struct sl_train_options training =
        small_training(&dirs, sl_arch_find("tsa"), test_path(below, dirs.corpus, "run"));
    expect_refused(&training, SL_BAD_INPUT, dirs.corpus);
    if (geteuid() == 0)
        return; /* root may write everywhere */
    training.run_dir = dirs.run;
    cr_assert_eq(chmod(dirs.top, S_IRUSR | S_IXUSR), 0);
    expect_refused(&training, SL_IO, strerrordesc_np(EACCES));
    cr_assert_eq(chmod(dirs.top, S_IRWXU), 0);
}

/* The size of files that this process may write: as a full disk, but for one process. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void fill_disk(struct train_follower *f, int step)
{
    (void)f;
    if (step == 5)
        limit_files(4096);
}

Test(trainer_failures, a_full_disk_leaves_the_last_state)
{
    struct sl_err err;
    struct train_follower f = {.at_step = fill_disk};
    struct sl_train_options training = small_training(&dirs, sl_arch_find("tsa"), dirs.run);
    struct run_digests want = digests_without_events(&dirs, training, 1);
    (void)signal(SIGXFSZ, SIG_IGN);
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct sl_trainer *trainer = trainer_begin(engine, &training);
    EXPECT_FAIL(trainer_follow(trainer, &f, &err), err, SL_NO_SPACE, "save step 6");
    limit_files(RLIM_INFINITY);
    cr_expect(strstr(err.text, "File too large"), "%s", err.text);
    cr_expect_eq(test_count_entries(dirs.run), 1, "something is left beside the state");
    sl_trainer_destroy(trainer);
    expect_left_at(&training, engine, 3);
    sl_engine_destroy(engine);
    (void)train_until(&dirs, &training, 0, 1);
    expect_same_digests(digests_of(&dirs, dirs.run), want, "after a full disk");
}

Test(trainer_failures, a_full_disk_at_the_start_is_reported)
{
    struct sl_train_options training = small_training(&dirs, sl_arch_find("tsa"), dirs.run);
    (void)signal(SIGXFSZ, SIG_IGN);
    limit_files(4096);
    expect_refused(&training, SL_NO_SPACE, "File too large");
    limit_files(RLIM_INFINITY);
    (void)train_until(&dirs, &training, 0, 1);
}

Test(trainer_failures, a_damaged_state_is_rejected)
{
    char path[PATH_MAX], state[PATH_MAX];
    struct sl_train_options training = small_training(&dirs, sl_arch_find("tsa"), dirs.run);
    (void)train_until(&dirs, &training, 4, 1);
    training.resume = true;
    (void)test_path(state, dirs.run, "state");
    cr_assert_eq(truncate(test_path(path, state, "state.safetensors"), 5000), 0);
    expect_refused(&training, SL_CORRUPT, "state.safetensors");
}

/* The state stays whole: its digests are right. */
Test(trainer_failures, a_state_beyond_the_last_step_is_rejected)
{
    struct sl_err err;
    struct sl_manifest_file members[] = {{.name = "state.json"}, {.name = "state.safetensors"}};
    struct sl_manifest_writer writer;
    char state[PATH_MAX], path[PATH_MAX], text[16384], edited[16384];
    struct sl_train_options training = small_training(&dirs, sl_arch_find("tsa"), dirs.run);
    (void)train_until(&dirs, &training, 4, 1);
    (void)test_path(path, test_path(state, dirs.run, "state"), "state.json");
    FILE *file = fopen(path, "re");
    cr_assert(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    const char *at = strstr(text, ": 4,"); /* the step is first */
    cr_assert(at, "%s", text);
    (void)snprintf(edited, sizeof edited, "%.*s: 4294967300%s", (int)(at - text), text, at + 3);
    test_write_file(path, edited);
    EXPECT_OK(sl_manifest_begin(&writer, state, &err), err);
    cr_assert_eq(rename(state, writer.tmp), 0);
    const struct sl_manifest manifest = {.members = members, .count = COUNT(members)};
    EXPECT_OK(sl_manifest_commit(&writer, state, &manifest, &err), err);
    training.resume = true;
    expect_refused(&training, SL_CORRUPT, "it is at step 4294967300 of 12");
}
