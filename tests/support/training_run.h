/* training_run.h - one training of a tiny model, followed, interrupted and gone on with, and what
 * it leaves behind. */
#pragma once

#include "checkpoint/manifest.h"
#include "support/file_sha256.h"
#include "support/model_fixture.h"
#include "train/trainer.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static char top[PATH_MAX], corpus[PATH_MAX], run[PATH_MAX], out[PATH_MAX];

/* Words in an order that can be repeated: there is something to learn, and no end of it. */
static inline void write_corpus(const char *path, int words, uint64_t seed)
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

static inline void setup(void)
{
    test_directory_create(top);
    (void)test_path(corpus, top, "corpus.txt");
    (void)test_path(run, top, "run");
    (void)test_path(out, top, "out");
    write_corpus(corpus, 400, 1);
}

static inline void teardown(void)
{
    test_directory_remove(top);
}

/* Sizes that are no multiples of anything; a step's last micro-batch is smaller than the others. */
static inline struct sl_training training_of(const struct sl_arch *arch, const char *directory)
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
    void (*at_evaluation)(struct follow *f); /* of which `last` tells */
    struct sl_trainer *trainer;
    struct sl_train_state last;
    int steps, evaluations, saves;
};

static inline void report(void *context, const struct sl_train_state *state)
{
    struct follow *f = context;
    f->last = *state;
    f->steps += state->event == SL_TRAIN_STEPPED;
    f->evaluations += state->event == SL_TRAIN_EVALUATED;
    f->saves += state->event == SL_TRAIN_SAVED;
    if (state->event == SL_TRAIN_STEPPED && f->at_step)
        f->at_step(f, state->step);
    if (state->event == SL_TRAIN_EVALUATED && f->at_evaluation)
        f->at_evaluation(f);
}

static inline bool stop(void *context)
{
    const struct follow *f = context;
    return f->stop_at > 0 && f->last.step == f->stop_at;
}

static inline bool follow(struct sl_trainer *trainer, struct follow *f, struct sl_err *err)
{
    struct sl_train_watch watch = {.context = f, .report = report, .stop = stop};
    f->trainer = trainer;
    return sl_trainer_run(trainer, &watch, err);
}

static inline struct sl_trainer *begin(struct sl_engine *engine, const struct sl_training *training)
{
    struct sl_err err;
    struct sl_trainer *trainer = sl_trainer_create(engine, training, &err);
    cr_assert(trainer, "%s", err.text);
    return trainer;
}

/* Goes on with a run, or begins it, until it ends or `step` is reached. */
static inline struct follow train_until(const struct sl_training *training, int step, int threads)
{
    struct sl_err err;
    struct follow f = {.stop_at = step};
    struct sl_engine *engine = fixture_engine(NULL, threads);
    struct sl_trainer *trainer = begin(engine, training);
    EXPECT_OK(follow(trainer, &f, &err), err);
    cr_assert_eq(f.last.step, step ? step : f.last.steps);
    cr_assert_eq(sl_trainer_finished(trainer), f.last.step == f.last.steps);
    cr_assert(training->recipe.epochs > 0 || f.last.steps == training->recipe.steps);
    if (sl_trainer_finished(trainer))
        EXPECT_OK(sl_trainer_publish(trainer, out, false, "{}", &err), err);
    sl_trainer_destroy(trainer);
    sl_engine_destroy(engine);
    return f;
}

/* -- what a run ended with -------------------------------------------------------------------- */

/* Digests of everything that a run leaves behind but dates. */
struct ending {
    char numbers[65], counters[65], model[65];
};

static inline struct ending ending_of(const char *directory)
{
    struct ending e;
    char state[PATH_MAX];
    (void)test_path(state, directory, "state");
    file_sha256(e.numbers, state, "state.safetensors");
    file_sha256(e.counters, state, "state.json");
    file_sha256(e.model, out, "model.safetensors");
    return e;
}

static inline void expect_same(struct ending have, struct ending want, const char *what)
{
    cr_expect_str_eq(have.numbers, want.numbers, "%s: other parameters or moments", what);
    cr_expect_str_eq(have.counters, want.counters, "%s: other counters", what);
    cr_expect_str_eq(have.model, want.model, "%s: another model", what);
}

/* The ending of a training that nothing interrupts, in a run of its own. */
static inline struct ending ending_without_events(struct sl_training training, int threads)
{
    char whole[PATH_MAX];
    training.run = test_path(whole, top, "whole");
    training.resume = false;
    (void)train_until(&training, 0, threads);
    struct ending e = ending_of(whole);
    test_directory_remove(whole);
    return e;
}
