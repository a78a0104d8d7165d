/* test_trainer.c - training runs: the same bits however they were interrupted, losses that fall,
 * and a state that survives whatever goes wrong. */
#include "base/file.h"
#include "model/manifest.h"
#include "net_fixture.h"
#include "sluice/infer.h"
#include "train/evaluate.h"
#include "train/trainer.h"

#include <math.h>
#include <signal.h>
#include <sys/resource.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static char top[PATH_MAX], corpus[PATH_MAX], run[PATH_MAX], out[PATH_MAX];

/* Words in an order that can be repeated: there is something to learn, and no end of it. */
static void write_corpus(const char *path, int words, uint64_t seed)
{
    static const char *const some[] = {"water ", "runs ",  "down ", "the ",     "gate.\n",
                                       "a ",     "stone ", "is ",   "lighter ", "below? "};
    uint64_t key = sl_random_key(seed, "words");
    FILE *file = fopen(path, "we");
    cr_assert(file, "cannot write %s", path);
    for (int i = 0; i < words; i++)
        cr_assert_geq(fputs(some[sl_random_below(key, (uint64_t)i, COUNT(some))], file), 0);
    cr_assert_eq(fclose(file), 0);
}

static void setup(void)
{
    test_directory_make(top);
    (void)test_path(corpus, top, "corpus.txt");
    (void)test_path(run, top, "run");
    (void)test_path(out, top, "out");
    write_corpus(corpus, 400, 1);
}

static void teardown(void)
{
    test_directory_remove(top);
}

TestSuite(trainer, .init = setup, .fini = teardown);

/* Sizes that are no multiples of anything; a step's last micro-batch is smaller than the others. */
static struct sl_training training_of(const struct sl_arch *arch, const char *directory)
{
    struct sl_training t = {.arch = arch, .sources.corpus = corpus, .run = directory};
    sl_config_standard(arch, &t.config);
    t.config.width = 20;
    t.config.heads = 1;
    t.config.depth = 2;
    t.config.hidden = 36;
    t.config.context = 13;
    fixture_clamp(arch, &t.config);
    sl_numbers_standard(sl_recipe_rows, &t.recipe);
    t.recipe.steps = 12;
    t.recipe.batch = 5;
    t.recipe.micro_batch = 2;
    t.recipe.warmup = 3;
    t.recipe.rate = 0.01f;
    t.recipe.rate_least = 0.001f;
    t.recipe.evaluate_every = 4;
    t.recipe.save_every = 3;
    return t;
}

/* -- following a run -------------------------------------------------------------------------- */

struct follow {
    int stop_at; /* a step; 0: never */
    void (*at_step)(struct follow *f, int step);
    struct sl_trainer *trainer;
    struct sl_train_state last;
    int steps, evaluations, saves;
};

static void report(void *context, const struct sl_train_state *state)
{
    struct follow *f = context;
    f->last = *state;
    f->steps += state->event == SL_TRAIN_STEPPED;
    f->evaluations += state->event == SL_TRAIN_EVALUATED;
    f->saves += state->event == SL_TRAIN_SAVED;
    if (state->event == SL_TRAIN_STEPPED && f->at_step)
        f->at_step(f, state->step);
}

static bool stop(void *context)
{
    const struct follow *f = context;
    return f->stop_at > 0 && f->last.step == f->stop_at;
}

static bool follow(struct sl_trainer *trainer, struct follow *f, struct sl_err *err)
{
    struct sl_train_watch watch = {.context = f, .report = report, .stop = stop};
    f->trainer = trainer;
    return sl_trainer_run(trainer, &watch, err);
}

static struct sl_trainer *begin(struct sl_engine *engine, const struct sl_training *training)
{
    struct sl_err err;
    struct sl_trainer *trainer = sl_trainer_create(engine, training, &err);
    cr_assert(trainer, "%s", err.text);
    return trainer;
}

