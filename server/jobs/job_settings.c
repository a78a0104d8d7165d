/* job_settings.c - the table of a job's hyper-parameters. */
#include "jobs/job_settings.h"
#include "base/comma_list.h"
#include "base/names.h"
#include "base/number_text.h"

#include "sluice/trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind {
    OPENAI = 1,          /* may be "auto": as if it were not given */
    FLAG = 2,            /* true or false; as an option it has no value */
    RULE = 4,            /* the daemon's; no option */
    AUTOMATIC = 8,       /* has an effect without an architecture */
    ONLY_AUTOMATIC = 16, /* has none with one */
    LABELLED = 32,       /* how labelled texts are read, also to evaluate */
    PLAIN = 64,          /* how a plain text is divided, also to evaluate */
    VOCABULARY = 128     /* how a vocabulary is made; a model to fine-tune has one */
};

/* NULL, see below: it is checked as an option. */
typedef bool check_function(struct sv_job_spec *spec, const struct sv_setting *setting,
                            struct sv_error *error);

static check_function check_epochs, check_multiplier, check_train_fraction,
    check_validation_fraction, check_time, check_promotion, check_margin, check_weight, refuse_seed,
    refuse_distillation;
static void add_multiplier(const struct sv_job_spec *spec, const char *value,
                           struct sv_command_line *line);

struct row {
    const char *name;
    unsigned kind;
    check_function *check;
    const char *option; /* of `sluice train`; NULL: the same name */
    /* How it becomes options; NULL: as one. */
    void (*add)(const struct sv_job_spec *spec, const char *value, struct sv_command_line *line);
};

static const struct row rows[] = {
    {.name = "n_epochs", .kind = OPENAI, .check = check_epochs, .option = "epochs"},
    {.name = "batch_size", .kind = OPENAI},
    {.name = "learning_rate_multiplier",
     .kind = OPENAI,
     .check = check_multiplier,
     .add = add_multiplier},
    {.name = "label", .kind = AUTOMATIC | LABELLED},
    {.name = "label_separator", .kind = AUTOMATIC | ONLY_AUTOMATIC | LABELLED},
    {.name = "text", .kind = AUTOMATIC | LABELLED},
    {.name = "format", .kind = AUTOMATIC | LABELLED},
    {.name = "tokenizer", .kind = AUTOMATIC | VOCABULARY},
    {.name = "vocab_size", .kind = AUTOMATIC | VOCABULARY},
    {.name = "cased", .kind = AUTOMATIC | VOCABULARY | FLAG},
    {.name = "time", .kind = AUTOMATIC | ONLY_AUTOMATIC, .check = check_time},
    {.name = "quick", .kind = AUTOMATIC | ONLY_AUTOMATIC | FLAG},
    {.name = "promotion", .kind = AUTOMATIC | RULE, .check = check_promotion},
    {.name = "promotion_margin", .kind = AUTOMATIC | RULE, .check = check_margin},
    {.name = "promotion_weight", .kind = AUTOMATIC | RULE, .check = check_weight},
    {.name = "train_fraction", .kind = PLAIN, .check = check_train_fraction},
    {.name = "validation_fraction", .kind = PLAIN, .check = check_validation_fraction},
    {.name = "save_best", .kind = FLAG},
    {.name = "bf16", .kind = FLAG},
    {.name = "seed", .check = refuse_seed},
    {.name = "distillation_weight", .check = refuse_distillation},
};

enum { ROWS = sizeof rows / sizeof rows[0] };

/* The row of any other option. */
static const struct row other = {.name = ""};

