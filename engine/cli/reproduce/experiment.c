/* experiment.c - reads experiments/PAPER/NAME.yaml by tables of its keys. */
#include "cli/reproduce/experiment.h"

#include "base/names.h"
#include "base/number_text.h"
#include "base/yaml.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FIELDS_MAX = 16 };

const struct metric metrics[METRICS] = {
    [METRIC_LOSS] = {.name = "loss"},
    [METRIC_ACCURACY] = {.name = "accuracy"},
    [METRIC_BLEU] = {.name = "bleu"},
    [METRIC_GATE_MEAN] = {.name = "gate_mean"},
    [METRIC_LAYER_OPS_SKIPPED] = {.name = "layer_ops_skipped"},
    [METRIC_BEST_ACCURACY] = {.name = "best_accuracy", .is_logged = true},
    [METRIC_TRAIN_ACCURACY] = {.name = "train_accuracy", .is_logged = true},
    [METRIC_VALIDATION_DEPTH] = {.name = "validation_depth", .is_logged = true}};

const char *const experiment_curve_columns[] = {"step",
                                                "trained_tokens",
                                                "active_tokens",
                                                "seconds",
                                                "train_loss",
                                                "validation_loss",
                                                "validation_gate_mean",
                                                "train_accuracy",
                                                "validation_accuracy",
                                                "validation_depth",
                                                NULL};

/* A key of a mapping, and what its value becomes. The last row is zero. */
struct field {
    const char *name;
    bool (*read)(struct experiment *e, int node, const char *name, void *member,
                 struct sl_err *err);
    size_t offset;
    bool is_optional;
};

/* ---- mappings -------------------------------------------------------------------------------- */

static const struct field *find(const struct field *fields, const char *name)
{
    for (; fields->name; fields++)
        if (strcmp(fields->name, name) == 0)
            return fields;
    return NULL;
}

static bool fail_unknown(struct sl_err *err, const char *key, const char *const *names)
{
    char advice[SL_NAME_ADVICE_BYTES];
    return sl_fail(err, SL_BAD_INPUT, "unknown key '%s'; %s", key,
                   sl_name_advice(advice, key, names));
}

static bool read_pair(struct experiment *e, int mapping, int pair, const struct field *fields,
                      void *object, struct sl_err *err)
{
    const char *names[FIELDS_MAX] = {NULL}, *key = sl_yaml_key(e->yaml, mapping, pair, err);
    if (!key)
        return false;
    const struct field *field = find(fields, key);
    for (int i = 0; fields[i].name; i++)
        names[i] = fields[i].name;
    if (!field)
        return fail_unknown(err, key, names) || sl_yaml_fail_key(e->yaml, mapping, pair, err);
    return field->read(e, sl_yaml_item(e->yaml, mapping, pair), key, (char *)object + field->offset,
                       err);
}

static bool has_key(struct experiment *e, int mapping, const char *name)
{
    for (int i = 0; i < sl_yaml_count(e->yaml, mapping); i++) {
        const char *key = sl_yaml_key(e->yaml, mapping, i, NULL);
        if (key && strcmp(key, name) == 0)
            return true;
    }
    return false;
}

static bool read_mapping(struct experiment *e, int node, const char *name,
                         const struct field *fields, void *object, struct sl_err *err)
{
    if (!sl_yaml_expect(e->yaml, node, SL_YAML_MAPPING, name, err))
        return false;
    for (int i = 0; i < sl_yaml_count(e->yaml, node); i++)
        if (!read_pair(e, node, i, fields, object, err))
            return false;
    for (; fields->name; fields++)
        if (!fields->is_optional && !has_key(e, node, fields->name)) {
            (void)sl_fail(err, SL_BAD_INPUT, "%s lacks '%s'", name, fields->name);
            return sl_yaml_fail(e->yaml, node, err);
        }
    return true;
}

