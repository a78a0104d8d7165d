/* fine_tuning.c - an encoder as a classifier, from its first step to its last. */
#include "tuning/fine_tuning.h"

#include "base/int_math.h"
#include "checkpoint/checkpoint.h"

#include <stdlib.h>
#include <string.h>

enum { SEED = 1 };

static const float dropout = 0.1f; /* as in BERT */

/* ---- the model ------------------------------------------------------------------------------- */

static bool load(struct sl_fine_tuning *f, const struct sl_checkpoint *from, struct sl_err *err)
{
    const size_t bytes = (size_t)f->tuner.model->state_dict_count * sizeof(struct sl_parameter);
    struct sl_parameter *list = malloc(bytes);
    int count = f->tuner.model->state_dict_count;
    if (!list)
        return sl_fail(err, SL_NO_MEMORY, "no memory for a list of parameters");
    memcpy(list, f->tuner.model->state_dict, bytes);
    sl_model_initialize(f->tuner.model, SEED);
    bool ok = sl_model_exclude_class_parameters(f->tuner.model, list, &count, err) &&
              sl_checkpoint_load_matching(from, list, count, err);
    free(list);
    return ok;
}

static bool create(struct sl_fine_tuning *f, struct sl_engine *engine,
                   const struct sl_checkpoint *from, struct sl_err *err)
{
    struct sl_config config = from->model_config.hyper;
    config.task = SL_TASK_CLASSIFICATION;
    config.classes = f->tuner.set->labels.count;
    config.multi_label = f->tuner.set->multi_label;
    config.bidirectional = true;
    config.dropout = dropout;
    if (!sl_config_check(from->model_config.arch, &config, err))
        return false;
    f->tuner.model = sl_model_create(engine, from->model_config.arch, &config, err);
    if (!f->tuner.model)
        return false;
    sl_text_tuner_freeze_tokens(f->tuner.model);
    return load(f, from, err) && sl_model_allocate_gradients(f->tuner.model, err);
}

/* ---- several labels -------------------------------------------------------------------------- */

static void set_targets(const struct sl_fine_tuning *f, const int32_t *texts, int count,
                        int classes)
{
    memset(f->targets, 0, (size_t)count * (size_t)classes * sizeof *f->targets);
    for (int i = 0; texts && i < count; i++) {
        const struct sl_label_list labels = sl_label_list(&f->tuner.set->label_lists, texts[i]);
        for (int l = 0; l < labels.count; l++)
            f->targets[(size_t)i * (size_t)classes + (size_t)labels.ids[l]] = 1.0f;
    }
}

static void add_loss(void *context, struct sl_tape *t, struct sl_tensor *y, const int32_t *texts)
{
    const struct sl_fine_tuning *f = context;
    set_targets(f, texts, y->rows, y->cols);
    sl_binary_cross_entropy(
        t, y, (struct sl_binary_cross_entropy_args){.targets = f->targets, .weight = 1.0f});
}

/* f must stay where it is. */
static bool learn_several(struct sl_fine_tuning *f, struct sl_err *err)
{
    const struct sl_dataset *set = f->tuner.set;
    if (!set->multi_label)
        return true;
    f->targets = calloc((size_t)sl_text_tuner_micro_batch(set, 0) * (size_t)set->labels.count,
                        sizeof *f->targets);
    f->tuner.loss = (struct sl_text_loss){.add = add_loss, .context = f};
    return f->targets || sl_fail(err, SL_NO_MEMORY, "no memory for the labels of a micro-batch");
}

/* ---- where fits begin ------------------------------------------------------------------------ */

/* Copies the values of all parameters that are trained to the start, or back. */
static void copy_values(const struct sl_fine_tuning *f, bool back)
{
    float *at = f->start;
    for (int i = 0; i < f->tuner.model->builder.count; i++) {
        const struct sl_parameter *p = &f->tuner.model->builder.parameters[i];
        const size_t floats = sl_parameter_floats(p);
        if (p->frozen)
            continue;
        memcpy(back ? p->data : at, back ? at : p->data, floats * sizeof *at);
        at += floats;
    }
}

static bool keep_start(struct sl_fine_tuning *f, struct sl_err *err)
{
    size_t floats = 0;
    for (int i = 0; i < f->tuner.model->builder.count; i++) {
        const struct sl_parameter *p = &f->tuner.model->builder.parameters[i];
        floats += p->frozen ? 0 : sl_parameter_floats(p);
    }
    if (!sl_arena_init(&f->arena, floats * sizeof *f->start, err))
        return false;
    f->start = sl_arena_take(&f->arena, floats, sizeof *f->start);
    copy_values(f, false);
    return true;
}

bool sl_fine_tuning_open(struct sl_fine_tuning *f, const struct sl_fine_tuning_options *options,
                         struct sl_err *err)
{
    struct sl_checkpoint from;
    *f = (struct sl_fine_tuning){.tuner.set = options->set};
    if (!sl_checkpoint_open(&from, options->encoder, err))
        return false;
    bool ok = create(f, options->engine, &from, err) && keep_start(f, err) &&
              learn_several(f, err) && sl_text_tuner_open(&f->tuner, err);
    sl_checkpoint_close(&from);
    if (ok)
        return true;
    sl_fine_tuning_close(f);
    return sl_wrap(err, "fine-tune '%s'", options->encoder);
}

void sl_fine_tuning_close(struct sl_fine_tuning *f)
{
    sl_text_tuner_close(&f->tuner);
    sl_arena_release(&f->arena);
    free(f->targets);
    *f = (struct sl_fine_tuning){0};
}

/* ---- a fit ----------------------------------------------------------------------------------- */

static struct sl_hyperparameters hyperparameters_of(const struct sl_encoder_recipe *r, int count)
{
    struct sl_hyperparameters h;
    sl_params_set_defaults(sl_hyperparameter_rows, &h);
    h.steps = sl_fine_tuning_steps(r, count);
    h.warmup_steps = h.steps / 10;
    h.learning_rate = r->learning_rate;
    h.min_learning_rate = 0.0f;
    h.lr_schedule = SL_LR_COSINE_AFTER_WARMUP;
    h.layer_decay = r->layer_decay;
    h.beta2 = 0.999f;
    h.weight_decay = 0.01f;
    return h;
}

void sl_fine_tuning_begin(const struct sl_fine_tuning *f)
{
    copy_values(f, true);
}

bool sl_fine_tuning_fit(struct sl_fine_tuning *f, const struct sl_encoder_recipe *recipe,
                        const int32_t *rows, int count, struct sl_err *err)
{
    const struct sl_hyperparameters h = hyperparameters_of(recipe, count);
    if (!sl_text_tuner_restart(&f->tuner, &h, err))
        return false;
    int number = 0;
    for (int epoch = 0; epoch < recipe->epochs; epoch++) {
        sl_text_tuner_shuffle(&f->tuner, epoch, rows, count);
        for (int first = 0; first < count; first += recipe->batch_size) {
            if (!sl_text_tuner_step(&f->tuner, &h, number++, f->tuner.order + first,
                                    sl_min(recipe->batch_size, count - first), err))
                return false;
            if (f->watch.step)
                f->watch.step(f->watch.context);
        }
    }
    return true;
}

int sl_fine_tuning_steps(const struct sl_encoder_recipe *recipe, int count)
{
    return recipe->epochs * sl_ceil_div(count, recipe->batch_size);
}

bool sl_fine_tuning_predict(const struct sl_fine_tuning *f, const int32_t *rows, int count,
                            float *logits, struct sl_err *err)
{
    return sl_text_tuner_predict(f->tuner.model, f->tuner.set, rows, count, logits, err);
}
