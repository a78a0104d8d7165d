/* trainer_open.c - a trainer from names and texts: defaults, checks, hyper-parameters by name. */
#include "checkpoint/checkpoint.h"
#include "data/data_options.h"
#include "tokenizer/tokenizer_kinds.h"
#include "train/trainer.h"

#include <math.h>
#include <string.h>

enum { HYPERPARAMETERS_MAX = 128, ARCHITECTURES_MAX = 32 };

void sl_train_options_init(struct sl_train_options *t, const struct sl_arch *arch)
{
    *t = (struct sl_train_options){.arch = arch};
    sl_config_set_defaults(arch, &t->config);
    sl_params_set_defaults(sl_hyperparameter_rows, &t->hyperparameters);
    t->hyperparameters.steps = 0; /* 0 is not accepted, so it can mean: not given */
    t->hyperparameters.train_fraction = t->hyperparameters.validation_fraction = 0.0f;
}

/* By name: another architecture may keep its own at another place. */
static bool copy_hyperparameters(struct sl_train_options *t, const struct sl_model_config *from,
                                 struct sl_err *err)
{
    for (const struct sl_param *row = from->arch->hypers; row->name; row++) {
        const struct sl_param *own = sl_param_find(t->arch->hypers, row->name);
        char value[SL_PARAM_TEXT];
        if (!own)
            continue;
        sl_param_format(row, sl_param_get(row, &from->hyper), value);
        if (!sl_param_parse(own, &t->config, value, err))
            return false;
    }
    return true;
}

/* Weights of the same name and size may be of a block that computes something else. */
static bool check_blocks(const struct sl_arch *arch, const struct sl_arch *from, struct sl_err *err)
{
    const bool extends = arch->extends && strcmp(arch->extends, from->name) == 0;
    return arch == from || extends || !(arch->describes_blocks || from->describes_blocks) ||
           sl_fail(err, SL_BAD_INPUT, "its architecture is %s, so train %s from it, not %s",
                   from->name, from->name, arch->name);
}

bool sl_train_options_init_from(struct sl_train_options *t, const char *directory,
                                struct sl_err *err)
{
    struct sl_checkpoint start;
    if (!sl_checkpoint_open(&start, directory, err))
        return false;
    const bool ok = check_blocks(t->arch, start.model_config.arch, err) &&
                    copy_hyperparameters(t, &start.model_config, err);
    sl_checkpoint_close(&start);
    return ok || sl_wrap(err, "'%s'", directory);
}

void sl_train_options_complete(struct sl_train_options *t)
{
    struct sl_hyperparameters standard, *h = &t->hyperparameters;
    sl_params_set_defaults(sl_hyperparameter_rows, &standard);
    if (!(h->train_fraction > 0.0f))
        h->train_fraction = standard.train_fraction;
    if (!(h->validation_fraction > 0.0f))
        h->validation_fraction = standard.validation_fraction;
    if (t->sources.data && h->steps == 0 && h->epochs == 0)
        h->epochs = SL_EPOCHS_DEFAULT;
    if (h->steps == 0)
        h->steps = standard.steps;
}

/* A hyper-parameter, and the struct that its row refers to. */
struct hyperparameter {
    const struct sl_param *row; /* NULL: there is none of this name */
    void *values;
    char name[SL_NAME_BYTES];
};

static struct hyperparameter find_hyperparameter(struct sl_train_options *t, const char *name)
{
    struct hyperparameter found = {.values = &t->hyperparameters};
    (void)sl_name_with_underscores(found.name, sizeof found.name, name);
    found.row = sl_param_find(sl_hyperparameter_rows, found.name);
    if (found.row)
        return found;
    found.row = sl_param_find(t->arch->hypers, found.name);
    found.values = &t->config;
    return found;
}

static bool fail_hyperparameter(const struct sl_arch *arch, const char *name, struct sl_err *err)
{
    const char *names[HYPERPARAMETERS_MAX + 1] = {NULL};
    int count = 0;
    for (const struct sl_param *r = sl_hyperparameter_rows; r->name; r++)
        names[count++] = r->name;
    for (const struct sl_param *r = arch->hypers; r->name && count < HYPERPARAMETERS_MAX; r++)
        names[count++] = r->name;
    const char *meant = sl_name_suggest(name, names);
    if (meant)
        return sl_fail(err, SL_BAD_INPUT, "unknown hyper-parameter '%.64s' of %s; did you mean %s?",
                       name, arch->name, meant);
    return sl_fail(err, SL_BAD_INPUT,
                   "unknown hyper-parameter '%.64s' of %s; `sluice train %s --help` lists them",
                   name, arch->name, arch->name);
}

static bool apply_setting(struct sl_train_options *t, const struct sl_setting *setting,
                          struct sl_err *err)
{
    const struct hyperparameter found = find_hyperparameter(t, setting->name);
    if (!found.row)
        return fail_hyperparameter(t->arch, setting->name, err);
    return sl_param_parse(found.row, found.values, setting->value, err);
}

/* ---- checks of single settings --------------------------------------------------------------- */

#define AT(member) offsetof(struct sl_data_sources, member)

static const struct sl_option data_rows[] = {SL_DATA_OPTIONS(AT), {0}};

