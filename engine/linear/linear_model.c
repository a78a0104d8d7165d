/* linear_model.c - fits a recipe, and makes a model of the weights. */
#include "linear/linear_model.h"

#include "linear/linear_base.h"

#include <stdlib.h>
#include <string.h>

static const double tolerance = 1e-6;

static bool set_hyper(struct sl_config *config, const char *name, double value, struct sl_err *err)
{
    return sl_param_set(sl_param_find(sl_arch_find("linear")->hypers, name), config, value, err);
}

int sl_linear_ngram_rows(const struct sl_text_features *f, const float *idf)
{
    int ngrams = 0;
    for (int i = 0; i < f->ngrams; i++)
        ngrams += idf[i] > 0.0f;
    return ngrams + ngrams / 2;
}

static bool set_config(struct sl_config *config, const struct sl_linear_fit *f,
                       const struct sl_linear_recipe *recipe, const float *idf, struct sl_err *err)
{
    const int ngrams = recipe->sparse_c > 0.0f ? sl_linear_ngram_rows(f->features, idf) : 0;
    if (ngrams == 0 && recipe->dense_c <= 0.0f)
        return sl_fail(err, SL_BAD_INPUT,
                       "'%s': the texts have no words that distinguish the labels", f->set->path);
    *config = f->base->config;
    config->task = SL_TASK_CLASSIFICATION;
    config->classes = f->set->labels.count;
    config->multi_label = f->set->multi_label;
    config->width = recipe->dense_c > 0.0f ? config->width : 0;
    return set_hyper(config, "ngram_rows", ngrams, err) &&
           set_hyper(config, "ngram_order", recipe->ngrams.order, err) &&
           set_hyper(config, "score_exponent", f->search->calibration.exponent, err) &&
           set_hyper(config, "character_ngrams", recipe->ngrams.characters && ngrams > 0, err) &&
           sl_config_check(f->base->arch, config, err);
}

void sl_linear_ngrams_set(struct sl_bag_of_words *m, const struct sl_text_features *f,
                          const float *idf, const float *weights, float scale)
{
    const int classes = m->ngram_weights->cols;
    memset(m->idf->data, 0, sl_parameter_floats(m->idf) * sizeof *m->idf->data);
    for (int i = 0; i < f->ngrams; i++) {
        int row = idf[i] > 0.0f ? sl_ngram_insert(m->keys, f->hash[i]) : -1;
        if (row < 0)
            continue;
        m->idf->data[row] = idf[i];
        for (int c = 0; c < classes; c++)
            m->ngram_weights->data[(size_t)row * (size_t)classes + (size_t)c] =
                scale * weights[(size_t)i * (size_t)classes + (size_t)c];
    }
}

/* Sets all values. Dividing all weights by the temperature divides the scores by it; the bias
 * shifts them. */
static void set_values(struct sl_bag_of_words *m, const struct sl_linear_fit *f,
                       const struct sl_logistic_weights *w, const float *idf)
{
    const struct sl_bag_of_words *base = sl_linear_model_parts(f->base);
    const struct sl_calibration *calibration = &f->search->calibration;
    const float scale = (float)(1.0 / calibration->temperature);
    sl_parameter_copy(m->roles, base->roles);
    sl_parameter_copy(m->spellings, f->spellings);
    sl_parameter_copy(m->vectors, base->vectors);
    sl_parameter_copy(m->token_weights, base->token_weights);
    for (int c = 0; c < m->bias->cols; c++)
        m->bias->data[c] = scale * w->bias[c] + (float)calibration->shift;
    if (m->vectors)
        for (size_t i = 0; i < sl_parameter_floats(m->classify.weight); i++)
            m->classify.weight->data[i] = scale * w->dense[i];
    if (m->keys)
        sl_linear_ngrams_set(m, f->features, idf, w->sparse, scale);
}

bool sl_linear_model_set_labels(struct sl_model *model, const struct sl_labels *labels,
                                struct sl_err *err)
{
    model->labels = calloc((size_t)labels->count, sizeof *model->labels);
    bool ok = model->labels;
    for (int i = 0; ok && i < labels->count; i++)
        ok = (model->labels[i] = strdup(labels->list[i].name)) != NULL;
    return ok || sl_fail(err, SL_NO_MEMORY, "no memory for labels");
}

static struct sl_model *make_model(const struct sl_linear_fit *f,
                                   const struct sl_logistic_weights *w, const float *idf,
                                   struct sl_err *err)
{
    struct sl_config config;
    if (!set_config(&config, f, &f->search->trials[f->search->best].recipe, idf, err))
        return NULL;
    struct sl_model *model = sl_model_create(f->engine, f->base->arch, &config, err);
    if (!model)
        return NULL;
    set_values(sl_linear_model_parts(model), f, w, idf);
    sl_model_pack(model);
    if (sl_linear_model_set_labels(model, &f->set->labels, err))
        return model;
    sl_model_close(model);
    return NULL;
}

static struct sl_model *fit_problem(const struct sl_linear_fit *f, struct sl_linear_problem *q,
                                    struct sl_err *err)
{
    struct sl_logistic_weights w;
    q->p.tolerance = tolerance;
    if (!sl_logistic_weights_open(&w, &q->p, err))
        return NULL;
    struct sl_model *model =
        sl_logistic_fit(&q->p, &w, err) ? make_model(f, &w, q->idf, err) : NULL;
    sl_logistic_weights_close(&w);
    return model;
}

struct sl_model *sl_linear_model_fit(const struct sl_linear_fit *f, struct sl_err *err)
{
    const int count = f->features->texts;
    int32_t *rows = malloc((size_t)count * sizeof *rows);
    if (!rows) {
        sl_fail(err, SL_NO_MEMORY, "no memory to fit %d texts", count);
        return NULL;
    }
    for (int i = 0; i < count; i++)
        rows[i] = i;
    const struct sl_linear_texts texts = {.kernels = f->engine->kernels,
                                          .features = f->features,
                                          .labels = &f->set->label_lists,
                                          .classes = f->set->labels.count,
                                          .rows = rows,
                                          .count = count};
    struct sl_linear_problem q;
    struct sl_model *model = NULL;
    if (sl_linear_problem_open(&q, &texts, &f->search->trials[f->search->best].recipe, err))
        model = fit_problem(f, &q, err);
    sl_linear_problem_close(&q);
    free(rows);
    return model;
}
