/* test_trainer.c - training runs: the same bits however they were interrupted, and losses that
 * fall. */
#include "support/model_fixture.h"
#include "support/test.h"
#include "support/trainer_fixture.h"

#include "checkpoint/checkpoint.h"
#include "sluice/session.h"
#include "train/evaluate.h"

#include <math.h>

static struct workspace dirs;

static void setup(void)
{
    trainer_fixture_setup(&dirs);
}

static void teardown(void)
{
    workspace_remove(&dirs);
}

TestSuite(trainer, .init = setup, .fini = teardown);

/* -- the same bits ---------------------------------------------------------------------------- */

/* As if killed: steps that were not saved. */
static void lose_steps(const struct sl_train_options *training, int count, int threads)
{
    struct sl_err err;
    struct sl_engine *engine = fixture_engine(NULL, threads);
    struct sl_trainer *trainer = trainer_begin(engine, training);
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
        struct sl_train_options training = small_training(&dirs, sl_arch_at(a), dirs.run);
        struct run_digests want = digests_without_events(&dirs, training, 1);
        for (size_t i = TEST_SANITIZED ? 3 : 0; i < COUNT(stops); i++) {
            (void)train_until(&dirs, &training, stops[i], 1 + (int)i % 3);
            training.resume = true;
            if (stops[i])
                lose_steps(&training, (int)i % 2 + 1, 2);
        }
        expect_same_digests(digests_of(&dirs, dirs.run), want, sl_arch_at(a)->name);
        test_directory_remove(dirs.run);
    }
}

Test(trainer, a_finished_run_resumes_to_the_same_model, TEST_ONE_THREAD)
{
    struct sl_err err;
    struct train_follower f = {0};
    struct sl_train_options training = small_training(&dirs, sl_arch_find("tsa"), dirs.run);
    (void)train_until(&dirs, &training, 0, 1);
    struct run_digests want = digests_of(&dirs, dirs.run);
    test_directory_remove(dirs.output);
    training.resume = true;
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct sl_trainer *trainer = trainer_begin(engine, &training);
    cr_assert(sl_trainer_finished(trainer));
    EXPECT_OK(trainer_follow(trainer, &f, &err), err);
    cr_expect_eq(f.steps, 0);
    EXPECT_OK(sl_trainer_publish(trainer, dirs.output, false, "{}", &err), err);
    expect_same_digests(digests_of(&dirs, dirs.run), want, "resumed when finished");
    sl_trainer_destroy(trainer);
    sl_engine_destroy(engine);
}

Test(trainer, a_published_model_says_what_int8_costs, TEST_ONE_THREAD)
{
    struct sl_err err;
    struct sl_checkpoint published;
    struct sl_train_options training = small_training(&dirs, sl_arch_find("tsa"), dirs.run);
    (void)train_until(&dirs, &training, 0, 1);
    EXPECT_OK(sl_checkpoint_open(&published, dirs.output, &err), err);
    const struct sl_precision_cost *costs = published.model_config.precision_costs;
    cr_expect_not(costs[SL_PRECISION_BF16].measured);
    cr_expect(costs[SL_PRECISION_INT8].measured);
    cr_expect_lt(fabs(costs[SL_PRECISION_INT8].increase), 0.05);
    cr_expect_neq(costs[SL_PRECISION_INT8].increase, 0.0);
    sl_checkpoint_close(&published);
}

Test(trainer, the_best_loss_is_remembered, TEST_ONE_THREAD)
{
    struct sl_err err;
    struct train_follower f = {.stop_at = 5};
    struct sl_train_options training = small_training(&dirs, sl_arch_find("tsa"), dirs.run);
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct sl_trainer *trainer = trainer_begin(engine, &training);
    EXPECT_OK(trainer_follow(trainer, &f, &err), err);
    sl_trainer_destroy(trainer);
    training.resume = true;
    trainer = trainer_begin(engine, &training);
    cr_expect_eq(sl_trainer_progress(trainer)->step, 5);
    cr_expect_eq(sl_trainer_progress(trainer)->best_step, 4);
    cr_expect_lt(f.last.best_loss, 10.0);
    cr_expect_eq(sl_trainer_progress(trainer)->best_loss, f.last.best_loss);
    sl_trainer_destroy(trainer);
    sl_engine_destroy(engine);
}

