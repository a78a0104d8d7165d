/* adaptation.c - routers for a transformer, from itself. */
#include "tuning/adaptation.h"

#include "base/clock.h"
#include "base/int_math.h"
#include "checkpoint/checkpoint.h"
#include "infer/classifier.h"
#include "infer/logits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 1, HELD_OUT = 1000 /* texts, at most */, PART_HELD_OUT = 10 };

static const float cosine_weight = 4.0f, penalty_warmup = 0.3f, gate_limit = 0.5f;

/* ---- the models ------------------------------------------------------------------------------ */

static bool set(struct sl_config *config, const struct sl_arch *arch, const char *name,
                double value, struct sl_err *err)
{
    return sl_param_set(sl_param_find(arch->hypers, name), config, value, err);
}

/* The same sizes, and routers. */
static bool choose_config(struct sl_config *config, const struct sl_arch *arch,
                          const struct sl_adaptation_options *o, struct sl_err *err)
{
    config->dropout = 0.0f; /* the teacher has none */
    return set(config, arch, "compute_weight", (double)o->compute_weight, err) &&
           set(config, arch, "gate_binarization_weight", (double)o->gate_binarization_weight,
               err) &&
           set(config, arch, "penalty_warmup", (double)penalty_warmup, err) &&
           set(config, arch, "training_gate_limit", (double)gate_limit, err) &&
           set(config, arch, "router_bias", -3.0, err) && sl_config_check(arch, config, err);
}

static bool check(const struct sl_checkpoint *from, struct sl_err *err)
{
    const enum sl_task task = from->model_config.hyper.task;
    if (strcmp(from->model_config.arch->name, "transformer") != 0)
        return sl_fail(err, SL_BAD_INPUT, "its architecture is %s: expected transformer",
                       from->model_config.arch->name);
    return task == SL_TASK_PRETRAINING || task == SL_TASK_CLASSIFICATION ||
           sl_fail(err, SL_BAD_INPUT, "it is for %s: expected an encoder or a classifier of texts",
                   sl_task_name(task));
}

static bool create(struct sl_adaptation *a, const struct sl_checkpoint *from, struct sl_err *err)
{
    const struct sl_arch *arch = sl_arch_find("adaptive_transformer");
    struct sl_config config = from->model_config.hyper;
    if (!check(from, err) || !choose_config(&config, arch, &a->options, err))
        return false;
    struct sl_model *m = a->tuner.model = sl_model_create(a->options.engine, arch, &config, err);
    if (!m)
        return false;
    sl_text_tuner_freeze_tokens(m);
    sl_model_initialize(m, SEED);
    return sl_checkpoint_load_matching(from, m->state_dict, m->state_dict_count, err) &&
           sl_model_allocate_gradients(m, err);
}

/* ---- what is learnt -------------------------------------------------------------------------- */

static bool is_classifier(const struct sl_adaptation *a)
{
    return a->tuner.model->config.task == SL_TASK_CLASSIFICATION;
}

static void add_loss(void *context, struct sl_tape *t, struct sl_tensor *y, const int32_t *texts)
{
    const struct sl_adaptation *a = context;
    const size_t each = (size_t)a->outputs;
    for (int i = 0; texts && i < y->rows; i++)
        memcpy(a->batch + (size_t)i * each, a->targets + (size_t)texts[i] * each,
               each * sizeof *a->batch);
    if (!is_classifier(a)) {
        sl_cosine_loss(t, y,
                       (struct sl_cosine_loss_args){.targets = a->batch, .weight = cosine_weight});
        return;
    }
    struct sl_tensor *teacher = sl_tape_struct(t, 1, sizeof *teacher);
    *teacher = (struct sl_tensor){
        .data = a->batch, .stride = each, .rows = y->rows, .cols = y->cols, .type = SL_F32};
    struct sl_distillation *learnt = sl_tape_struct(t, 1, sizeof *learnt);
    *learnt = (struct sl_distillation){teacher, 1.0f};
    int32_t *unused = sl_tape_struct(t, (size_t)y->rows, sizeof *unused);
    sl_distillation_loss(t, y, learnt,
                         (struct sl_cross_entropy_args){.targets = unused, .weight = 1.0f});
}