/* Goes on with a run, or begins it, until it ends or `step` is reached. */
static void train_until(const struct sl_training *training, int step, int threads)
{
    struct sl_err err;
    struct follow f = {.stop_at = step};
    struct sl_engine *engine = fixture_engine(NULL, threads);
    struct sl_trainer *trainer = begin(engine, training);
    EXPECT_OK(follow(trainer, &f, &err), err);
    cr_assert_eq(f.last.step, step ? step : training->recipe.steps);
    cr_assert_eq(sl_trainer_finished(trainer), f.last.step == training->recipe.steps);
    if (sl_trainer_finished(trainer))
        EXPECT_OK(sl_trainer_publish(trainer, out, false, "{}", &err), err);
    sl_trainer_destroy(trainer);
    sl_engine_destroy(engine);
}

/* -- what a run ended with -------------------------------------------------------------------- */

/* Digests of everything that a run leaves behind but dates. */
struct ending {
    char numbers[65], counters[65], model[65];
};

static void digest(char hex[65], const char *directory, const char *name)
{
    char path[PATH_MAX];
    struct sl_map map;
    struct sl_err err;
    EXPECT_OK(sl_map_open(&map, test_path(path, directory, name), &err), err);
    sl_sha256_hex(map.data, map.size, hex);
    sl_map_close(&map);
}

static struct ending ending_of(const char *directory)
{
    struct ending e;
    char state[PATH_MAX];
    (void)test_path(state, directory, "state");
    digest(e.numbers, state, "state.safetensors");
    digest(e.counters, state, "state.json");
    digest(e.model, out, "model.safetensors");
    return e;
}

static void expect_same(struct ending have, struct ending want, const char *what)
{
    cr_expect_str_eq(have.numbers, want.numbers, "%s: other parameters or moments", what);
    cr_expect_str_eq(have.counters, want.counters, "%s: other counters", what);
    cr_expect_str_eq(have.model, want.model, "%s: another model", what);
}

/* The ending of a training that nothing interrupts, in a run of its own. */
static struct ending ending_without_events(struct sl_training training, int threads)
{
    char whole[PATH_MAX];
    training.run = test_path(whole, top, "whole");
    training.resume = false;
    train_until(&training, 0, threads);
    struct ending e = ending_of(whole);
    test_directory_remove(whole);
    return e;
}

/* -- the same bits ---------------------------------------------------------------------------- */

/* As if killed: steps that nobody saved. */
static void lose_steps(const struct sl_training *training, int count, int threads)
{
    struct sl_err err;
    struct sl_engine *engine = fixture_engine(NULL, threads);
    struct sl_trainer *trainer = begin(engine, training);
    for (int i = 0; i < count; i++)
        EXPECT_OK(sl_trainer_step(trainer, &err), err);
    sl_trainer_destroy(trainer);
    sl_engine_destroy(engine);
}

Test(trainer, interrupted_runs_end_with_the_same_bits)
{
    static const int stops[] = {1, 4, 5, 9, 11, 0};
    for (int a = 0; sl_arch_at(a); a++) {
        if (!(sl_arch_at(a)->tasks & SL_COMPLETES))
            continue;
        struct sl_training training = training_of(sl_arch_at(a), run);
        struct ending want = ending_without_events(training, 1);
        for (size_t i = 0; i < COUNT(stops); i++) {
            train_until(&training, stops[i], 1 + (int)i % 3);
            training.resume = true;
            if (stops[i])
                lose_steps(&training, (int)i % 2 + 1, 2);
        }
        expect_same(ending_of(run), want, sl_arch_at(a)->name);
        test_directory_remove(run);
    }
}

Test(trainer, a_finished_run_resumes_to_the_same_model)
{
    struct sl_err err;
    struct follow f = {0};
    struct sl_training training = training_of(sl_arch_find("tsa"), run);
    train_until(&training, 0, 1);
    struct ending want = ending_of(run);
    test_directory_remove(out);
    training.resume = true;
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct sl_trainer *trainer = begin(engine, &training);
    cr_assert(sl_trainer_finished(trainer));
    EXPECT_OK(follow(trainer, &f, &err), err);
    cr_expect_eq(f.steps, 0);
    EXPECT_OK(sl_trainer_publish(trainer, out, false, "{}", &err), err);
    expect_same(ending_of(run), want, "resumed when finished");
    sl_trainer_destroy(trainer);
    sl_engine_destroy(engine);
}

