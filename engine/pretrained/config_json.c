/* config_json.c - members of config.json become hyper-parameters, row by row. */
#include "pretrained/config_json.h"

#include "base/comma_list.h"
#include "formats/json_io.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_MAX = 128 };

/* -- members ---------------------------------------------------------------------------------- */

/* The member at a path "a.b" of `length` characters; NULL: there is none, or it is null. */
static const json_t *member_at(const json_t *object, const char *path, size_t length)
{
    char key[KEY_MAX];
    for (const char *end = path + length; object && path < end;) {
        const size_t part = strcspn(path, ".|");
        (void)snprintf(key, sizeof key, "%.*s", (int)part, path);
        object = json_object_get(object, key);
        path += part + 1;
    }
    return json_is_null(object) ? NULL : object;
}

/* The first of the alternatives "a|b.c" that is there. */
static const json_t *member(const json_t *root, const char *key)
{
    const json_t *found = NULL;
    while (!found && *key) {
        const size_t length = strcspn(key, "|");
        found = member_at(root, key, length);
        key += length + (key[length] == '|');
    }
    return found;
}

static int first_name(const char *key)
{
    return (int)strcspn(key, "|");
}

static bool demand(const json_t *root, const struct sl_family_demand *row, struct sl_err *err)
{
    const json_t *value = member(root, row->key);
    if (!value)
        return true;
    json_auto_t *wanted = json_loads(row->value, JSON_DECODE_ANY, NULL);
    if (wanted && json_equal(value, wanted))
        return true;
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    sl_fail(err, SL_BAD_INPUT, "'%.*s' is %.64s, which is not supported: expected %s",
            first_name(row->key), row->key, text ? text : "?", row->value);
    free(text);
    return false;
}

/* -- hyper-parameters ------------------------------------------------------------------------- */

/* Choices in the words of Hugging Face's library: activation functions, pooling. */
static const struct {
    const char *theirs, *ours;
} choices[] = {{"gelu", "gelu"},
               {"gelu_new", "gelu_tanh"},
               {"gelu_pytorch_tanh", "gelu_tanh"},
               {"gelu_fast", "gelu_tanh"},
               {"relu", "relu"},
               {"silu", "silu"},
               {"swish", "silu"},
               {"tanh", "tanh"},
               {"cls", "first"},
               {"mean", "mean"}};

/* Ours is one of the row's. */
static bool set_choice(const struct sl_param *row, struct sl_published *p, const char *theirs,
                       struct sl_err *err)
{
    struct sl_err ignored;
    char list[256] = "";
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        struct sl_config trial = p->config;
        if (!sl_param_parse(row, &trial, choices[i].ours, &ignored))
            continue;
        if (strcmp(choices[i].theirs, theirs) == 0) {
            p->config = trial;
            return true;
        }
        sl_list_add(list, sizeof list, choices[i].theirs);
    }
    return sl_fail(err, SL_BAD_INPUT, "'%.64s' is not supported: expected one of: %s", theirs,
                   list);
}

static const struct sl_param *row_of(const struct sl_published *p, const char *hyper)
{
    return sl_param_find(p->arch->hypers, hyper);
}

static bool set(struct sl_published *p, const struct sl_family_fact *fact, struct sl_err *err)
{
    return sl_param_parse(row_of(p, fact->hyper), &p->config, fact->value, err);
}

static bool set_number(const struct sl_param *row, struct sl_published *p, const json_t *value,
                       const struct sl_family_field *field, struct sl_err *err)
{
    const bool is_flag = row->kind == SL_FLAG;
    if (is_flag ? !json_is_boolean(value) : !json_is_number(value))
        return sl_fail(err, SL_BAD_INPUT, "%s: expected %s", sl_json_type(value),
                       is_flag ? "true or false" : "a number");
    double number = is_flag ? (double)json_is_true(value) : json_number_value(value);
    if (field->divisor > 0)
        number /= field->divisor;
    if (strcmp(row->name, "context_length") == 0)
        number = fmin(number, row->max); /* models with rotary positions often allow more */
    return sl_param_set(row, &p->config, number, err);
}

static bool set_member(const struct sl_param *row, struct sl_published *p, const json_t *value,
                       const struct sl_family_field *field, struct sl_err *err)
{
    if (row->kind != SL_CHOICE)
        return set_number(row, p, value, field, err);
    if (!json_is_string(value))
        return sl_fail(err, SL_BAD_INPUT, "%s: expected a string", sl_json_type(value));
    return set_choice(row, p, json_string_value(value), err);
}