static const struct row *find_row(const char *name)
{
    for (int i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return &other;
}

const char *sv_job_settings_openai(int index)
{
    for (int i = 0; i < ROWS; i++)
        if ((rows[i].kind & OPENAI) && index-- == 0)
            return rows[i].name;
    return NULL;
}

static bool is_auto(const struct row *row, const char *value)
{
    return (row->kind & OPENAI) && strcmp(value, "auto") == 0;
}

/* ---- errors ---------------------------------------------------------------------------------- */

static bool fail_useless(struct sv_error *error, const struct sv_setting *setting, const char *why)
{
    return sv_fail(error, SV_UNSUPPORTED_PARAMETER, setting->name, "'%s' has %s.", setting->name,
                   why);
}

/* An error that names the setting, perhaps as the option that stands for it. */
static bool fail_as(struct sv_error *error, const struct sv_setting *setting, struct sl_err *err)
{
    (void)sl_err_spell_field(err, setting->name);
    return sv_fail(error, SV_INVALID_VALUE, setting->name, "%s", err->text);
}

/* Where in the request the setting is. */
static bool name_setting(const struct sv_settings *settings, struct sv_error *error)
{
    char name[SV_METADATA_KEY_BYTES_MAX + 1];
    (void)snprintf(name, sizeof name, "%.64s", error->param);
    (void)snprintf(error->param, sizeof error->param, "%s%s", settings->prefix, name);
    return false;
}

/* ---- checks of one --------------------------------------------------------------------------- */

static bool check_option(const struct sv_job_spec *spec, const char *option,
                         const struct sv_setting *setting, struct sv_error *error)
{
    struct sl_err err;
    const struct sl_setting asked = {.name = option, .value = setting->value};
    return sl_setting_check(spec->architecture, &asked, &err) || fail_as(error, setting, &err);
}

static bool read_number(const struct sv_setting *setting, double min, double max, double *value,
                        struct sv_error *error)
{
    struct sl_err err;
    if (sl_number_parse(setting->value, min, max, value))
        return true;
    (void)sl_fail_number(&err, setting->name, setting->value, min, max);
    return fail_as(error, setting, &err);
}

static bool check_epochs(struct sv_job_spec *spec, const struct sv_setting *setting,
                         struct sv_error *error)
{
    if (!spec->classifies)
        return sv_fail(error, SV_UNSUPPORTED_PARAMETER, setting->name,
                       "A plain text has no epochs (n_epochs); set 'steps' instead.");
    return check_option(spec, "epochs", setting, error);
}

static bool check_multiplier(struct sv_job_spec *spec, const struct sv_setting *setting,
                             struct sv_error *error)
{
    double value;
    if (sv_setting_find(&spec->hyperparameters, "learning_rate"))
        return sv_fail(error, SV_INVALID_VALUE, setting->name,
                       "give 'learning_rate_multiplier' or 'learning_rate', not both.");
    return read_number(setting, 1e-3, 1e3, &value, error);
}

static bool check_flag(const struct sv_setting *setting, struct sv_error *error)
{
    struct sl_err err;
    if (strcmp(setting->value, "true") == 0 || strcmp(setting->value, "false") == 0)
        return true;
    (void)sl_fail_value(&err, setting->name, setting->value, "expected true or false");
    return fail_as(error, setting, &err);
}

static bool check_time(struct sv_job_spec *spec, const struct sv_setting *setting,
                       struct sv_error *error)
{
    double seconds;
    struct sl_err err;
    (void)spec;
    return sl_time_limit_read(setting->name, setting->value, &seconds, &err) ||
           fail_as(error, setting, &err);
}

static bool check_train_fraction(struct sv_job_spec *spec, const struct sv_setting *setting,
                                 struct sv_error *error)
{
    if (spec->classifies)
        return fail_useless(error, setting,
                            "no effect on labelled texts; set 'validation_fraction'");
    return check_option(spec, setting->name, setting, error);
}

static bool check_validation_fraction(struct sv_job_spec *spec, const struct sv_setting *setting,
                                      struct sv_error *error)
{
    if (spec->validation[0])
        return fail_useless(error, setting, "no effect with a validation file");
    return check_option(spec, setting->name, setting, error);
}

static bool check_promotion(struct sv_job_spec *spec, const struct sv_setting *setting,
                            struct sv_error *error)
{
    static const char *const names[] = {[SV_PROMOTE_NEVER] = "never",
                                        [SV_PROMOTE_IF_BETTER] = "if_better",
                                        [SV_PROMOTE_CANARY] = "canary"};

    enum { NAMES = sizeof names / sizeof names[0] };

    struct sl_err err;
    int i = 0;
    while (i < NAMES && strcmp(names[i], setting->value) != 0)
        i++;
    if (i == NAMES) {
        (void)sl_fail_value(&err, setting->name, setting->value,
                            "expected \"never\", \"if_better\" or \"canary\"");
        return fail_as(error, setting, &err);
    }
    spec->promotion = (enum sv_promotion)i;
    return spec->promotion != SV_PROMOTE_IF_BETTER || !spec->classifies || spec->validation[0] ||
           sv_fail(
               error, SV_INVALID_VALUE, setting->name,
               "'promotion': \"if_better\" needs a validation file to measure both versions on.");
}

static bool check_margin(struct sv_job_spec *spec, const struct sv_setting *setting,
                         struct sv_error *error)
{
    return read_number(setting, 0, 100, &spec->margin, error);
}

static bool check_weight(struct sv_job_spec *spec, const struct sv_setting *setting,
                         struct sv_error *error)
{
    enum { MIN = 1, MAX = 99 };

    struct sl_err err;
    if (sl_whole_parse(setting->value, MIN, MAX, &spec->weight))
        return true;
    (void)sl_fail_whole(&err, setting->name, setting->value, MIN, MAX);
    return fail_as(error, setting, &err);
}

static bool refuse_seed(struct sv_job_spec *spec, const struct sv_setting *setting,
                        struct sv_error *error)
{
    (void)spec;
    return sv_fail(error, SV_INVALID_VALUE, setting->name,
                   "'seed' is no hyper-parameter; set the seed of the job instead.");
}

static bool refuse_distillation(struct sv_job_spec *spec, const struct sv_setting *setting,
                                struct sv_error *error)
{
    (void)spec;
    return fail_useless(error, setting, "no effect: a job has no teacher");
}

/* Without an architecture few have an effect. */
static bool fail_automatic(const struct sv_setting *setting, struct sv_error *error)
{
    char list[256] = "";
    for (int i = 0; i < ROWS; i++)
        if (rows[i].kind & AUTOMATIC)
            (void)sl_list_add(list, sizeof list, rows[i].name);
    return sv_fail(
        error, SV_UNSUPPORTED_PARAMETER, setting->name,
        "'%s' has an effect only with a model or an architecture ('model'); without one, "
        "the hyper-parameters are: %s.",
        setting->name, list);
}

/* Whether it has an effect on this job. */
static bool check_effect(const struct sv_job_spec *spec, const struct row *row,
                         const struct sv_setting *setting, struct sv_error *error)
{
    const bool automatic = sv_job_is_automatic(spec);
    if (automatic && !(row->kind & AUTOMATIC))
        return fail_automatic(setting, error);
    if (!automatic && (row->kind & ONLY_AUTOMATIC))
        return fail_useless(error, setting, "an effect only without a model");
    if (!spec->classifies && (row->kind & LABELLED))
        return fail_useless(error, setting, "an effect only on labelled texts");
    if (spec->base[0] && (row->kind & VOCABULARY))
        return fail_useless(error, setting,
                            "no effect on a model to fine-tune, which keeps its vocabulary");
    return true;
}

static bool check_one(struct sv_job_spec *spec, const struct sv_setting *setting,
                      struct sv_error *error)
{
    const struct row *row = find_row(setting->name);
    if (is_auto(row, setting->value))
        return true;
    if (!check_effect(spec, row, setting, error))
        return false;
    if (row->kind & FLAG)
        return check_flag(setting, error);
    return row->check ? row->check(spec, setting, error)
                      : check_option(spec, setting->name, setting, error);
}

/* ---- checks of several ----------------------------------------------------------------------- */

/* One name for each: `sluice train` accepts learning-rate, too. */
static bool check_spelling(const struct sv_settings *settings, struct sv_error *error)
{
    for (int i = 0; i < settings->count; i++)
        if (strchr(settings->items[i].name, '-'))
            return sv_fail(error, SV_INVALID_VALUE, settings->items[i].name,
                           "'%s': names of hyper-parameters are written with '_', not '-'.",
                           settings->items[i].name);
    return true;
}

/* Only one of these says how long to train. */
static bool check_length(const struct sv_settings *settings, struct sv_error *error)
{
    static const char *const names[] = {"n_epochs", "epochs", "steps"};
    const char *first = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = sv_setting_find(settings, names[i]);
        if (!value || strcmp(value, "auto") == 0)
            continue;
        if (first)
            return sv_fail(error, SV_INVALID_VALUE, names[i], "give '%s' or '%s', not both.",
                           names[i], first);
        first = names[i];
    }
    return true;
}

