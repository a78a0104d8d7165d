/* test_tsa.c - gates while training: closed ones as they are served, and penalties that rise. */
#include "layers/router.h"
#include "support/model_fixture.h"
#include "support/test.h"
#include "support/trainer_fixture.h"
#include "train/evaluate.h"

#include <math.h>

/* -- the op ----------------------------------------------------------------------------------- */

enum { ROWS = 4 };

/* A loss that is the sum of row * y. */
static void rows_forward(const struct sl_node *n)
{
    for (int r = 0; r < n->in[0]->rows; r++)
        n->tape->stats.loss += (double)r * (double)*sl_row(n->in[0], r);
}

static void rows_backward(const struct sl_node *n)
{
    for (int r = 0; r < n->in[0]->rows; r++)
        *sl_grad_row(n->in[0], r) = (float)r + (n->overwrite[0] ? 0.0f : *sl_grad_row(n->in[0], r));
}

static const struct sl_op rows_op = {.name = "rows",
                                     .forward = rows_forward,
                                     .backward = rows_backward};

static struct sl_tensor *column(struct sl_tape *t, const float *values)
{
    struct sl_tensor *x = sl_tensor_take(t, ROWS, 1);
    memcpy(x->data, values, ROWS * sizeof *values);
    return x;
}

/* The limit itself is closed, as when serving. */
Test(tsa, closed_gates_are_zero_and_get_the_gradient_of_open_ones)
{
    static const int lengths[] = {ROWS, 0};
    static const float gates[] = {0.9f, 0.3f, 0.2f, 0.1f}, logits[] = {-2.0f, 0.5f, 1.0f, 1.5f};
    static const float want[] = {0.9f, 0.3f, 0.0f, 0.0f};
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct fixture_batch f;
    struct sl_tape t;
    struct sl_err err;
    fixture_batch_init(&f, lengths, 1);
    EXPECT_OK(sl_tape_init(&t, engine->kernels, engine->pool, 1 << 16, &err), err);
    sl_tape_begin(&t, &f.batch, true);
    struct sl_tensor *g = column(&t, gates);
    struct sl_tensor *y = sl_close_gates(
        &t, g, (struct sl_close_gates_args){.logits = column(&t, logits), .limit = 1.0f});
    (void)sl_tape_run(&t, (struct sl_node){.op = &rows_op, .in = {y}});
    sl_tape_backward(&t);
    for (int r = 0; r < ROWS; r++) {
        cr_expect_eq(*sl_row(y, r), want[r], "row %d: %g", r, (double)*sl_row(y, r));
        cr_expect_eq(*sl_grad_row(g, r), (float)r, "row %d: %g", r, (double)*sl_grad_row(g, r));
    }
    sl_tape_release(&t);
    sl_engine_destroy(engine);
}

/* -- training --------------------------------------------------------------------------------- */

/* The auxiliary loss of a batch at some point of a training. */
static double aux_loss_at(float progress, float warmup)
{
    static const int lengths[] = {24, 7, 0};
    struct sl_engine *engine = fixture_engine(NULL, 1);
    const struct sl_arch *arch = sl_arch_find("tsa");
    struct sl_config config = fixture_config(arch);
    fixture_set(arch, &config, "compute_weight", 0.3);
    fixture_set(arch, &config, "gate_binarization_weight", 0.2);
    fixture_set(arch, &config, "penalty_warmup", (double)warmup);
    struct sl_model *m = fixture_model(engine, arch, &config);
    struct fixture_batch f;
    struct sl_tape t;
    fixture_batch_init(&f, lengths, 3);
    fixture_tape_init(&t, m, &f.batch, true);
    t.progress = progress;
    (void)fixture_loss(m, &t, &f.batch);
    double loss = t.stats.aux_loss;
    sl_tape_release(&t);
    sl_model_close(m);
    sl_engine_destroy(engine);
    return loss;
}

Test(tsa, penalties_rise_over_the_warmup)
{
    double whole = aux_loss_at(0.0f, 0.0f);
    cr_expect_gt(whole, 0.0);
    cr_expect_eq(aux_loss_at(0.0f, 0.5f), 0.0);
    cr_expect_float_eq(aux_loss_at(0.25f, 0.5f), 0.5 * whole, 1e-6 * whole);
    cr_expect_eq(aux_loss_at(0.5f, 0.5f), whole);
    cr_expect_eq(aux_loss_at(0.9f, 0.5f), whole);
}

static struct workspace dirs;

static void setup(void)
{
    trainer_fixture_setup(&dirs);
}

static void teardown(void)
{
    workspace_remove(&dirs);
}

TestSuite(tsa_training, .init = setup, .fini = teardown);

static struct sl_train_options mixed_training(void)
{
    const struct sl_arch *arch = sl_arch_find("tsa");
    struct sl_train_options training = small_training(&dirs, arch, dirs.run);
    fixture_set(arch, &training.config, "training_gate_limit", 0.6);
    fixture_set(arch, &training.config, "compute_weight", 20.0);
    fixture_set(arch, &training.config, "penalty_warmup", 0.5);
    fixture_set(arch, &training.config, "router_bias", 0.0);
    return training;
}

Test(tsa_training, interrupted_runs_end_with_the_same_bits)
{
    static const int stops[] = {1, 5, 7, 0};
    struct sl_train_options training = mixed_training();
    struct run_digests want = digests_without_events(&dirs, training, 1);
    for (size_t i = 0; i < COUNT(stops); i++) {
        (void)train_until(&dirs, &training, stops[i], 1 + (int)i % 3);
        training.resume = true;
    }
    expect_same_digests(digests_of(&dirs, dirs.run), want, "tsa");
}

/* Training measures the model as it is then served: some layers are skipped, and the loss is the
 * same. */
Test(tsa_training, a_model_is_served_as_it_was_trained)
{
    struct sl_err err;
    struct sl_evaluation served;
    struct sl_corpus text;
    struct sl_train_options training = mixed_training();
    struct train_follower f = train_until(&dirs, &training, 0, 1);
    struct sl_engine *engine = fixture_engine(NULL, 1);
    engine->preferred = 0; /* nor was it trained in int8 */
    struct sl_model *m = sl_model_open(engine, dirs.output, &err);
    cr_assert(m, "%s", err.text);
    const struct sl_gate_policy *policy = sl_policy_own(&m->policy);
    cr_expect_eq(policy->gate, SL_GATE_MIXED);
    cr_expect_eq(policy->gate_limit, 0.6f);
    for (int i = 0; i < m->builder.count; i++) { /* matrices are there once, packed */
        const struct sl_parameter *p = &m->builder.parameters[i];
        cr_expect_eq(!p->data, p->product && p->decays, "%s", p->name);
    }
    EXPECT_OK(sl_corpus_open(&text, dirs.corpus, m->tokenizer, &err), err);
    struct sl_span parts[SL_SPLITS];
    struct sl_split_fractions fractions = {(double)training.hyperparameters.train_fraction,
                                           (double)training.hyperparameters.validation_fraction};
    EXPECT_OK(sl_corpus_split(&text, fractions, m->config.context_length, parts, &err), err);
    EXPECT_OK(sl_evaluate_corpus(m, parts[SL_VALIDATION], NULL, &served, &err), err);
    cr_expect_float_eq(served.loss, f.last.validation_loss, 1e-6, "%.9g, trained %.9g", served.loss,
                       f.last.validation_loss);
    cr_expect_eq(served.layers_mean, f.last.validation_depth);
    cr_expect_lt(served.layers_mean, (double)m->config.depth);
    sl_corpus_close(&text);
    sl_model_close(m);
    sl_engine_destroy(engine);
}