/* Fails unless the list has 1 to so many items. */
static bool check_list(struct experiment *e, int node, const char *name, int most,
                       struct sl_err *err)
{
    if (!sl_yaml_expect(e->yaml, node, SL_YAML_LIST, name, err))
        return false;
    int count = sl_yaml_count(e->yaml, node);
    if (count > 0 && count <= most)
        return true;
    (void)sl_fail(err, SL_BAD_INPUT, "%s has %d items: expected 1 to %d", name, count, most);
    return sl_yaml_fail(e->yaml, node, err);
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool read_text(struct experiment *e, int node, const char *name, void *member,
                      struct sl_err *err)
{
    const char *text = sl_yaml_text(e->yaml, node, name, err);
    *(const char **)member = text;
    if (!text || text[0])
        return text != NULL;
    (void)sl_fail(err, SL_BAD_INPUT, "%s is empty", name);
    return sl_yaml_fail(e->yaml, node, err);
}

static bool read_number(struct experiment *e, int node, const char *name, double *value,
                        struct sl_err *err)
{
    const char *text = sl_yaml_text(e->yaml, node, name, err);
    if (text && !sl_number_parse(text, 0.0, 1e9, value)) {
        (void)sl_fail_number(err, name, text, 0.0, 1e9);
        return sl_yaml_fail(e->yaml, node, err);
    }
    return text != NULL;
}

/* An array of METRICS doubles. */
static bool read_metrics(struct experiment *e, int node, const char *name, void *member,
                         struct sl_err *err)
{
    const char *names[METRICS + 1] = {NULL};
    for (int m = 0; m < METRICS; m++)
        names[m] = metrics[m].name;
    if (!sl_yaml_expect(e->yaml, node, SL_YAML_MAPPING, name, err))
        return false;
    for (int i = 0; i < sl_yaml_count(e->yaml, node); i++) {
        const char *key = sl_yaml_key(e->yaml, node, i, err);
        int m = 0;
        while (key && m < METRICS && strcmp(names[m], key) != 0)
            m++;
        if (!key)
            return false;
        if (m == METRICS)
            return fail_unknown(err, key, names) || sl_yaml_fail_key(e->yaml, node, i, err);
        if (!read_number(e, sl_yaml_item(e->yaml, node, i), key, (double *)member + m, err))
            return false;
    }
    return true;
}

static bool read_seeds(struct experiment *e, int node, const char *name, void *member,
                       struct sl_err *err)
{
    (void)member;
    const char *text = sl_yaml_text(e->yaml, node, name, err);
    while (text && *(text += strspn(text, " "))) {
        char word[SL_NUMBER_TEXT];
        int64_t seed = 0;
        size_t bytes = strcspn(text, " ");
        (void)snprintf(word, sizeof word, "%.*s", (int)bytes, text);
        if (!sl_whole_parse(word, 0, 1e9, &seed) || e->seed_count == EXPERIMENT_SEEDS_MAX) {
            (void)sl_fail_value(err, name, text, "expected 1 to %d whole numbers between spaces",
                                EXPERIMENT_SEEDS_MAX);
            return sl_yaml_fail(e->yaml, node, err);
        }
        e->seeds[e->seed_count++] = (int)seed;
        text += bytes;
    }
    if (!text || e->seed_count > 0)
        return text != NULL;
    (void)sl_fail(err, SL_BAD_INPUT, "%s is empty", name);
    return sl_yaml_fail(e->yaml, node, err);
}

/* A name of a file or of a directory, not a path. */
static bool read_name(struct experiment *e, int node, const char *name, void *member,
                      struct sl_err *err)
{
    if (!read_text(e, node, name, member, err))
        return false;
    const char *text = *(const char **)member;
    if (!strchr(text, '/') && !strchr(text, ' ') && text[0] != '.' && text[0] != '-')
        return true;
    (void)sl_fail_value(err, name, text,
                        "expected a name that has no '/' or space and begins with neither '.' nor "
                        "'-'");
    return sl_yaml_fail(e->yaml, node, err);
}

/* What a value may be, and what such a value is called in an error. */
struct choices {
    const char *what, *const *names;
};

static bool read_one_of(struct experiment *e, int node, const char *name, struct choices choices,
                        void *member, struct sl_err *err)
{
    char advice[SL_NAME_ADVICE_BYTES];
    if (!read_text(e, node, name, member, err))
        return false;
    const char *text = *(const char **)member;
    for (const char *const *one = choices.names; *one; one++)
        if (strcmp(*one, text) == 0)
            return true;
    (void)sl_fail(err, SL_BAD_INPUT, "unknown %s '%s'; %s", choices.what, text,
                  sl_name_advice(advice, text, choices.names));
    return sl_yaml_fail(e->yaml, node, err);
}

static bool read_task(struct experiment *e, int node, const char *name, void *member,
                      struct sl_err *err)
{
    return read_one_of(e, node, name, (struct choices){"task", synthetic_task_names}, member, err);
}

static bool read_whole(struct experiment *e, int node, const char *name, void *member,
                       struct sl_err *err)
{
    int64_t value = 0;
    const char *text = sl_yaml_text(e->yaml, node, name, err);
    if (text && !sl_whole_parse(text, 1, 1e6, &value)) {
        (void)sl_fail_whole(err, name, text, 1, 1e6);
        return sl_yaml_fail(e->yaml, node, err);
    }
    *(int *)member = (int)value;
    return text != NULL;
}

/* Published or made, not both. */
static bool check_data(const struct experiment_data *d, struct sl_err *err)
{
    const struct synthetic_task *t = &d->task;
    bool has_numbers = t->lines && t->length && t->seed, has_any = t->lines || t->length || t->seed;
    if (d->origin ? !t->name && !has_any : t->name && has_numbers)
        return true;
    return sl_fail(err, SL_BAD_INPUT,
                   "data '%s': expected 'origin', or 'generate' with 'lines', 'length' and 'seed'",
                   d->file);
}

static bool read_data(struct experiment *e, int node, const char *name, void *member,
                      struct sl_err *err)
{
    static const struct field fields[] = {
        {"file", read_name, offsetof(struct experiment_data, file), false},
        {"origin", read_text, offsetof(struct experiment_data, origin), true},
        {"generate", read_task, offsetof(struct experiment_data, task.name), true},
        {"lines", read_whole, offsetof(struct experiment_data, task.lines), true},
        {"length", read_whole, offsetof(struct experiment_data, task.length), true},
        {"seed", read_whole, offsetof(struct experiment_data, task.seed), true},
        {"about", read_text, offsetof(struct experiment_data, about), true},
        {0}};
    (void)member;
    if (!check_list(e, node, name, EXPERIMENT_DATA_MAX, err))
        return false;
    for (int i = 0; i < sl_yaml_count(e->yaml, node); i++) {
        int item = sl_yaml_item(e->yaml, node, i);
        struct experiment_data *data = &e->data[e->data_count++];
        if (!read_mapping(e, item, "an item of data", fields, data, err))
            return false;
        if (!check_data(data, err))
            return sl_yaml_fail(e->yaml, item, err);
    }
    return true;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void forget(double values[METRICS])
{
    for (int m = 0; m < METRICS; m++)
        values[m] = (double)NAN;
}

static bool is_repeated(const struct experiment *e)
{
    const struct experiment_row *last = &e->rows[e->row_count - 1];
    for (const struct experiment_row *row = e->rows; row < last; row++)
        if (strcmp(row->name, last->name) == 0)
            return true;
    return false;
}

static bool read_row(struct experiment *e, int node, struct sl_err *err)
{
    static const struct field fields[] = {
        {"name", read_name, offsetof(struct experiment_row, name), false},
        {"train", read_text, offsetof(struct experiment_row, train), false},
        {"eval", read_text, offsetof(struct experiment_row, eval), true},
        {"paper", read_metrics, offsetof(struct experiment_row, paper), false},
        {0}};
    struct experiment_row *row = &e->rows[e->row_count++];
    forget(row->paper);
    if (!read_mapping(e, node, "a row", fields, row, err))
        return false;
    if (!is_repeated(e))
        return true;
    (void)sl_fail(err, SL_BAD_INPUT, "a second row is named '%s'", row->name);
    return sl_yaml_fail(e->yaml, node, err);
}

static bool read_rows(struct experiment *e, int node, const char *name, void *member,
                      struct sl_err *err)
{
    (void)member;
    if (!check_list(e, node, name, EXPERIMENT_ROWS_MAX, err))
        return false;
    for (int i = 0; i < sl_yaml_count(e->yaml, node); i++)
        if (!read_row(e, sl_yaml_item(e->yaml, node, i), err))
            return false;
    return true;
}

/* ---- figures --------------------------------------------------------------------------------- */

static bool read_points(struct experiment *e, int node, const char *name, void *member,
                        struct sl_err *err)
{
    static const char *const kinds[] = {"evaluations", "rows", NULL};
    const char *kind;
    if (!read_one_of(e, node, name, (struct choices){"kind of points", kinds}, &kind, err))
        return false;
    *(bool *)member = strcmp(kind, "rows") == 0;
    return true;
}

static bool check_axis(const struct experiment_figure *f, const char *axis, struct sl_err *err)
{
    const char *all[METRICS + 1] = {NULL};
    char advice[SL_NAME_ADVICE_BYTES];
    for (int m = 0; m < METRICS; m++)
        all[m] = metrics[m].name;
    const char *const *names = f->of_rows ? all : experiment_curve_columns;
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], axis) == 0)
            return true;
    return sl_fail(err, SL_BAD_INPUT, "figure '%s': unknown '%s'; %s", f->name, axis,
                   sl_name_advice(advice, axis, names));
}