/* What says how to promote, without its promotion, would do nothing. */
static bool check_promotion_details(const struct sv_job_spec *spec, struct sv_error *error)
{
    static const struct {
        const char *name, *needs;
        enum sv_promotion promotion;
    } details[] = {{"promotion_margin", "if_better", SV_PROMOTE_IF_BETTER},
                   {"promotion_weight", "canary", SV_PROMOTE_CANARY}};

    for (size_t i = 0; i < sizeof details / sizeof details[0]; i++)
        if (sv_setting_find(&spec->hyperparameters, details[i].name) &&
            spec->promotion != details[i].promotion)
            return sv_fail(error, SV_INVALID_VALUE, details[i].name,
                           "'%s' has an effect only with 'promotion': \"%s\".", details[i].name,
                           details[i].needs);
    return !(spec->classifies && spec->margin > 1) ||
           sv_fail(
               error, SV_INVALID_VALUE, "promotion_margin",
               "invalid promotion_margin '%g': expected a difference of accuracies, from 0 to 1.",
               spec->margin);
}

/* kinds: 0: all; else those that have one of these. */
static bool check_each(struct sv_job_spec *spec, unsigned kinds, struct sv_error *error)
{
    enum { CANARY_WEIGHT = 10 };

    const struct sv_settings *settings = &spec->hyperparameters;
    spec->weight = CANARY_WEIGHT;
    for (int i = 0; i < settings->count; i++)
        if ((kinds == 0 || (find_row(settings->items[i].name)->kind & kinds)) &&
            !check_one(spec, &settings->items[i], error))
            return false;
    return true;
}

