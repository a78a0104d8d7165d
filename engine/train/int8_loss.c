/* int8_loss.c - what int8 costs a model, by its loss with and without. */
#include "train/int8_loss.h"

#include <math.h>

/* A model is worth more than this figure of it. */
static bool is_harmless(const struct sl_err *err)
{
    return err->code == SL_NOT_FINITE || err->code == SL_NO_MEMORY;
}

/* How copies are evaluated. */
struct evaluator {
    sl_evaluate_copy *evaluate;
    const void *context;
    const struct sl_policy *policy;
};

/* NAN: the copy produced NaN or infinity, or there is no memory for it. */
static bool loss_of_copy(const struct sl_model *model, enum sl_precision precision,
                         const struct evaluator *by, double *loss, struct sl_err *err)
{
    struct sl_model *copy = sl_model_copy(model, model->engine, precision, err);
    *loss = (double)NAN;
    if (!copy)
        return is_harmless(err);
    struct sl_evaluation e;
    bool ok = by->evaluate(by->context, copy, by->policy, &e, err);
    sl_model_close(copy);
    *loss = ok ? e.loss : (double)NAN;
    return ok || is_harmless(err);
}

bool sl_int8_loss_measure(const struct sl_model *model, const struct sl_policy *policy,
                          sl_evaluate_copy *evaluate, const void *context,
                          struct sl_precision_cost *out, struct sl_err *err)
{
    const struct evaluator by = {evaluate, context, policy};
    double loss, in_int8;
    *out = (struct sl_precision_cost){0};
    if (model->config.task == SL_TASK_PRETRAINING || !sl_model_can_int8(model))
        return true;
    if (!loss_of_copy(model, SL_PRECISION_ANY, &by, &loss, err) ||
        !loss_of_copy(model, SL_PRECISION_INT8, &by, &in_int8, err))
        return false;
    if (isfinite(in_int8) && isfinite(loss) && loss > 0.0)
        *out = (struct sl_precision_cost){.measured = true, .increase = in_int8 / loss - 1.0};
    return true;
}