static bool read_figures(struct experiment *e, int node, const char *name, void *member,
                         struct sl_err *err)
{
    static const struct field fields[] = {
        {"name", read_name, offsetof(struct experiment_figure, name), false},
        {"title", read_text, offsetof(struct experiment_figure, title), false},
        {"about", read_text, offsetof(struct experiment_figure, about), true},
        {"points", read_points, offsetof(struct experiment_figure, of_rows), false},
        {"x", read_text, offsetof(struct experiment_figure, x), false},
        {"y", read_text, offsetof(struct experiment_figure, y), false},
        {0}};
    (void)member;
    if (!check_list(e, node, name, EXPERIMENT_FIGURES_MAX, err))
        return false;
    for (int i = 0; i < sl_yaml_count(e->yaml, node); i++) {
        int item = sl_yaml_item(e->yaml, node, i);
        struct experiment_figure *f = &e->figures[e->figure_count++];
        if (!read_mapping(e, item, "a figure", fields, f, err))
            return false;
        if (!check_axis(f, f->x, err) || !check_axis(f, f->y, err))
            return sl_yaml_fail(e->yaml, item, err);
    }
    return true;
}

static bool read_file(struct experiment *e, const char *path, struct sl_err *err)
{
    static const struct field fields[] = {
        {"title", read_text, offsetof(struct experiment, title), false},
        {"paper", read_text, offsetof(struct experiment, paper), false},
        {"url", read_text, offsetof(struct experiment, url), true},
        {"about", read_text, offsetof(struct experiment, about), true},
        {"data", read_data, 0, false},
        {"train", read_text, offsetof(struct experiment, train), false},
        {"eval", read_text, offsetof(struct experiment, eval), true},
        {"quick", read_text, offsetof(struct experiment, quick), false},
        {"seeds", read_seeds, 0, false},
        {"tolerance", read_metrics, offsetof(struct experiment, tolerance), false},
        {"beside", read_text, offsetof(struct experiment, beside), true},
        {"figures", read_figures, 0, true},
        {"rows", read_rows, 0, false},
        {0}};
    int root = sl_yaml_root(e->yaml);
    if (root == 0)
        return sl_fail(err, SL_BAD_INPUT, "the file is empty") || sl_wrap_file(err, path, 0);
    return read_mapping(e, root, "the file", fields, e, err);
}