bool sv_job_settings_check(struct sv_job_spec *spec, struct sv_error *error)
{
    const struct sv_settings *settings = &spec->hyperparameters;
    return (check_spelling(settings, error) && check_each(spec, 0, error) &&
            check_length(settings, error) && check_promotion_details(spec, error)) ||
           name_setting(settings, error);
}

bool sv_job_settings_load(struct sv_job_spec *spec, struct sv_error *error)
{
    return check_each(spec, RULE, error);
}

/* ---- options --------------------------------------------------------------------------------- */

/* --learning-rate=0.1, as `sluice train` spells it. */
static void add_option(struct sv_command_line *line, const char *name, const char *value)
{
    char option[SL_NAME_BYTES];
    sv_command_add(line, "--%s=%s", sl_name_with_dashes(option, sizeof option, name), value);
}

static void add_flag(struct sv_command_line *line, const struct sv_setting *setting)
{
    char option[SL_NAME_BYTES];
    if (strcmp(setting->value, "true") == 0)
        sv_command_add(line, "--%s", sl_name_with_dashes(option, sizeof option, setting->name));
}

/* Scales both ends of the schedule, unless its lower end is given. */
static void add_multiplier(const struct sv_job_spec *spec, const char *value,
                           struct sv_command_line *line)
{
    static const char *const rates[] = {"learning_rate", "min_learning_rate"};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        char text[32];
        double usual = sl_setting_default(spec->architecture, rates[i]);
        (void)snprintf(text, sizeof text, "%.9g", usual * strtod(value, NULL));
        if (!sv_setting_find(&spec->hyperparameters, rates[i]))
            add_option(line, rates[i], text);
    }
}

static void add_one(const struct sv_job_spec *spec, const struct sv_setting *setting,
                    struct sv_command_line *line)
{
    const struct row *row = find_row(setting->name);
    if ((row->kind & RULE) || is_auto(row, setting->value))
        return;
    if (row->kind & FLAG)
        add_flag(line, setting);
    else if (row->add)
        row->add(spec, setting->value, line);
    else
        add_option(line, row->option ? row->option : setting->name, setting->value);
}

void sv_job_settings_add(const struct sv_job_spec *spec, struct sv_command_line *line)
{
    for (int i = 0; i < spec->hyperparameters.count; i++)
        add_one(spec, &spec->hyperparameters.items[i], line);
}

void sv_job_settings_add_reading(const struct sv_job_spec *spec, struct sv_command_line *line)
{
    const unsigned kind = spec->classifies ? LABELLED : PLAIN;
    for (int i = 0; i < spec->hyperparameters.count; i++)
        if (find_row(spec->hyperparameters.items[i].name)->kind & kind)
            add_one(spec, &spec->hyperparameters.items[i], line);
}