Test(trainer, the_best_loss_is_remembered)
{
    struct sl_err err;
    struct follow f = {.stop_at = 5};
    struct sl_training training = training_of(sl_arch_find("tsa"), run);
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct sl_trainer *trainer = begin(engine, &training);
    EXPECT_OK(follow(trainer, &f, &err), err);
    sl_trainer_destroy(trainer);
    training.resume = true;
    trainer = begin(engine, &training);
    cr_expect_eq(sl_trainer_state(trainer)->step, 5);
    cr_expect_eq(sl_trainer_state(trainer)->best_step, 4);
    cr_expect_lt(f.last.best_loss, 10.0);
    cr_expect_eq(sl_trainer_state(trainer)->best_loss, f.last.best_loss);
    sl_trainer_destroy(trainer);
    sl_engine_destroy(engine);
}

Test(trainer, threads_do_not_change_a_bit)
{
    for (int a = 0; sl_arch_at(a); a++) {
        if (!(sl_arch_at(a)->tasks & SL_COMPLETES))
            continue;
        struct sl_training training = training_of(sl_arch_at(a), run);
        struct ending one = ending_without_events(training, 1);
        expect_same(ending_without_events(training, 3), one, sl_arch_at(a)->name);
    }
}

Test(trainer, a_seed_changes_everything)
{
    struct sl_training training = training_of(sl_arch_find("tsa"), run);
    struct ending one = ending_without_events(training, 1);
    training.recipe.seed++;
    struct ending other = ending_without_events(training, 1);
    cr_expect_str_neq(one.numbers, other.numbers);
    cr_expect_str_neq(one.model, other.model);
}

/* All parameters after some steps in micro-batches of a size; returns how many there are. */
static size_t parameters_after(const struct sl_arch *arch, int micro_batch, int steps, float **all)
{
    char path[PATH_MAX], name[32];
    struct sl_err err;
    (void)snprintf(name, sizeof name, "micro-%d-%d", micro_batch, steps);
    struct sl_training training = training_of(arch, test_path(path, top, name));
    training.recipe.micro_batch = micro_batch;
    struct sl_engine *engine = fixture_engine(NULL, 2);
    struct sl_trainer *trainer = begin(engine, &training);
    for (int i = 0; i < steps; i++)
        EXPECT_OK(sl_trainer_step(trainer, &err), err);
    const struct sl_model *m = sl_trainer_model(trainer);
    size_t count = 0;
    *all = malloc((size_t)sl_net_parameters(m) * sizeof **all);
    cr_assert(*all);
    for (int i = 0; i < m->builder.count; i++) {
        const struct sl_parameter *p = &m->builder.parameters[i];
        memcpy(*all + count, p->data, (size_t)(p->rows * p->cols) * sizeof **all);
        count += (size_t)(p->rows * p->cols);
    }
    sl_trainer_destroy(trainer);
    sl_engine_destroy(engine);
    test_directory_remove(path);
    return count;
}

static double distance(const float *x, const float *y, size_t count)
{
    double squares = 0.0;
    for (size_t i = 0; i < count; i++)
        squares += pow((double)x[i] - (double)y[i], 2.0);
    return sqrt(squares);
}

/* Sums are cut elsewhere, so bits differ, and AdamW makes much of gradients near zero; a window
 * lost, weighted wrongly or with other dropout would change the direction of whole steps. After
 * few steps: sooner or later a weight becomes another bf16 number, and all that follows differs. */
Test(trainer, micro_batches_only_change_rounding)
{
    enum { STEPS = 2 };

    for (int a = 0; sl_arch_at(a); a++) {
        if (!(sl_arch_at(a)->tasks & SL_COMPLETES))
            continue;
        float *first, *whole, *cut;
        size_t count = parameters_after(sl_arch_at(a), 5, 0, &first);
        (void)parameters_after(sl_arch_at(a), 5, STEPS, &whole);
        for (int micro_batch = 1; micro_batch < 5; micro_batch++) {
            (void)parameters_after(sl_arch_at(a), micro_batch, STEPS, &cut);
            double error = distance(cut, whole, count) / distance(whole, first, count);
            cr_expect_lt(error, 1e-3, "%s, micro-batches of %d: %g", sl_arch_at(a)->name,
                         micro_batch, error);
            free(cut);
        }
        free(first);
        free(whole);
    }
}

