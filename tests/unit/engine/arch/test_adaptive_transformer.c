/* test_adaptive_transformer.c - a published transformer with routers: the same function while all
 * gates are open, and training that closes them. */
#include "layers/router.h"
#include "support/model_fixture.h"
#include "support/test.h"
#include "train/optimizer.h"

#include <math.h>

static const int lengths[] = {24, 7, 1, 0};

static struct sl_model *model_of(struct sl_engine *engine, const char *name, enum sl_task task,
                                 double norm_after)
{
    struct sl_err err;
    const struct sl_arch *arch = sl_arch_find(name);
    struct sl_config config = fixture_config_for(arch, task);
    fixture_set(arch, &config, "norm_after", norm_after);
    if (norm_after > 0.0)
        fixture_set(arch, &config, "final_norm", 0);
    struct sl_model *model = sl_model_create(engine, arch, &config, &err);
    cr_assert(model, "%s", err.text);
    sl_model_initialize(model, 7);
    sl_model_pack(model);
    return model;
}

/* The model's values of a batch; copy: room for them. Returns how many. */
static int values_of(const struct sl_model *model, const struct sl_batch *batch, float *copy)
{
    struct sl_tape t;
    fixture_tape_init(&t, model, batch, false);
    sl_tape_begin(&t, batch, false);
    t.policy = &model->policy;
    const struct sl_tensor *y = sl_model_forward(model, &t);
    for (int r = 0; r < y->rows; r++)
        memcpy(copy + (size_t)r * (size_t)y->cols, sl_row(y, r), (size_t)y->cols * sizeof *copy);
    const int count = y->rows * y->cols;
    sl_tape_release(&t);
    return count;
}

/* Initial values depend on the seed and the names of parameters: both have the same. */
Test(adaptive_transformer, is_the_transformer_while_all_gates_are_open)
{
    static const enum sl_task tasks[] = {SL_TASK_COMPLETION, SL_TASK_CLASSIFICATION,
                                         SL_TASK_PRETRAINING};
    struct sl_engine *engine = fixture_engine(NULL, 2);
    for (int i = 0; i < 2 * 3; i++) {
        struct sl_model *plain = model_of(engine, "transformer", tasks[i / 2], i % 2),
                        *routed = model_of(engine, "adaptive_transformer", tasks[i / 2], i % 2);
        struct fixture_batch f;
        float want[4096], have[4096];
        fixture_batch_init(&f, lengths, 3);
        f.batch.targets = f.batch.labels = NULL;
        f.batch.corruption = NULL;
        const int count = values_of(plain, &f.batch, want);
        cr_assert_leq(count, 4096);
        cr_expect_eq(values_of(routed, &f.batch, have), count);
        cr_expect_arr_eq(have, want, (size_t)count * sizeof *have, "task %d, norm after %d",
                         (int)tasks[i / 2], i % 2);
        sl_model_close(plain);
        sl_model_close(routed);
    }
    sl_engine_destroy(engine);
}

/* With a high weight of computation, and nothing to lose by it. */
Test(adaptive_transformer, training_closes_gates)
{
    struct sl_engine *engine = fixture_engine(NULL, 1);
    const struct sl_arch *arch = sl_arch_find("adaptive_transformer");
    struct sl_config config = fixture_config_for(arch, SL_TASK_COMPLETION);
    struct sl_hyperparameters h;
    struct fixture_batch f;
    struct sl_optimizer o;
    struct sl_tape t;
    struct sl_err err;
    fixture_set(arch, &config, "training_gate_limit", 0.5);
    fixture_set(arch, &config, "compute_weight", 50);
    struct sl_model *m = sl_model_create(engine, arch, &config, &err);
    cr_assert(m, "%s", err.text);
    sl_model_initialize(m, 1);
    EXPECT_OK(sl_model_allocate_gradients(m, &err), err);
    sl_params_set_defaults(sl_hyperparameter_rows, &h);
    h.learning_rate = 1e-2f;
    h.lr_schedule = SL_LR_CONSTANT;
    EXPECT_OK(sl_optimizer_init(&o, m, &h, &err), err);
    fixture_batch_init(&f, lengths, 3);
    fixture_tape_init(&t, m, &f.batch, true);
    double gates[2] = {NAN, NAN};
    for (int step = 0; step < 60; step++) {
        sl_model_pack(m);
        sl_model_zero_gradients(m);
        sl_tape_begin(&t, &f.batch, true);
        (void)sl_model_forward(m, &t);
        sl_tape_backward(&t);
        gates[step > 0] = t.stats.gate_sum / t.stats.gate_count;
        sl_optimizer_step(&o, &h, step, sl_optimizer_norm(&o));
    }
    cr_expect_gt(gates[0], 0.9, "%g", gates[0]);
    cr_expect_lt(gates[1], 0.1, "%g", gates[1]);
    sl_tape_release(&t);
    sl_optimizer_release(&o);
    sl_model_close(m);
    sl_engine_destroy(engine);
}
