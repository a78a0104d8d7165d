/* trainer_fixture.c - a small training, with callbacks, and digests of what it left. */
#include "support/trainer_fixture.h"

#include "base/random.h"
#include "support/file_sha256.h"
#include "support/model_fixture.h"
#include "support/test.h"

void trainer_write_corpus(const char *path, int words, uint64_t seed)
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

void trainer_fixture_setup(struct workspace *w)
{
    workspace_create(w, "out");
    trainer_write_corpus(w->corpus, 400, 1);
}

struct sl_train_options small_training(const struct workspace *w, const struct sl_arch *arch,
                                       const char *directory)
{
    struct sl_train_options t = {.arch = arch, .sources.corpus = w->corpus, .run_dir = directory};
    sl_config_set_defaults(arch, &t.config);
    t.config.width = 20;
    t.config.heads = 1;
    t.config.depth = 2;
    t.config.ffn_width = 36;
    t.config.context_length = 13;
    fixture_clamp(arch, &t.config);
    sl_params_set_defaults(sl_hyperparameter_rows, &t.hyperparameters);
    t.hyperparameters.steps = 12;
    t.hyperparameters.batch_size = 5;
    t.hyperparameters.micro_batch_size = 2;
    t.hyperparameters.warmup_steps = 3;
    t.hyperparameters.learning_rate = 0.01f;
    t.hyperparameters.min_learning_rate = 0.001f;
    t.hyperparameters.evaluate_every = 4;
    t.hyperparameters.save_every = 3;
    return t;
}

/* -- following a run -------------------------------------------------------------------------- */

static void report(void *context, const struct sl_train_progress *state)
{
    struct train_follower *f = context;
    f->last = *state;
    f->steps += state->event == SL_TRAIN_STEPPED;
    f->evaluations += state->event == SL_TRAIN_EVALUATED;
    f->saves += state->event == SL_TRAIN_SAVED;
    if (state->event == SL_TRAIN_STEPPED && f->at_step)
        f->at_step(f, state->step);
    if (state->event == SL_TRAIN_EVALUATED && f->at_evaluation)
        f->at_evaluation(f);
}

static bool stop(void *context)
{
    const struct train_follower *f = context;
    return f->stop_at > 0 && f->last.step == f->stop_at;
}

bool trainer_follow(struct sl_trainer *trainer, struct train_follower *f, struct sl_err *err)
{
    struct sl_train_callbacks watch = {.context = f, .report = report, .stop = stop};
    f->trainer = trainer;
    return sl_trainer_run(trainer, &watch, err);
}

struct sl_trainer *trainer_begin(struct sl_engine *engine, const struct sl_train_options *training)
{
    struct sl_err err;
    struct sl_trainer *trainer = sl_trainer_create(engine, training, &err);
    cr_assert(trainer, "%s", err.text);
    return trainer;
}

struct train_follower train_until(const struct workspace *w,
                                  const struct sl_train_options *training, int step, int threads)
{
    struct sl_err err;
    struct train_follower f = {.stop_at = step};
    struct sl_engine *engine = fixture_engine(NULL, threads);
    struct sl_trainer *trainer = trainer_begin(engine, training);
    EXPECT_OK(trainer_follow(trainer, &f, &err), err);
    cr_assert_eq(f.last.step, step ? step : f.last.steps);
    cr_assert_eq(sl_trainer_finished(trainer), f.last.step == f.last.steps);
    cr_assert(training->hyperparameters.epochs > 0 ||
              f.last.steps == training->hyperparameters.steps);
    if (sl_trainer_finished(trainer))
        EXPECT_OK(sl_trainer_publish(trainer, w->output, false, "{}", &err), err);
    sl_trainer_destroy(trainer);
    sl_engine_destroy(engine);
    return f;
}

/* -- what a run ended with -------------------------------------------------------------------- */

struct run_digests digests_of(const struct workspace *w, const char *directory)
{
    struct run_digests e;
    char state[PATH_MAX];
    (void)test_path(state, directory, "state");
    file_sha256(e.numbers, state, "state.safetensors");
    file_sha256(e.counters, state, "state.json");
    file_sha256(e.model, w->output, "model.safetensors");
    return e;
}

void expect_same_digests(struct run_digests have, struct run_digests want, const char *what)
{
    cr_expect_str_eq(have.numbers, want.numbers, "%s: other parameters or moments", what);
    cr_expect_str_eq(have.counters, want.counters, "%s: other counters", what);
    cr_expect_str_eq(have.model, want.model, "%s: another model", what);
}

struct run_digests digests_without_events(const struct workspace *w,
                                          struct sl_train_options training, int threads)
{
    char whole[PATH_MAX];
    training.run_dir = test_path(whole, w->top, "whole");
    training.resume = false;
    (void)train_until(w, &training, 0, threads);
    struct run_digests e = digests_of(w, whole);
    test_directory_remove(whole);
    return e;
}