/* -- learning --------------------------------------------------------------------------------- */

static double loss_on(struct sl_trainer *trainer, enum sl_part part)
{
    struct sl_evaluation e;
    struct sl_err err;
    struct sl_policy soft = {.gate = SL_GATE_SOFT, .exit_threshold = 1.0f};
    EXPECT_OK(sl_evaluate(sl_trainer_model(trainer), sl_trainer_material(trainer)->parts[part],
                          &soft, &e, &err),
              err);
    return e.loss;
}

/* A text short enough to be known by heart: what is left is the first letters of each window. */
Test(trainer, every_architecture_overfits_a_tiny_text)
{
    test_write(corpus, "The quick brown fox jumps over the lazy dog, and then it waits; "
                       "five dozen jugs of liquor went down the river by night.");
    for (int a = 0; sl_arch_at(a); a++) {
        if (!(sl_arch_at(a)->tasks & SL_COMPLETES))
            continue;
        struct sl_err err;
        struct sl_training training = training_of(sl_arch_at(a), run);
        training.config.width = 32;
        training.config.heads = 4;
        training.config.dropout = 0.0f;
        training.recipe.steps = TEST_SANITIZED ? 20 : 250;
        training.recipe.batch = training.recipe.micro_batch = 8;
        training.recipe.evaluate_every = training.recipe.save_every = 0;
        struct sl_engine *engine = fixture_engine(NULL, 2);
        struct sl_trainer *trainer = begin(engine, &training);
        double before = loss_on(trainer, SL_TRAIN);
        struct follow f = {0};
        EXPECT_OK(follow(trainer, &f, &err), err);
        double after = loss_on(trainer, SL_TRAIN);
        cr_expect_gt(before, 3.0, "%s: %g", sl_arch_at(a)->name, before);
        cr_expect_lt(after, TEST_SANITIZED ? before : 0.5, "%s: %g", sl_arch_at(a)->name, after);
        sl_trainer_destroy(trainer);
        sl_engine_destroy(engine);
        test_directory_remove(run);
    }
}

static void expect_report(const struct sl_train_state *s, double first_loss)
{
    cr_expect_eq(s->step, 12);
    cr_expect_eq(s->steps, 12);
    cr_expect_lt(s->loss, first_loss);
    cr_expect_lt(s->validation_loss, first_loss);
    cr_expect(s->best_loss <= s->validation_loss);
    cr_expect_eq(s->best_step % 4, 0);
    cr_expect_gt(s->gate_mean, 0.0);
    cr_expect_lt(s->gate_mean, 1.0);
    cr_expect_gt(s->validation_gate, 0.0);
    cr_expect_gt(s->norm, 0.0);
    cr_expect_gt(s->tokens_per_second, 0.0);
    cr_expect_gt(s->seconds, 0.0);
    cr_expect_float_eq(s->seconds_left, 0.0, 1e-9);
}

static double first_loss;

static void keep_first_loss(struct follow *f, int step)
{
    if (step == 1)
        first_loss = f->last.loss;
}

Test(trainer, a_run_reports_every_step_evaluation_and_save)
{
    struct sl_err err;
    struct follow f = {.at_step = keep_first_loss};
    struct sl_training training = training_of(sl_arch_find("tsa"), run);
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct sl_trainer *trainer = begin(engine, &training);
    EXPECT_OK(follow(trainer, &f, &err), err);
    cr_expect_eq(f.steps, 12);
    cr_expect_eq(f.evaluations, 3);
    cr_expect_eq(f.saves, 4);
    expect_report(&f.last, first_loss);
    sl_trainer_destroy(trainer);
    sl_engine_destroy(engine);
}

