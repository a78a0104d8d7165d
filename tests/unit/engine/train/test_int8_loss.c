/* test_int8_loss.c - what int8 costs is measured on two copies, and is never worth a model. */
#include "support/model_fixture.h"
#include "train/int8_loss.h"

/* What the evaluation of a copy gives. */
struct outcome {
    double loss[2]; /* of the copy in int8 the second */
    enum sl_code failure;
};

static bool evaluate(const void *context, const struct sl_model *copy,
                     const struct sl_policy *policy, struct sl_evaluation *out, struct sl_err *err)
{
    const struct outcome *outcome = context;
    (void)policy;
    if (outcome->failure != SL_OK)
        return sl_fail(err, outcome->failure, "no evaluation");
    *out = (struct sl_evaluation){.loss = outcome->loss[copy->int8]};
    return true;
}

static bool measure(const struct outcome *outcome, struct sl_precision_cost *out,
                    struct sl_err *err)
{
    const struct sl_arch *arch = sl_arch_find("vanilla");
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct sl_config config = fixture_config(arch);
    config.width = 32;
    fixture_clamp(arch, &config);
    struct sl_model *model = fixture_model(engine, arch, &config);
    const struct sl_policy policy = sl_policy_defaults(arch);
    bool ok = sl_int8_loss_measure(model, &policy, evaluate, outcome, out, err);
    sl_model_close(model);
    sl_engine_destroy(engine);
    return ok;
}

Test(int8_loss, is_the_increase_of_the_loss)
{
    struct sl_err err;
    struct sl_precision_cost loss;
    EXPECT_OK(measure(&(const struct outcome){.loss = {2.0, 2.5}}, &loss, &err), err);
    cr_expect(loss.measured);
    cr_expect_float_eq(loss.increase, 0.25, 1e-9);
}

Test(int8_loss, what_prevents_only_the_measurement_is_no_failure)
{
    struct sl_err err;
    struct sl_precision_cost loss;
    EXPECT_OK(measure(&(const struct outcome){.failure = SL_NO_MEMORY}, &loss, &err), err);
    cr_expect(!loss.measured);
    EXPECT_OK(measure(&(const struct outcome){.failure = SL_NOT_FINITE}, &loss, &err), err);
    cr_expect(!loss.measured);
    cr_expect(!measure(&(const struct outcome){.failure = SL_BAD_INPUT}, &loss, &err));
}