Test(trainer, threads_do_not_change_a_bit)
{
    for (int a = 0; sl_arch_at(a); a++) {
        if (!(sl_arch_at(a)->tasks & SL_COMPLETES))
            continue;
        struct sl_train_options training = small_training(&dirs, sl_arch_at(a), dirs.run);
        struct run_digests one = digests_without_events(&dirs, training, 1);
        expect_same_digests(digests_without_events(&dirs, training, 3), one, sl_arch_at(a)->name);
    }
}

Test(trainer, a_seed_changes_everything)
{
    struct sl_train_options training = small_training(&dirs, sl_arch_find("tsa"), dirs.run);
    struct run_digests one = digests_without_events(&dirs, training, 1);
    training.hyperparameters.seed++;
    struct run_digests other = digests_without_events(&dirs, training, 1);
    cr_expect_str_neq(one.numbers, other.numbers);
    cr_expect_str_neq(one.model, other.model);
}

/* All parameters after some steps in micro-batches of a size; returns how many there are. */
static size_t parameters_after(const struct sl_arch *arch, int micro_batch, int steps, float **all)
{
    char path[PATH_MAX], name[32];
    struct sl_err err;
    (void)snprintf(name, sizeof name, "micro-%d-%d", micro_batch, steps);
    struct sl_train_options training = small_training(&dirs, arch, test_path(path, dirs.top, name));
    training.hyperparameters.micro_batch_size = micro_batch;
    struct sl_engine *engine = fixture_engine(NULL, 2);
    struct sl_trainer *trainer = trainer_begin(engine, &training);
    for (int i = 0; i < steps; i++)
        EXPECT_OK(sl_trainer_step(trainer, &err), err);
    const struct sl_model *m = sl_trainer_model(trainer);
    size_t count = 0;
    *all = malloc((size_t)sl_model_parameter_count(m) * sizeof **all);
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

static double loss_on(struct sl_trainer *trainer, enum sl_split part)
{
    struct sl_evaluation e;
    struct sl_err err;
    const struct sl_policy as_trained = {0};
    EXPECT_OK(sl_evaluate_corpus(sl_trainer_model(trainer),
                                 sl_trainer_dataloader(trainer)->parts[part], &as_trained, &e,
                                 &err),
              err);
    return e.loss;
}

/* A text short enough to be memorized: what is left is the first letters of each window. */
Test(trainer, every_architecture_overfits_a_tiny_text)
{
    test_write_file(dirs.corpus, "The quick brown fox jumps over the lazy dog, and then it waits; "
                                 "five dozen jugs of liquor went down the river by night.");
    for (int a = 0; sl_arch_at(a); a++) {
        if (!(sl_arch_at(a)->tasks & SL_COMPLETES))
            continue;
        struct sl_err err;
        struct sl_train_options training = small_training(&dirs, sl_arch_at(a), dirs.run);
        training.config.width = 32;
        training.config.heads = 4;
        training.config.dropout = 0.0f;
        training.hyperparameters.steps = TEST_SANITIZED ? 20 : 400;
        training.hyperparameters.batch_size = training.hyperparameters.micro_batch_size = 8;
        training.hyperparameters.evaluate_every = training.hyperparameters.save_every = 0;
        struct sl_engine *engine = fixture_engine(NULL, 2);
        struct sl_trainer *trainer = trainer_begin(engine, &training);
        double before = loss_on(trainer, SL_TRAIN);
        struct train_follower f = {0};
        EXPECT_OK(trainer_follow(trainer, &f, &err), err);
        double after = loss_on(trainer, SL_TRAIN);
        cr_expect_gt(before, 3.0, "%s: %g", sl_arch_at(a)->name, before);
        cr_expect_lt(after, TEST_SANITIZED ? before : 0.5, "%s: %g", sl_arch_at(a)->name, after);
        sl_trainer_destroy(trainer);
        sl_engine_destroy(engine);
        test_directory_remove(dirs.run);
    }
}

static void expect_report(const struct sl_train_progress *s, double first_loss)
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
    cr_expect_gt(s->grad_norm, 0.0);
    cr_expect_gt(s->tokens_per_second, 0.0);
    cr_expect_gt(s->seconds, 0.0);
    cr_expect_float_eq(s->seconds_left, 0.0, 1e-9);
}

static double first_loss;

static void keep_first_loss(struct train_follower *f, int step)
{
    if (step == 1)
        first_loss = f->last.loss;
}