static const struct sl_option *find_data_row(const char *name)
{
    char option[SL_NAME_BYTES];
    const struct sl_option *row = data_rows;
    (void)sl_name_with_dashes(option, sizeof option, name);
    while (row->name && strcmp(row->name, option) != 0)
        row++;
    return row->name ? row : NULL;
}

static bool check_data_setting(const struct sl_option *row, const struct sl_setting *setting,
                               struct sl_err *err)
{
    if (strcmp(row->name, "tokenizer") == 0)
        return sl_tokenizer_kind_find(setting->value, err);
    if (strcmp(row->name, "label-separator") == 0)
        return sl_label_separator_check(setting->value, err);
    if (row->kind == SL_OPTION_STRING)
        return true;
    bool is_flag = row->kind == SL_OPTION_FLAG;
    const struct sl_param as_number = {.name = setting->name,
                                       .help = row->help,
                                       .kind = is_flag ? SL_FLAG : SL_INTEGER,
                                       .min = row->min,
                                       .max = row->max};
    int number;
    bool flag;
    return sl_param_parse(&as_number, is_flag ? (void *)&flag : (void *)&number, setting->value,
                          err);
}

bool sl_setting_check(const char *architecture, const struct sl_setting *setting,
                      struct sl_err *err)
{
    struct sl_train_options t;
    const struct sl_arch *arch = sl_arch_find(architecture);
    const struct sl_option *row = find_data_row(setting->name);
    if (!arch)
        return sl_fail(err, SL_BAD_INPUT, "unknown architecture '%.64s'", architecture);
    if (row)
        return check_data_setting(row, setting, err);
    sl_train_options_init(&t, arch);
    return apply_setting(&t, setting, err);
}

double sl_setting_default(const char *architecture, const char *name)
{
    struct sl_train_options t;
    const struct sl_arch *arch = sl_arch_find(architecture);
    if (!arch)
        return (double)NAN;
    sl_train_options_init(&t, arch);
    const struct hyperparameter found = find_hyperparameter(&t, name);
    return found.row ? found.row->default_value : (double)NAN;
}

const char *sl_architecture_name(int index, enum sl_task task)
{
    for (int i = 0; sl_arch_at(i); i++)
        if ((sl_arch_at(i)->tasks & 1u << task) && index-- == 0)
            return sl_arch_at(i)->name;
    return NULL;
}

bool sl_architecture_check(const char *architecture, enum sl_task task, struct sl_err *err)
{
    char list[SL_ARCH_LIST], advice[SL_NAME_ADVICE_BYTES];
    unsigned needed = 1u << task;
    const struct sl_arch *arch = sl_arch_find(architecture);
    if (arch && (arch->tasks & needed))
        return true;
    if (arch)
        return sl_fail(err, SL_BAD_INPUT, "'%.64s' is not for %s; choose one of: %s", architecture,
                       sl_task_name(task), sl_arch_list(needed, list));
    const char *names[ARCHITECTURES_MAX + 1] = {NULL};
    for (int i = 0; i < ARCHITECTURES_MAX; i++)
        names[i] = sl_architecture_name(i, task);
    return sl_fail(err, SL_BAD_INPUT, "unknown architecture '%.64s'; %s", architecture,
                   sl_name_advice(advice, architecture, names));
}

/* ---- the trainer ----------------------------------------------------------------------------- */

static bool apply_settings(struct sl_train_options *t, const struct sl_trainer_options *o,
                           struct sl_err *err)
{
    bool ok = !o->init_from || sl_train_options_init_from(t, o->init_from, err);
    for (int i = 0; i < o->settings_count && ok; i++)
        ok = apply_setting(t, &o->settings[i], err);
    return ok;
}

static struct sl_data_sources sources_of(const struct sl_trainer_options *o)
{
    return (struct sl_data_sources){
        .corpus = o->corpus,
        .data = o->data,
        .validation = o->validation,
        .labels = o->labels,
        .columns = {.format = o->format, .label = o->label, .text = o->text},
        .tokenizer = o->tokenizer,
        .vocabulary = o->vocab_file,
        .vocabulary_size = o->vocab_size,
        .cased = o->cased};
}

static bool check(const struct sl_trainer_options *o, struct sl_err *err)
{
    char list[SL_ARCH_LIST];
    if (!o->architecture || !sl_arch_find(o->architecture))
        return sl_fail(err, SL_BAD_INPUT, "unknown architecture '%s'; choose one of: %s",
                       o->architecture ? o->architecture : "",
                       sl_arch_list(SL_COMPLETES | SL_CLASSIFIES, list));
    if (!o->corpus == !o->data)
        return sl_fail(err, SL_BAD_INPUT, "set either corpus or data, not %s",
                       o->data ? "both" : "neither");
    return o->run_dir || sl_fail(err, SL_BAD_INPUT, "run_dir is not set");
}

struct sl_trainer *sl_trainer_open(struct sl_engine *engine,
                                   const struct sl_trainer_options *options, struct sl_err *err)
{
    struct sl_train_options t;
    if (!check(options, err))
        return NULL;
    sl_train_options_init(&t, sl_arch_find(options->architecture));
    if (!apply_settings(&t, options, err))
        return NULL;
    t.sources = sources_of(options);
    t.init_from = options->init_from;
    t.teacher = options->teacher;
    t.run_dir = options->run_dir;
    t.resume = options->resume;
    sl_train_options_complete(&t);
    return sl_trainer_create(engine, &t, err);
}