static bool ask_teacher(struct sl_adaptation *a, struct sl_err *err)
{
    const struct sl_dataset *texts = a->options.set;
    a->teacher = sl_model_open(a->options.engine, a->options.model, err);
    if (!a->teacher)
        return false;
    a->outputs = a->teacher->info.output_size[SL_OUTPUT_TEXT];
    const size_t count = (size_t)texts->count, each = (size_t)a->outputs;
    a->targets = calloc(count * each, sizeof *a->targets);
    a->rows = calloc(count, sizeof *a->rows);
    if (!a->targets || !a->rows)
        return sl_fail(err, SL_NO_MEMORY, "no memory for the results of %zu texts", count);
    for (int i = 0; i < texts->count; i++)
        a->rows[i] = i;
    return sl_text_tuner_predict(a->teacher, texts, a->rows, texts->count, a->targets, err);
}

static void set_hyperparameters(struct sl_adaptation *a)
{
    struct sl_hyperparameters *h = &a->h;
    sl_params_set_defaults(sl_hyperparameter_rows, h);
    h->steps = a->options.steps;
    h->warmup_steps = h->steps / 20;
    h->learning_rate = a->options.learning_rate;
    h->min_learning_rate = 0.0f;
    h->lr_schedule = SL_LR_COSINE_AFTER_WARMUP;
    h->beta2 = 0.999f;
    h->weight_decay = 0.01f;
}

static bool start(struct sl_adaptation *a, struct sl_err *err)
{
    const struct sl_builder *b = &a->tuner.model->builder;
    set_hyperparameters(a);
    if (!sl_text_tuner_open(&a->tuner, err) || !sl_text_tuner_restart(&a->tuner, &a->h, err))
        return false;
    const size_t floats = (size_t)a->tuner.micro_batch * (size_t)a->outputs;
    a->batch = calloc(floats, sizeof *a->batch);
    if (!a->batch)
        return sl_fail(err, SL_NO_MEMORY, "no memory for the results of a micro-batch");
    for (int i = 0; i < b->count; i++)
        if (strstr(b->parameters[i].name, "router."))
            a->tuner.optimizer.rate_scale[i] =
                a->options.router_learning_rate / a->options.learning_rate;
    return true;
}

bool sl_adaptation_open(struct sl_adaptation *a, const struct sl_adaptation_options *options,
                        struct sl_err *err)
{
    struct sl_checkpoint from;
    const int count = options->set->count, tenth = count / PART_HELD_OUT;
    *a = (struct sl_adaptation){.options = *options, .tuner.set = options->set};
    a->tuner.loss = (struct sl_text_loss){.add = add_loss, .context = a};
    a->trained = count - (tenth < HELD_OUT ? tenth : HELD_OUT);
    if (!sl_checkpoint_open(&from, options->model, err))
        return false;
    const bool ok = create(a, &from, err) && ask_teacher(a, err) && start(a, err);
    sl_checkpoint_close(&from);
    if (ok)
        return true;
    sl_adaptation_close(a);
    return sl_wrap(err, "adapt '%s'", options->model);
}

void sl_adaptation_close(struct sl_adaptation *a)
{
    sl_text_tuner_close(&a->tuner);
    sl_model_close(a->teacher);
    free(a->targets);
    free(a->batch);
    free(a->rows);
    *a = (struct sl_adaptation){0};
}

bool sl_adaptation_step(struct sl_adaptation *a, struct sl_err *err)
{
    const int size = sl_min(a->options.batch_size, a->trained), per_epoch = a->trained / size;
    if (a->step % per_epoch == 0)
        sl_text_tuner_shuffle(&a->tuner, a->step / per_epoch, a->rows, a->trained);
    const int32_t *texts = a->tuner.order + (ptrdiff_t)(a->step % per_epoch) * size;
    if (!sl_text_tuner_step(&a->tuner, &a->h, a->step, texts, size, err))
        return false;
    a->step++;
    return true;
}