Test(trainer, a_run_reports_every_step_evaluation_and_save, TEST_ONE_THREAD)
{
    struct sl_err err;
    struct train_follower f = {.at_step = keep_first_loss};
    struct sl_train_options training = small_training(&dirs, sl_arch_find("tsa"), dirs.run);
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct sl_trainer *trainer = trainer_begin(engine, &training);
    EXPECT_OK(trainer_follow(trainer, &f, &err), err);
    cr_expect_eq(f.steps, 12);
    cr_expect_eq(f.evaluations, 3);
    cr_expect_eq(f.saves, 4);
    expect_report(&f.last, first_loss);
    sl_trainer_destroy(trainer);
    sl_engine_destroy(engine);
}

/* -- sl_evaluate_corpus ------------------------------------------------------------------------ */

struct tally {
    double loss;
    int64_t tokens, layers;
};

/* What sl_evaluate_corpus should find, from the logits that a session serves. */
static struct tally tally_served(const struct sl_model *m, struct sl_span part)
{
    struct sl_err err;
    struct sl_session_options options = {.max_sequences = 1,
                                         .max_batch_tokens = m->config.context_length};
    struct sl_session *s = sl_session_create(m, &options, &err);
    cr_assert(s, "%s", err.text);
    int vocab = m->config.vocab;
    struct tally sum = {0};
    for (int64_t i = 0; i < sl_window_count(part, m->config.context_length); i++) {
        struct sl_window w = sl_window_at(part, m->config.context_length, i);
        struct sl_chunk feed = {.tokens = w.tokens, .count = w.rows, .all_logits = true};
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
    struct sl_model *m = sl_model_open(engine, dirs.output, &err);
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
    return shared && m->kernels->operand == SL_BF16 ? 1e-4 : 1e-6;
}

/* A trained model, so that its choices differ from token to token. */
static void check_evaluation(const struct sl_arch *arch, const struct sl_policy *policy)
{
    enum { TOKENS = TEST_SANITIZED ? 250 : 1000 };

    struct sl_err err;
    struct sl_evaluation one, three;
    struct sl_corpus text;
    struct sl_engine *engines[2] = {fixture_engine(NULL, 1), fixture_engine(NULL, 3)};
    struct sl_model *m = open_model(engines[0]), *again = open_model(engines[1]);
    EXPECT_OK(sl_corpus_open(&text, dirs.corpus, m->tokenizer, &err), err);
    struct sl_span part = {text.ids, TOKENS};
    EXPECT_OK(sl_evaluate_corpus(m, part, policy, &one, &err), err);
    EXPECT_OK(sl_evaluate_corpus(again, part, policy, &three, &err), err);
    cr_expect_eq(bits_of(one.loss), bits_of(three.loss), "%s: threads", arch->name);
    cr_expect_eq(bits_of(one.gate_mean), bits_of(three.gate_mean), "%s: threads", arch->name);
    cr_expect_eq(bits_of(one.layers_mean), bits_of(three.layers_mean), "%s: threads", arch->name);

    m->policy = policy ? *policy : m->policy;
    struct tally want = tally_served(m, part);
    double loss = want.loss / (double)want.tokens;
    cr_expect_eq(one.tokens, TOKENS - 1);
    cr_expect_eq(want.tokens, TOKENS - 1);
    cr_expect_float_eq(one.loss, loss, room_of(m) * loss, "%s: %.9g, want %.9g", arch->name,
                       one.loss, loss);
    cr_expect_float_eq(one.layers_mean, (double)want.layers / (TOKENS - 1), 1e-9, "%s: %g",
                       arch->name, one.layers_mean);
    sl_corpus_close(&text);
    sl_model_close(m);
    sl_model_close(again);
    sl_engine_destroy(engines[0]);
    sl_engine_destroy(engines[1]);
}

Test(trainer, evaluation_agrees_with_what_is_served)
{
    for (int a = 0; sl_arch_at(a); a++) {
        if (!(sl_arch_at(a)->tasks & SL_COMPLETES))
            continue;
        struct sl_train_options training = small_training(&dirs, sl_arch_at(a), dirs.run);
        (void)train_until(&dirs, &training, 0, 1);
        check_evaluation(sl_arch_at(a), NULL);
        for (int i = 0; i < FIXTURE_POLICIES; i += TEST_SANITIZED ? 3 : 1) {
            struct sl_policy policy = fixture_policy(sl_arch_at(a), i);
            check_evaluation(sl_arch_at(a), &policy);
        }
        test_directory_remove(dirs.run);
    }
}