/* -- numbers that are not finite -------------------------------------------------------------- */

/* What an overflow in the middle of a run does to the next step. */
static void poison(struct follow *f, int step)
{
    const struct sl_parameter *p = &sl_trainer_model(f->trainer)->builder.parameters[0];
    if (step != 7)
        return;
    p->data[0] = (float)NAN;
    sl_net_pack((struct sl_model *)(uintptr_t)sl_trainer_model(f->trainer));
}

Test(trainer, a_loss_that_is_not_finite_leaves_the_last_good_state)
{
    struct sl_err err;
    struct follow f = {.at_step = poison};
    struct sl_training training = training_of(sl_arch_find("tsa"), run);
    struct ending want = ending_without_events(training, 1);
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct sl_trainer *trainer = begin(engine, &training);
    EXPECT_FAIL(follow(trainer, &f, &err), err, SL_NOT_FINITE, "step 7");
    cr_expect(strstr(err.text, run), "%s", err.text);
    sl_trainer_destroy(trainer);
    training.resume = true;
    trainer = begin(engine, &training);
    cr_expect_eq(sl_trainer_state(trainer)->step, 6);
    sl_trainer_destroy(trainer);
    sl_engine_destroy(engine);
    train_until(&training, 0, 1);
    expect_same(ending_of(run), want, "after a NaN");
}

Test(trainer, a_rate_far_too_large_fails_and_says_so)
{
    struct sl_err err;
    struct follow f = {0};
    struct sl_training training = training_of(sl_arch_find("vanilla"), run);
    training.recipe.rate = 1e30f;
    training.recipe.clip = 0.0f;
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct sl_trainer *trainer = begin(engine, &training);
    EXPECT_FAIL(follow(trainer, &f, &err), err, SL_NOT_FINITE, "smaller rate");
    sl_trainer_destroy(trainer);
    training.resume = true;
    trainer = begin(engine, &training);
    cr_expect_eq(sl_trainer_state(trainer)->step, f.saves > 0 ? 3 : 0);
    cr_expect(sl_net_is_finite(sl_trainer_model(trainer)));
    sl_trainer_destroy(trainer);
    sl_engine_destroy(engine);
}

/* -- only the same training goes on ----------------------------------------------------------- */

static void expect_refused(const struct sl_training *training, enum sl_code code, const char *part)
{
    struct sl_err err;
    struct sl_engine *engine = fixture_engine(NULL, 1);
    EXPECT_FAIL(sl_trainer_create(engine, training, &err), err, code, part);
    sl_engine_destroy(engine);
}

/* A number near x that is not x, for a row of recipe or architecture. */
static double other_number(double x, double most, bool whole)
{
    if (!whole)
        return x > 0.0 ? 0.9 * x : 0.5 * most;
    return x + 1.0 <= most ? x + 1.0 : x - 1.0;
}

Test(trainer, resuming_with_another_number_is_refused_by_its_name)
{
    struct sl_err err;
    struct sl_training training = training_of(sl_arch_find("tsa"), run);
    train_until(&training, 4, 1);
    training.resume = true;
    for (const struct sl_number *r = sl_recipe_rows; r->name; r++) {
        const struct sl_number *row = r;
        struct sl_training other = training;
        double value =
            other_number(sl_number_get(row, &other.recipe), row->most, row->kind != SL_REAL);
        EXPECT_OK(sl_number_set(row, &other.recipe, value, &err), err);
        expect_refused(&other, SL_BAD_INPUT, row->name);
    }
    for (const struct sl_number *h = training.arch->hypers; h->name; h++) {
        struct sl_training other = training;
        double value = other_number(sl_number_get(h, &other.config), h->most, h->kind != SL_REAL);
        if (strcmp(h->name, "heads") == 0)
            value = 2.0;
        EXPECT_OK(sl_number_set(h, &other.config, value, &err), err);
        expect_refused(&other, SL_BAD_INPUT, h->name);
    }
}