static bool read_field(const json_t *root, const struct sl_family_field *field,
                       struct sl_published *p, struct sl_err *err)
{
    const struct sl_param *row = row_of(p, field->hyper);
    const json_t *value = member(root, field->key);
    if (!value && !field->missing)
        return sl_fail(err, SL_BAD_INPUT, "'%.*s' is missing", first_name(field->key), field->key);
    if (!value)
        return !field->missing[0] ||
               set(p, &(struct sl_family_fact){field->hyper, field->missing}, err);
    return set_member(row, p, value, field, err) ||
           sl_wrap(err, "'%.*s'", first_name(field->key), field->key);
}

static bool set_facts(struct sl_published *p, const struct sl_family_fact *facts,
                      struct sl_err *err)
{
    for (; facts && facts->hyper; facts++)
        if (!set(p, facts, err))
            return false;
    return true;
}

/* -- labels ----------------------------------------------------------------------------------- */

/* "id2label": {"0": "negative", "1": "positive"}; without it there are "num_labels", or 2. */
static bool count_labels(const json_t *root, const json_t *names, int64_t *count,
                         struct sl_err *err)
{
    *count = names ? (int64_t)json_object_size(names) : 2;
    if (!names && member(root, "num_labels") &&
        !sl_json_whole(root, "num_labels", (struct sl_bounds){1, INT32_MAX}, count, err))
        return false;
    return (*count >= 1 && *count <= SL_CLASSES_MAX) ||
           sl_fail(err, SL_BAD_INPUT, "%lld labels: expected 1 to %d", (long long)*count,
                   SL_CLASSES_MAX);
}

/* A label's name, to be freed; Hugging Face's library calls it LABEL_3 where the file does not. */
static char *label_name(const json_t *names, int label, struct sl_err *err)
{
    char key[32];
    (void)snprintf(key, sizeof key, names ? "%d" : "LABEL_%d", label);
    const char *name = names ? sl_json_text(names, key, err) : key;
    if (!name) {
        sl_wrap(err, "'id2label'");
        return NULL;
    }
    const size_t bytes = strlen(name);
    char *copy = bytes >= 1 && bytes <= SL_LABEL_BYTES_MAX ? strdup(name) : NULL;
    if (!copy)
        sl_fail(err, SL_BAD_INPUT, "'id2label': label %d has %zu bytes: expected 1 to %d", label,
                bytes, SL_LABEL_BYTES_MAX);
    return copy;
}

/* A single label has a score of its own, as rerankers give it. */
static bool read_labels(const json_t *root, struct sl_published *p, struct sl_err *err)
{
    int64_t count;
    const json_t *names = member(root, "id2label");
    if (names && !json_is_object(names))
        return sl_fail(err, SL_BAD_INPUT, "'id2label' is %s: expected an object",
                       sl_json_type(names));
    if (!count_labels(root, names, &count, err))
        return false;
    p->labels = calloc((size_t)count, sizeof *p->labels);
    if (!p->labels)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %lld labels", (long long)count);
    p->config.classes = (int)count;
    p->config.multi_label = count == 1 && p->config.task == SL_TASK_CLASSIFICATION;
    for (int i = 0; i < p->config.classes; i++)
        if (!(p->labels[i] = label_name(names, i, err)))
            return false;
    return true;
}

static bool read_problem_type(const json_t *root, struct sl_published *p, struct sl_err *err)
{
    const json_t *value = member(root, "problem_type");
    if (!value)
        return true;
    for (int i = 0; sl_problem_types[i]; i++)
        if (json_is_string(value) && strcmp(sl_problem_types[i], json_string_value(value)) == 0) {
            p->config.multi_label = i || p->config.classes == 1;
            return true;
        }
    return sl_fail(err, SL_BAD_INPUT, "'problem_type' is '%.64s', which is not supported",
                   json_is_string(value) ? json_string_value(value) : sl_json_type(value));
}

/* -- the model -------------------------------------------------------------------------------- */

