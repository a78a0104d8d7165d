/* archs.c - the table of architectures, and their hyper-parameters by name. */
#include "arch/arch.h"
#include "base/comma_list.h"

#include <math.h>
#include <string.h>

#define SL_ARCH(name) extern const struct sl_arch sl_arch_##name;
#include "arch/archs.def"
#undef SL_ARCH

#define SL_ARCH(name) &sl_arch_##name,
static const struct sl_arch *const archs[] = {
#include "arch/archs.def"
};
#undef SL_ARCH

enum { ARCHS = sizeof archs / sizeof archs[0] };

const char *const sl_problem_types[] = {"single_label_classification", "multi_label_classification",
                                        NULL};

const char *const sl_task_names[] = {
    [SL_TASK_COMPLETION] = "completion",   [SL_TASK_CLASSIFICATION] = "classification",
    [SL_TASK_PRETRAINING] = "pretraining", [SL_TASK_TOKEN_CLASSIFICATION] = "token classification",
    [SL_TASK_TRANSLATION] = "translation", [SL_TASKS] = NULL,
};

const char *sl_task_name(enum sl_task task)
{
    return sl_task_names[task];
}

bool sl_task_classifies(enum sl_task task)
{
    return task == SL_TASK_CLASSIFICATION || task == SL_TASK_TOKEN_CLASSIFICATION;
}

bool sl_task_generates(enum sl_task task)
{
    return task == SL_TASK_COMPLETION || task == SL_TASK_TRANSLATION;
}

const struct sl_arch *sl_arch_at(int index)
{
    return index >= 0 && index < ARCHS ? archs[index] : NULL;
}

const struct sl_arch *sl_arch_find(const char *name)
{
    for (int i = 0; i < ARCHS; i++)
        if (strcmp(archs[i]->name, name) == 0)
            return archs[i];
    return NULL;
}

bool sl_arch_reads_whole_texts(const struct sl_arch *arch, const struct sl_config *c)
{
    const struct sl_cascade parts = arch->cascade ? arch->cascade(c) : (struct sl_cascade){0};
    return parts.context == 0 || parts.context >= c->context_length;
}

unsigned sl_arch_trains(const struct sl_arch *arch)
{
    return arch->pretrained_by ? arch->tasks & ~(unsigned)SL_PRETRAINS : arch->tasks;
}

const char *sl_arch_list(unsigned tasks, char list[SL_ARCH_LIST])
{
    list[0] = '\0';
    for (int i = 0; i < ARCHS; i++)
        if (sl_arch_trains(archs[i]) & tasks)
            sl_list_add(list, SL_ARCH_LIST, archs[i]->name);
    return list;
}

void sl_config_set_defaults(const struct sl_arch *arch, struct sl_config *c)
{
    *c = (struct sl_config){0};
    sl_params_set_defaults(arch->hypers, c);
}

const struct sl_param *sl_policy_rows(const struct sl_arch *arch)
{
    static const struct sl_param none[] = {{0}};
    return arch->policy ? arch->policy : none;
}

const struct sl_param *sl_policy_threshold(const struct sl_arch *arch)
{
    return arch->threshold ? sl_param_find(arch->policy, arch->threshold) : NULL;
}

struct sl_policy sl_policy_defaults(const struct sl_arch *arch)
{
    struct sl_policy policy = {0};
    sl_params_set_defaults(sl_policy_rows(arch), policy.own);
    return policy;
}

static bool trained_policy(const struct sl_arch *arch, const struct sl_config *c,
                           struct sl_policy *policy)
{
    return arch->trained_policy && arch->trained_policy(c, policy);
}

struct sl_policy sl_policy_trained(const struct sl_arch *arch, const struct sl_config *c)
{
    struct sl_policy policy = sl_policy_defaults(arch);
    return trained_policy(arch, c, &policy) ? policy : (struct sl_policy){.dense = true};
}

struct sl_policy sl_policy_published(const struct sl_arch *arch, const struct sl_config *c)
{
    struct sl_policy policy = sl_policy_defaults(arch);
    return trained_policy(arch, c, &policy) ? policy : sl_policy_defaults(arch);
}

