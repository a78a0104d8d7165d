/* encoder_head.c - regressions of embeddings, as output layers. */
#include "tuning/encoder_head.h"

#include "checkpoint/checkpoint.h"
#include "tuning/text_tuner.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static bool is_set(const struct sl_model_config *c, const char *name)
{
    const struct sl_param *row = sl_param_find(c->arch->hypers, name);
    return row && sl_param_get(row, &c->hyper) != 0.0;
}

bool sl_encoder_head_can_fit(const char *encoder, bool *can, struct sl_err *err)
{
    struct sl_checkpoint from;
    if (!sl_checkpoint_open(&from, encoder, err))
        return false;
    const struct sl_model_config *c = &from.model_config;
    *can = !is_set(c, "head_dense") && !is_set(c, "embedding_dense_1") &&
           is_set(c, "output_layer_bias");
    sl_checkpoint_close(&from);
    return true;
}

/* The root of the mean square of their lengths. */
static double length_of(const struct sl_text_features *f)
{
    double sum = 0.0;
    for (size_t i = 0; i < (size_t)f->texts * (size_t)f->dense_cols; i++)
        sum += (double)f->dense[i] * (double)f->dense[i];
    return sqrt(sum / f->texts);
}

static void scale_to_one(struct sl_text_features *f, const struct sl_kernels *kernels, float *scale)
{
    const double length = length_of(f);
    *scale = length > 0.0 ? (float)(1.0 / length) : 1.0f;
    for (int i = 0; i < f->texts; i++) {
        float *row = f->dense + (size_t)i * (size_t)f->dense_cols;
        kernels->scale(row, *scale, row, f->dense_cols);
    }
}

static bool embed(struct sl_text_features *f, const struct sl_model *model,
                  const struct sl_dataset *set, struct sl_err *err)
{
    const int cols = model->info.output_size[SL_OUTPUT_TEXT];
    int32_t *rows = calloc((size_t)set->count, sizeof *rows);
    float *dense = calloc((size_t)set->count * (size_t)cols, sizeof *dense);
    bool ok = (rows && dense) ||
              sl_fail(err, SL_NO_MEMORY, "no memory for embeddings of %d texts", set->count);
    for (int i = 0; ok && i < set->count; i++)
        rows[i] = i;
    ok = ok && sl_text_tuner_predict(model, set, rows, set->count, dense, err);
    free(rows);
    if (!ok) {
        free(dense);
        return false;
    }
    free(f->dense);
    f->dense = dense;
    f->dense_cols = cols;
    return true;
}

bool sl_encoder_head_embed(struct sl_text_features *f, float *scale, struct sl_engine *engine,
                           const char *encoder, const struct sl_dataset *set, struct sl_err *err)
{
    assert(f->dense_cols == 0 && f->texts == set->count);
    struct sl_model *model = sl_model_open(engine, encoder, err);
    const bool ok = model && embed(f, model, set, err);
    sl_model_close(model);
    if (ok)
        scale_to_one(f, engine->kernels, scale);
    return ok;
}

struct sl_linear_recipe sl_encoder_head_recipe(const struct sl_dataset *set, float c)
{
    const enum sl_linear_loss loss = set->multi_label ? SL_LOSS_BINARY : SL_LOSS_LOGISTIC;
    return (struct sl_linear_recipe){.loss = loss, .dense_c = c};
}

static void set_values(const struct sl_model *model, const char *name, const float *values,
                       float scale)
{
    const struct sl_parameter *p = sl_model_find(model, name);
    model->kernels->scale(p->data, scale, values, (int)sl_parameter_floats(p));
}

bool sl_encoder_head_fit(const struct sl_model *classifier, const struct sl_linear_texts *texts,
                         const struct sl_linear_recipe *recipe, float scale, struct sl_err *err)
{
    static const double tolerance = 1e-5;
    struct sl_linear_problem q = {0};
    struct sl_logistic_weights w = {0};
    bool ok = sl_linear_problem_open(&q, texts, recipe, err);
    q.p.tolerance = tolerance;
    ok = ok && sl_logistic_weights_open(&w, &q.p, err) && sl_logistic_fit(&q.p, &w, err);
    if (ok) {
        set_values(classifier, "classifier.weight", w.dense, scale);
        set_values(classifier, "classifier.bias", w.bias, 1.0f);
    }
    sl_logistic_weights_close(&w);
    sl_linear_problem_close(&q);
    return ok;
}