static bool find_family(const json_t *root, struct sl_published *p, struct sl_err *err)
{
    char list[SL_FAMILY_LIST];
    const char *type = sl_json_text(root, "model_type", err);
    if (!type)
        return false;
    p->family = sl_family_find(type);
    return p->family ||
           sl_fail(err, SL_BAD_INPUT, "'model_type' '%.64s' is not supported: expected one of: %s",
                   type, sl_family_list(list));
}

/* A class is named in "architectures"; a sentence encoder needs none. */
static bool find_task(const json_t *root, bool embeds, struct sl_published *p, struct sl_err *err)
{
    const json_t *first = json_array_get(json_object_get(root, "architectures"), 0);
    const char *name = json_string_value(first);
    const struct sl_family_task *tasks = p->family->tasks;
    if (embeds && tasks->task == SL_TASK_PRETRAINING) {
        p->task = tasks;
        return true;
    }
    p->task = name ? sl_family_task_find(p->family, name) : NULL;
    if (p->task)
        return true;
    char list[SL_FAMILY_LIST] = "";
    for (; tasks->architecture; tasks++)
        sl_list_add(list, sizeof list, tasks->architecture);
    return sl_fail(err, SL_BAD_INPUT, "'architectures' names '%.64s': expected one of: %s",
                   name ? name : "none", list);
}

/* Layers that see everything and others, if the file lists them, are as the architecture has
 * them. */
static bool check_layer_types(const json_t *root, const struct sl_published *p, struct sl_err *err)
{
    const json_t *types = member(root, "layer_types");
    const struct sl_config *c = &p->config;
    const int window = (int)sl_param_get(row_of(p, "window"), c);
    const int every = (int)sl_param_get(row_of(p, "global_attention_every"), c);
    for (int i = 0; types && i < c->depth; i++) {
        const char *type = json_string_value(json_array_get(types, (size_t)i));
        const bool local = window > 0 && i % every != 0;
        if (!type || strcmp(type, local ? "sliding_attention" : "full_attention") != 0)
            return sl_fail(err, SL_BAD_INPUT, "'layer_types'[%d] is '%.32s': expected '%s'", i,
                           type ? type : "none", local ? "sliding_attention" : "full_attention");
    }
    return true;
}

/* The first positions of some families are never used. */
static bool set_context(struct sl_published *p, struct sl_err *err)
{
    const struct sl_param *row = row_of(p, "context_length");
    const int unused = (int)sl_param_get(row_of(p, "position_offset"), &p->config);
    const int left = p->config.context_length - unused;
    if (left < row->min)
        return sl_fail(err, SL_BAD_INPUT,
                       "%d positions, of which the first %d are unused: expected at least %g",
                       p->config.context_length, unused, row->min + unused);
    p->config.context_length = left;
    return true;
}

static bool read_hypers(const json_t *root, struct sl_published *p, struct sl_err *err)
{
    const struct sl_family *family = p->family;
    struct sl_config *c = &p->config;
    if (!set_facts(p, family->facts, err))
        return false;
    for (const struct sl_family_field *field = family->fields; field->key; field++)
        if (!read_field(root, field, p, err))
            return false;
    if (family->ffn_widths > 0 && !member(root, "n_inner") &&
        !sl_param_set(row_of(p, "ffn_width"), c, (double)family->ffn_widths * c->width, err))
        return false;
    for (const struct sl_family_demand *row = family->demands; row->key; row++)
        if (!demand(root, row, err))
            return false;
    c->dropout = 0;
    return set_context(p, err) && set_facts(p, p->task->facts, err) &&
           check_layer_types(root, p, err);
}

bool sl_config_json_read(struct sl_published *p, const json_t *root, bool embeds,
                         struct sl_err *err)
{
    *p = (struct sl_published){0};
    p->arch = sl_arch_find("transformer");
    if (!find_family(root, p, err) || !find_task(root, embeds, p, err))
        return false;
    sl_config_set_defaults(p->arch, &p->config);
    p->config.task = p->task->task;
    if (!read_hypers(root, p, err))
        return false;
    if (sl_task_classifies(p->config.task) && !read_labels(root, p, err))
        return false;
    return p->config.task != SL_TASK_CLASSIFICATION || read_problem_type(root, p, err);
}

void sl_published_release(struct sl_published *p)
{
    for (int i = 0; p->labels && i < p->config.classes; i++)
        free(p->labels[i]);
    free(p->labels);
    sl_prompts_release(&p->prompts);
    *p = (struct sl_published){0};
}