/* ---- quality --------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void summarize(double *each, int count, struct sl_adaptation_quality *q)
{
    double sum = 0.0;
    for (int i = 0; i < count; i++)
        sum += each[i];
    qsort(each, (size_t)count, sizeof *each, compare);
    q->similarity = sum / count;
    q->lowest = each[count / 20];
}

/* A text at a time, and its part of the operations. */
static bool run_text(const struct sl_adaptation *a, struct sl_classifier *c, int text,
                     double *similarity, int64_t layers[2], struct sl_err *err)
{
    struct sl_classifier_item item = {0};
    const float *want = a->targets + (size_t)text * (size_t)a->outputs;
    item.tokens = sl_dataset_ids(a->options.set, text, &item.count);
    if (!sl_classifier_run(c, &item, 1, err))
        return false;
    layers[0] += item.layers_used;
    layers[1] += item.layers_full;
    *similarity = is_classifier(a)
                      ? sl_argmax(item.logits, a->outputs) == sl_argmax(want, a->outputs)
                      : sl_cosine(item.embedding, want, a->outputs, 0.0);
    return true;
}

static bool run_texts(const struct sl_adaptation *a, struct sl_classifier *c, double *each,
                      struct sl_adaptation_quality *q, struct sl_err *err)
{
    int64_t layers[2] = {0};
    const double begun = sl_now_seconds();
    const int count = a->options.set->count - a->trained;
    for (int i = 0; i < count; i++)
        if (!run_text(a, c, a->trained + i, &each[i], layers, err))
            return false;
    q->seconds = sl_now_seconds() - begun;
    q->skipped = 1.0 - (double)layers[0] / (double)layers[1];
    summarize(each, count, q);
    return true;
}

bool sl_adaptation_measure(const struct sl_adaptation *a, float limit,
                           struct sl_adaptation_quality *q, struct sl_err *err)
{
    struct sl_model under = *a->tuner.model; /* the same numbers under another policy */
    const int context = under.config.context_length;
    const struct sl_classifier_options options = {.max_batch_size = 1, .max_batch_tokens = context};
    double *each = calloc((size_t)(a->options.set->count - a->trained) + 1, sizeof *each);
    *q = (struct sl_adaptation_quality){0};
    if (!each)
        return sl_fail(err, SL_NO_MEMORY, "no memory for similarities");
    under.policy = sl_model_policy_at(&under, (double)limit);
    struct sl_classifier *c = sl_classifier_create(&under, &options, err);
    const bool ok = c && run_texts(a, c, each, q, err);
    sl_classifier_destroy(c);
    free(each);
    return ok;
}

bool sl_adaptation_publish(const struct sl_adaptation *a, const char *directory,
                           const struct sl_adaptation_notes *notes, struct sl_err *err)
{
    struct sl_checkpoint from;
    const struct sl_model *m = a->tuner.model;
    if (!sl_checkpoint_open(&from, a->options.model, err))
        return false;
    struct sl_model_config config = from.model_config;
    char *copy = strdup(notes->training);
    config.arch = m->arch;
    config.hyper = m->config;
    config.policy = sl_policy_published(m->arch, &m->config);
    config.training = copy;
    config.operating_point_count = notes->count;
    memcpy(config.operating_points, notes->points, (size_t)notes->count * sizeof *notes->points);
    for (int p = 0; p < SL_PRECISION_COUNT; p++)
        config.precision_costs[p] = (struct sl_precision_cost){0};
    const struct sl_checkpoint_parts parts = {.model_config = &config,
                                              .tokens = from.tokens,
                                              .parameters = m->state_dict,
                                              .count = m->state_dict_count,
                                              .bf16 = true};
    const bool ok = copy ? sl_checkpoint_write(directory, &parts, err)
                         : sl_fail(err, SL_NO_MEMORY, "no memory for a provenance");
    free(copy);
    sl_checkpoint_close(&from);
    return ok;
}