Test(trainer, resuming_with_another_architecture_is_refused)
{
    struct sl_training training = training_of(sl_arch_find("vanilla"), run);
    train_until(&training, 4, 1);
    for (int a = 0; sl_arch_at(a); a++) {
        if (!(sl_arch_at(a)->tasks & SL_COMPLETES))
            continue;
        struct sl_training other = training_of(sl_arch_at(a), run);
        other.resume = true;
        if (other.arch != training.arch)
            expect_refused(&other, SL_BAD_INPUT, "architecture");
    }
    training.resume = true;
    train_until(&training, 0, 1);
}

Test(trainer, resuming_with_another_corpus_is_refused)
{
    struct sl_training training = training_of(sl_arch_find("tsa"), run);
    train_until(&training, 4, 1);
    training.resume = true;
    write_corpus(corpus, 400, 2); /* the same characters in another order */
    expect_refused(&training, SL_BAD_INPUT, "another corpus");
    test_write(corpus, "Other characters altogether, and so another vocabulary. Other characters "
                       "altogether, and so another vocabulary.");
    expect_refused(&training, SL_BAD_INPUT, "another corpus");
    write_corpus(corpus, 400, 1);
    train_until(&training, 0, 1);
}

Test(trainer, beginning_over_a_run_is_refused)
{
    struct sl_training training = training_of(sl_arch_find("tsa"), run);
    train_until(&training, 4, 1);
    expect_refused(&training, SL_BAD_INPUT, "already holds a run");
    training.resume = true;
    train_until(&training, 0, 1);
}

Test(trainer, resuming_what_is_not_there_is_refused)
{
    struct sl_training training = training_of(sl_arch_find("tsa"), run);
    training.resume = true;
    expect_refused(&training, SL_NOT_FOUND, run);
    cr_expect_neq(access(run, F_OK), 0, "a failed resume made a directory");
}

/* -- files that are not as they should be ----------------------------------------------------- */

Test(trainer, a_corpus_that_cannot_be_used_is_named)
{
    struct sl_training training = training_of(sl_arch_find("tsa"), run);
    char missing[PATH_MAX];
    training.sources.corpus = test_path(missing, top, "missing.txt");
    expect_refused(&training, SL_NOT_FOUND, "missing.txt");
    training.sources.corpus = top;
    expect_refused(&training, SL_BAD_INPUT, "not a plain file");
    training.sources.corpus = corpus;
    test_write(corpus, "");
    expect_refused(&training, SL_BAD_INPUT, "empty");
    test_write(corpus, "too short");
    expect_refused(&training, SL_BAD_INPUT, "too short for a context of 13");
    test_write(corpus, "not UTF-8 from byte 27 on: \xff\xfe and so on, for long enough.");
    expect_refused(&training, SL_BAD_INPUT, "UTF-8");
    cr_expect_neq(access(run, F_OK), 0, "a failed beginning made a directory");
}

Test(trainer, a_corpus_without_permission_is_named)
{
    struct sl_training training = training_of(sl_arch_find("tsa"), run);
    if (geteuid() == 0) {
        teardown(); /* which a skipped test does not reach */
        cr_skip_test("root may read everything");
    }
    cr_assert_eq(chmod(corpus, 0), 0);
    expect_refused(&training, SL_IO, "Permission denied");
}

Test(trainer, a_directory_that_cannot_be_written_is_named)
{
    char below[PATH_MAX];
    struct sl_training training = training_of(sl_arch_find("tsa"), test_path(below, corpus, "run"));
    expect_refused(&training, SL_IO, corpus);
    if (geteuid() == 0)
        return; /* root may write everywhere */
    training.run = run;
    cr_assert_eq(chmod(top, S_IRUSR | S_IXUSR), 0);
    expect_refused(&training, SL_IO, "Permission denied");
    cr_assert_eq(chmod(top, S_IRWXU), 0);
}