/* Every value of the paper has a tolerance, and those that `sluice eval` measures its arguments. */
static bool check(const struct experiment *e, struct sl_err *err)
{
    for (const struct experiment_row *row = e->rows; row < e->rows + e->row_count; row++)
        for (int m = 0; m < METRICS; m++)
            if (!isnan(row->paper[m]) && isnan(e->tolerance[m]))
                return sl_fail(err, SL_BAD_INPUT, "tolerance lacks %s, which row '%s' has",
                               metrics[m].name, row->name);
    if (e->beside && strcmp(e->beside, "first row") != 0)
        return sl_fail_value(err, "beside", e->beside, "expected 'first row', or nothing");
    for (int m = 0; m < METRICS; m++)
        if (!isnan(e->tolerance[m]) && !metrics[m].is_logged && !e->eval)
            return sl_fail(err, SL_BAD_INPUT, "%s needs 'eval'", metrics[m].name);
    return true;
}

/* PAPER/NAME of .../PAPER/NAME.yaml */
static void set_id(struct experiment *e, const char *path)
{
    const char *name = strrchr(path, '/');
    while (name && name > path && name[-1] != '/')
        name--;
    (void)snprintf(e->id, sizeof e->id, "%s", name ? name : path);
    char *dot = strrchr(e->id, '.');
    if (dot)
        *dot = '\0';
}

bool experiment_open(struct experiment *e, const char *path, struct sl_err *err)
{
    static const struct sl_yaml_kind kind = {.name = "the experiment",
                                             .expected = "the experiments of Sluice show the form",
                                             .bytes_max = 1 << 20};
    *e = (struct experiment){.yaml = sl_yaml_open(path, &kind, err)};
    forget(e->tolerance);
    set_id(e, path);
    if (e->yaml && read_file(e, path, err) && (check(e, err) || sl_wrap_file(err, path, 0)))
        return true;
    experiment_close(e);
    return false;
}

void experiment_close(struct experiment *e)
{
    sl_yaml_close(e->yaml);
    *e = (struct experiment){0};
}
