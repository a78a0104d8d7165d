/* adaptation.c - routers for a transformer, from itself. */
#include "tuning/adaptation.h"

#include "checkpoint/checkpoint.h"

#include <string.h>

enum { SEED = 1 };

static const float penalty_warmup = 0.3f, gate_limit = 0.5f;

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
    return strcmp(from->model_config.arch->name, "transformer") == 0 ||
           sl_fail(err, SL_BAD_INPUT, "its architecture is %s: expected transformer",
                   from->model_config.arch->name);
}

static bool fill(struct sl_model *m, const struct sl_checkpoint *from, struct sl_err *err)
{
    sl_text_tuner_freeze_tokens(m);
    sl_model_initialize(m, SEED);
    return sl_checkpoint_load_matching(from, m->state_dict, m->state_dict_count, err) &&
           sl_model_allocate_gradients(m, err);
}

static bool create(struct sl_adaptation *a, const struct sl_checkpoint *from,
                   struct sl_model **student, struct sl_err *err)
{
    const struct sl_arch *arch = sl_arch_find("adaptive_transformer");
    struct sl_config config = from->model_config.hyper;
    if (!check(from, err) || !choose_config(&config, arch, &a->options, err))
        return false;
    *student = sl_model_create(a->options.engine, arch, &config, err);
    if (*student && fill(*student, from, err))
        return true;
    sl_model_close(*student);
    return false;
}

/* Routers learn at a rate of their own. */
static void set_rates(struct sl_adaptation *a)
{
    const struct sl_builder *b = &a->d.tuner.model->builder;
    for (int i = 0; i < b->count; i++)
        if (strstr(b->parameters[i].name, "router."))
            a->d.tuner.optimizer.rate_scale[i] =
                a->options.router_learning_rate / a->options.learning_rate;
}

/* ---- the whole ------------------------------------------------------------------------------- */

bool sl_adaptation_open(struct sl_adaptation *a, const struct sl_adaptation_options *options,
                        struct sl_err *err)
{
    struct sl_checkpoint from;
    struct sl_model *student = NULL;
    const struct sl_text_distillation_options o = {.engine = options->engine,
                                                   .teacher = options->model,
                                                   .asked = options->set,
                                                   .set = options->set,
                                                   .steps = options->steps,
                                                   .batch_size = options->batch_size,
                                                   .learning_rate = options->learning_rate,
                                                   .router_learning_rate =
                                                       options->router_learning_rate};
    *a = (struct sl_adaptation){.options = *options};
    if (!sl_checkpoint_open(&from, options->model, err))
        return false;
    const bool ok =
        create(a, &from, &student, err) && sl_text_distillation_open(&a->d, &o, student, err);
    sl_checkpoint_close(&from);
    if (!ok)
        return sl_wrap(err, "adapt '%s'", options->model);
    set_rates(a);
    return true;
}

void sl_adaptation_close(struct sl_adaptation *a)
{
    sl_text_distillation_close(&a->d);
    *a = (struct sl_adaptation){0};
}

bool sl_adaptation_measure(struct sl_adaptation *a, float limit, struct sl_likeness *likeness,
                           struct sl_err *err)
{
    struct sl_model under = *a->d.tuner.model; /* the same numbers under another policy */
    under.policy = sl_model_policy_at(&under, (double)limit);
    return sl_text_distillation_compare(&a->d, &under, likeness, err);
}

bool sl_adaptation_publish(const struct sl_adaptation *a, const char *directory,
                           const struct sl_adaptation_notes *notes, struct sl_err *err)
{
    struct sl_checkpoint from;
    const struct sl_model *m = a->d.tuner.model;
    if (!sl_checkpoint_open(&from, a->options.model, err))
        return false;
    struct sl_model_config config = from.model_config;
    config.arch = m->arch;
    config.hyper = m->config;
    config.policy = sl_policy_published(m->arch, &m->config);
    config.operating_point_count = notes->count;
    memcpy(config.operating_points, notes->points, (size_t)notes->count * sizeof *notes->points);
    for (int p = 0; p < SL_PRECISION_COUNT; p++)
        config.precision_costs[p] = (struct sl_precision_cost){0};
    const struct sl_checkpoint_parts parts = {.model_config = &config,
                                              .training = notes->training,
                                              .tokens = from.tokens,
                                              .parameters = m->state_dict,
                                              .count = m->state_dict_count,
                                              .matrices = SL_DTYPE_BF16};
    const bool ok = sl_checkpoint_write(directory, &parts, err);
    sl_checkpoint_close(&from);
    return ok;
}