/* The size of files that this process may write: as a full disk, but for one process. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void fill_disk(struct follow *f, int step)
{
    (void)f;
    if (step == 5)
        limit_files(4096);
}

static int entries_of(const char *path)
{
    int count = 0;
    DIR *directory = opendir(path);
    cr_assert(directory, "%s", path);
    for (const struct dirent *e; (e = readdir(directory));)
        count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    (void)closedir(directory);
    return count;
}

Test(trainer, a_full_disk_leaves_the_last_state)
{
    struct sl_err err;
    struct follow f = {.at_step = fill_disk};
    struct sl_training training = training_of(sl_arch_find("tsa"), run);
    struct ending want = ending_without_events(training, 1);
    (void)signal(SIGXFSZ, SIG_IGN);
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct sl_trainer *trainer = begin(engine, &training);
    EXPECT_FAIL(follow(trainer, &f, &err), err, SL_IO, "save step 6");
    limit_files(RLIM_INFINITY);
    cr_expect(strstr(err.text, "File too large"), "%s", err.text);
    cr_expect_eq(entries_of(run), 1, "something is left beside the state");
    sl_trainer_destroy(trainer);
    training.resume = true;
    trainer = begin(engine, &training);
    cr_expect_eq(sl_trainer_state(trainer)->step, 3);
    sl_trainer_destroy(trainer);
    sl_engine_destroy(engine);
    train_until(&training, 0, 1);
    expect_same(ending_of(run), want, "after a full disk");
}

Test(trainer, a_full_disk_at_the_beginning_is_told)
{
    struct sl_training training = training_of(sl_arch_find("tsa"), run);
    (void)signal(SIGXFSZ, SIG_IGN);
    limit_files(4096);
    expect_refused(&training, SL_IO, "File too large");
    limit_files(RLIM_INFINITY);
    train_until(&training, 0, 1);
}

Test(trainer, a_damaged_state_is_refused)
{
    char path[PATH_MAX], state[PATH_MAX];
    struct sl_training training = training_of(sl_arch_find("tsa"), run);
    train_until(&training, 4, 1);
    training.resume = true;
    (void)test_path(state, run, "state");
    cr_assert_eq(truncate(test_path(path, state, "state.safetensors"), 5000), 0);
    expect_refused(&training, SL_CORRUPT, "state.safetensors");
}

/* The state stays whole: its digests are right. */
Test(trainer, a_state_beyond_its_end_is_refused)
{
    struct sl_err err;
    struct sl_member members[] = {{.name = "state.json"}, {.name = "state.safetensors"}};
    char state[PATH_MAX], path[PATH_MAX], moved[SL_PATH_MAX], text[16384], edited[16384];
    struct sl_training training = training_of(sl_arch_find("tsa"), run);
    train_until(&training, 4, 1);
    (void)test_path(path, test_path(state, run, "state"), "state.json");
    FILE *file = fopen(path, "re");
    cr_assert(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    const char *at = strstr(text, ": 4,"); /* the step is first */
    cr_assert(at, "%s", text);
    (void)snprintf(edited, sizeof edited, "%.*s: 4294967300%s", (int)(at - text), text, at + 3);
    test_write(path, edited);
    EXPECT_OK(sl_manifest_begin(moved, state, &err), err);
    cr_assert_eq(rename(state, moved), 0);
    const struct sl_manifest manifest = {.members = members, .count = COUNT(members)};
    EXPECT_OK(sl_manifest_commit(moved, state, &manifest, &err), err);
    training.resume = true;
    expect_refused(&training, SL_CORRUPT, "it is at step 4294967300 of 12");
}

/* -- sl_evaluate ------------------------------------------------------------------------------ */

struct tally {
    double loss;
    int64_t tokens, layers;
};

/* What sl_evaluate should find, from the logits that a session serves. */
static struct tally tally_served(const struct sl_model *m, struct sl_span part)
{
    struct sl_err err;
    struct sl_session_options options = {.slots = 1, .batch_rows = m->config.context};
    struct sl_session *s = sl_session_create(m, &options, &err);
    cr_assert(s, "%s", err.text);
    int vocab = m->config.vocab;
    struct tally sum = {0};
    for (int64_t i = 0; i < sl_window_count(part, m->config.context); i++) {
        struct sl_window w = sl_window_at(part, m->config.context, i);
        struct sl_feed feed = {.tokens = w.tokens, .count = w.rows, .want_all = true};
        sl_session_clear(s, 0);
        EXPECT_OK(sl_session_run(s, &feed, 1, &err), err);
        for (int r = 0; r < w.rows; r++) {
            const float *x = feed.logits + (size_t)r * (size_t)vocab;
            double total = 0.0;
            for (int c = 0; c < vocab; c++)
                total += exp((double)x[c]);
            sum.loss += log(total) - (double)x[w.targets[r]];
        }
        sum.tokens += w.rows;
        sum.layers += feed.layers_used;
    }
    sl_session_destroy(s);
    return sum;
}

static struct sl_model *open_model(struct sl_engine *engine)
{
    struct sl_err err;
    struct sl_model *m = sl_model_open(engine, out, &err);
    cr_assert(m, "%s", err.text);
    return m;
}

/* For numbers that may be NaN. */
static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Evaluation has no cache: the same logits, softmax in fp32 there, in double here. TransEvolve's
 * exponentials are shared by its depths there and not here, rounded as operands either way. */
static double room_of(const struct sl_model *m)
{
    bool shared = strcmp(m->arch->name, "transevolve") == 0;
    return shared && m->engine->kernels->operand == SL_BF16 ? 1e-4 : 1e-6;
}

/* A trained model, so that its choices differ from token to token. */
static void check_evaluation(const struct sl_arch *arch, const struct sl_policy *policy)
{
    struct sl_err err;
    struct sl_evaluation one, three;
    struct sl_corpus text;
    struct sl_engine *engines[2] = {fixture_engine(NULL, 1), fixture_engine(NULL, 3)};
    struct sl_model *m = open_model(engines[0]), *again = open_model(engines[1]);
    EXPECT_OK(sl_corpus_open(&text, corpus, m->tokenizer, &err), err);
    struct sl_span part = {text.ids, 1000};
    EXPECT_OK(sl_evaluate(m, part, policy, &one, &err), err);
    EXPECT_OK(sl_evaluate(again, part, policy, &three, &err), err);
    cr_expect_eq(bits_of(one.loss), bits_of(three.loss), "%s: threads", arch->name);
    cr_expect_eq(bits_of(one.gate_mean), bits_of(three.gate_mean), "%s: threads", arch->name);
    cr_expect_eq(bits_of(one.layers_mean), bits_of(three.layers_mean), "%s: threads", arch->name);

    m->policy = policy ? *policy : m->policy;
    struct tally want = tally_served(m, part);
    double loss = want.loss / (double)want.tokens;
    cr_expect_eq(one.tokens, 999);
    cr_expect_eq(want.tokens, 999);
    cr_expect_float_eq(one.loss, loss, room_of(m) * loss, "%s: %.9g, want %.9g", arch->name,
                       one.loss, loss);
    cr_expect_float_eq(one.layers_mean, (double)want.layers / 999.0, 1e-9, "%s: %g", arch->name,
                       one.layers_mean);
    sl_corpus_close(&text);
    sl_model_close(m);
    sl_model_close(again);
    sl_engine_destroy(engines[0]);
    sl_engine_destroy(engines[1]);
}

Test(trainer, evaluation_agrees_with_what_is_served)
{
    static const struct sl_policy policies[] = {
        {.gate = SL_GATE_SOFT, .gate_limit = 0.5f, .exit_threshold = 1.0f},
        {.gate = SL_GATE_HARD, .gate_limit = 0.5f, .exit_threshold = 0.2f},
        {.gate = SL_GATE_MIXED, .gate_limit = 0.4f, .exit_threshold = 0.4f}};
    for (int a = 0; sl_arch_at(a); a++) {
        if (!(sl_arch_at(a)->tasks & SL_COMPLETES))
            continue;
        struct sl_training training = training_of(sl_arch_at(a), run);
        train_until(&training, 0, 1);
        check_evaluation(sl_arch_at(a), NULL);
        for (size_t i = 0; i < COUNT(policies); i++)
            check_evaluation(sl_arch_at(a), &policies[i]);
        test_directory_remove(run);
    }
}