static bool hypers_check(const struct sl_arch *arch, const struct sl_config *c, struct sl_err *err)
{
    struct sl_config copy = *c;
    for (const struct sl_param *h = arch->hypers; h->name; h++)
        if (!sl_param_set(h, &copy, sl_param_get(h, c), err))
            return false;
    return true;
}

/* Hyper-parameters that the task does not use must keep their defaults: a set one has no effect. */
static bool cases_check(const struct sl_arch *arch, const struct sl_config *c, struct sl_err *err)
{
    struct sl_config usual;
    sl_config_set_defaults(arch, &usual);
    for (const struct sl_param *h = arch->hypers; h->name; h++) {
        bool same = !(fabs(sl_param_get(h, c) - sl_param_get(h, &usual)) > 0.0);
        if (same || sl_hyper_is_for(h, c->task))
            continue;
        return sl_fail(err, SL_BAD_INPUT, "%s has no effect on a model for %s", h->name,
                       sl_task_name(c->task));
    }
    return true;
}

bool sl_arch_check_task(const struct sl_arch *arch, enum sl_task task, struct sl_err *err)
{
    char list[SL_ARCH_LIST];
    if (arch->tasks & 1u << task)
        return true;
    if (task == SL_TASK_COMPLETION)
        return sl_fail(err, SL_BAD_INPUT,
                       "%s only classifies (with --data). To generate text, use one of: %s",
                       arch->name, sl_arch_list(SL_COMPLETES, list));
    if (task == SL_TASK_PRETRAINING)
        return sl_fail(err, SL_BAD_INPUT, "%s cannot be pretrained; these can: %s", arch->name,
                       sl_arch_list(SL_PRETRAINS, list));
    if (task == SL_TASK_TOKEN_CLASSIFICATION)
        return sl_fail(err, SL_BAD_INPUT, "%s does not classify tokens", arch->name);
    if (task == SL_TASK_TRANSLATION)
        return sl_fail(err, SL_BAD_INPUT, "%s does not translate; these do: %s", arch->name,
                       sl_arch_list(SL_TRANSLATES, list));
    return sl_fail(err, SL_BAD_INPUT,
                   "%s only generates text (with --corpus). To classify, use one of: %s",
                   arch->name, sl_arch_list(SL_CLASSIFIES, list));
}

bool sl_config_check(const struct sl_arch *arch, const struct sl_config *c, struct sl_err *err)
{
    if (!hypers_check(arch, c, err) || !sl_arch_check_task(arch, c->task, err))
        return false;
    if (!cases_check(arch, c, err))
        return false;
    const int least = c->task == SL_TASK_CLASSIFICATION && !c->multi_label ? 2 : 1;
    if (sl_task_classifies(c->task) && c->classes < least)
        return sl_fail(err, SL_BAD_INPUT, "invalid number of classes %d: expected %d or more",
                       c->classes, least);
    if (c->vocab < 1)
        return sl_fail(err, SL_BAD_INPUT, "invalid vocabulary size %d: expected 1 or more",
                       c->vocab);
    if (c->heads > 0 && c->width % c->heads != 0)
        return sl_fail(err, SL_BAD_INPUT,
                       "heads is %d and width %d: width must be a multiple of heads", c->heads,
                       c->width);
    return !arch->check || arch->check(c, err);
}

struct sl_embedding_shape sl_embedding_shape_of(const struct sl_config *c)
{
    return (struct sl_embedding_shape){.vocab = c->vocab,
                                       .context_length = c->context_length,
                                       .width = c->width,
                                       .start = sl_normal(0.02f),
                                       .scale = 1.0f,
                                       .dropout = c->dropout,
                                       .hash_bigrams = c->hash_bigrams,
                                       .tied = c->task != SL_TASK_CLASSIFICATION};
}

struct sl_block_shape sl_block_shape_of(const struct sl_config *c)
{
    return (struct sl_block_shape){
        .width = c->width,
        .heads = c->heads,
        .ffn_width = c->ffn_width,
        .activation = SL_GELU,
        .residual_deviation = 0.02f / sqrtf(2.0f * (float)c->depth),
        .dropout = c->dropout,
        .bidirectional = c->task == SL_TASK_PRETRAINING ||
                         (c->task == SL_TASK_CLASSIFICATION && c->bidirectional),
    };
}
