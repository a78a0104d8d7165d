/* model_config.c - config.json to struct and back: one function reads a member, one prints it. */
#include "checkpoint/model_config.h"
#include "base/comma_list.h"

#include "base/byte_string.h"
#include "checkpoint/operating_points.h"
#include "formats/json_io.h"
#include "formats/vocabulary.h"
#include "tokenizer/tokenizer_kinds.h"

#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS_MAX = 64, TRAINING_BYTES_MAX = 1 << 18 };

static const char bf16_loss[] = "bf16_loss_increase", int8_loss[] = "int8_loss_increase";
static const char problem_type[] = "problem_type";
static const char truncation_side[] = "truncation_side";
static const char *const truncation_sides[] = {"right", "left", NULL};

/* -- reading --------------------------------------------------------------------------- */

/* Which of the choices (ends with NULL) a member is. */
static bool read_choice(const json_t *object, const char *key, const char *const *choices, int *out,
                        struct sl_err *err)
{
    const char *text = sl_json_text(object, key, err);
    if (!text)
        return false;
    char list[256] = "";
    for (int i = 0; choices[i]; i++) {
        if (strcmp(choices[i], text) == 0) {
            *out = i;
            return true;
        }
        sl_list_add_quoted(list, sizeof list, choices[i]);
    }
    return sl_fail(err, SL_CORRUPT, "invalid '%s' '%.64s': expected one of: %s", key, text, list);
}

static bool read_arch(struct sl_model_config *model_config, const json_t *root, struct sl_err *err)
{
    char list[SL_ARCH_LIST];
    const char *name = sl_json_text(root, "architecture", err);
    if (!name)
        return false;
    model_config->arch = sl_arch_find(name);
    return model_config->arch ||
           sl_fail(err, SL_CORRUPT, "unknown architecture '%.64s': expected one of: %s", name,
                   sl_arch_list(SL_COMPLETES | SL_CLASSIFIES, list));
}

static bool read_task(struct sl_model_config *model_config, const json_t *root, struct sl_err *err)
{
    int task = 0;
    if (!read_choice(root, "task", sl_task_names, &task, err))
        return false;
    model_config->hyper.task = (enum sl_task)task;
    return true;
}

static bool read_label(struct sl_model_config *model_config, const json_t *value, int index,
                       struct sl_err *err)
{
    const char *text = json_string_value(value);
    if (!text || !*text || json_string_length(value) > SL_LABEL_BYTES_MAX)
        return sl_fail(err, SL_CORRUPT, "labels: item %d is %s: expected a string of 1 to %d bytes",
                       index, text ? "of another length" : sl_json_type(value), SL_LABEL_BYTES_MAX);
    const char *control = sl_find_control(text, json_string_length(value));
    if (control)
        return sl_fail(err, SL_CORRUPT, "labels: item %d contains the control character 0x%02x",
                       index, (unsigned)*control);
    for (int i = 0; i < index; i++) {
        assert(model_config->labels[i]);
        if (strcmp(model_config->labels[i], text) == 0)
            return sl_fail(err, SL_CORRUPT, "labels: '%s' appears twice", text);
    }
    model_config->labels[index] = strdup(text);
    model_config->hyper.classes = index + 1;
    return model_config->labels[index] || sl_fail(err, SL_NO_MEMORY, "no memory for labels");
}

/* Only classifiers have labels. */
static bool read_labels(struct sl_model_config *model_config, const json_t *root,
                        struct sl_err *err)
{
    const json_t *list = json_object_get(root, "labels");
    bool wanted = sl_task_classifies(model_config->hyper.task);
    size_t count = json_array_size(list);
    if (!wanted)
        return !list || sl_fail(err, SL_CORRUPT, "'labels' is for classification only");
    if (!json_is_array(list) || count < 1 || count > SL_CLASSES_MAX)
        return sl_fail(err, SL_CORRUPT, "'labels' is %s of %zu: expected an array of 1 to %d",
                       sl_json_type(list), count, SL_CLASSES_MAX);
    model_config->labels = calloc(count, sizeof *model_config->labels);
    if (!model_config->labels)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %zu labels", count);
    bool ok = true;
    for (size_t i = 0; i < count && ok; i++)
        ok = read_label(model_config, json_array_get(list, i), (int)i, err);
    return ok;
}

/* Hugging Face's name and values. Missing: a text has one label. */
static bool read_problem_type(struct sl_model_config *model_config, const json_t *root,
                              struct sl_err *err)
{
    int type = 0;
    if (!json_object_get(root, problem_type))
        return true;
    if (model_config->hyper.task != SL_TASK_CLASSIFICATION)
        return sl_fail(err, SL_CORRUPT, "'%s' is for classification only", problem_type);
    if (!read_choice(root, problem_type, sl_problem_types, &type, err))
        return false;
    model_config->hyper.multi_label = type == 1;
    return true;
}

static bool read_number(const struct sl_param *row, void *object, const json_t *value,
                        struct sl_err *err)
{
    static const char *const wanted[] = {[SL_INTEGER] = "a whole number",
                                         [SL_REAL] = "a real number",
                                         [SL_CHOICE] = "a string",
                                         [SL_FLAG] = "true or false"};
    bool right[] = {[SL_INTEGER] = json_is_integer(value),
                    [SL_REAL] = json_is_number(value),
                    [SL_CHOICE] = json_is_string(value),
                    [SL_FLAG] = json_is_boolean(value)};
    if (!right[row->kind])
        return sl_fail(err, SL_CORRUPT, "'%s' is %s: expected %s", row->name, sl_json_type(value),
                       wanted[row->kind]);
    if (row->kind == SL_CHOICE)
        return sl_param_parse(row, object, json_string_value(value), err);
    double number = row->kind == SL_FLAG ? json_is_true(value) : json_number_value(value);
    return sl_param_set(row, object, number, err);
}

/* Members of an object by the rows of a table that are for this task. A missing member gets its
 * default, because the file may be older. */
static bool read_numbers(const struct sl_param *rows, void *object, json_t *members,
                         enum sl_task task, struct sl_err *err)
{
    const char *keys[NUMBERS_MAX + 1];
    int count = 0;
    sl_params_set_defaults(rows, object);
    for (const struct sl_param *r = rows; r->name; r++) {
        assert(count < NUMBERS_MAX);
        if (sl_hyper_is_for(r, task))
            keys[count++] = r->name;
    }
    keys[count] = NULL;
    bool ok = sl_json_keys(members, keys, err);
    for (const struct sl_param *r = rows; r->name && ok; r++) {
        const json_t *value = json_object_get(members, r->name);
        ok = !value || read_number(r, object, value, err);
    }
    return ok;
}

static bool read_hypers(struct sl_model_config *model_config, const json_t *root,
                        struct sl_err *err)
{
    json_t *hyper = sl_json_object(root, "hyperparameters", err);
    return hyper && (read_numbers(model_config->arch->hypers, &model_config->hyper, hyper,
                                  model_config->hyper.task, err) ||
                     sl_wrap(err, "hyperparameters"));
}

/* The vocabulary's size comes last of the sizes: only now can they be checked together. */
static bool read_vocab(struct sl_model_config *model_config, const json_t *root, struct sl_err *err)
{
    int64_t vocab;
    if (!sl_json_whole(root, "vocab_size", (struct sl_bounds){1, SL_VOCAB_MAX}, &vocab, err))
        return false;
    model_config->hyper.vocab = (int)vocab;
    return sl_config_check(model_config->arch, &model_config->hyper, err);
}

static bool read_flag(bool *out, const json_t *object, const char *key, struct sl_err *err)
{
    const json_t *value = json_object_get(object, key);
    if (!value)
        return true;
    if (!json_is_boolean(value))
        return sl_fail(err, SL_CORRUPT, "'%s' is %s: expected true or false", key,
                       sl_json_type(value));
    *out = json_is_true(value);
    return true;
}

/* The tokenizer kind as a static string. */
static bool read_kind(const char **out, const json_t *tokenizer, struct sl_err *err)
{
    enum { KINDS_MAX = 16 };

    const char *kinds[KINDS_MAX + 1] = {0};
    for (int i = 0; i < KINDS_MAX && sl_tokenizer_kind_name(i); i++)
        kinds[i] = sl_tokenizer_kind_name(i);
    int kind = 0;
    if (!read_choice(tokenizer, "kind", kinds, &kind, err))
        return false;
    *out = kinds[kind];
    return true;
}

/* Older files of classifiers have no side: it was right. Of other models only those have one that
 * were imported; a classifier that starts from the rest keeps the end of a text, where a conclusion
 * often is. */
static bool read_truncation_side(struct sl_model_config *model_config, const json_t *tokenizer,
                                 struct sl_err *err)
{
    const bool classifies = sl_task_classifies(model_config->hyper.task);
    int side = 0;
    model_config->truncation_side = classifies ? SL_TRUNCATE_RIGHT : SL_TRUNCATE_LEFT;
    if (!json_object_get(tokenizer, truncation_side))
        return true;
    bool ok = read_choice(tokenizer, truncation_side, truncation_sides, &side, err);
    model_config->truncation_side = (enum sl_truncation)(side + SL_TRUNCATE_RIGHT);
    return ok;
}

/* Which keys there may be depends on the kind and the task. A missing "lowercase" is true. */
static bool read_tokenizer(struct sl_model_config *model_config, const json_t *root,
                           struct sl_err *err)
{
    const char *keys[] = {"kind", "file", NULL, NULL, NULL};
    int count = 2;
    json_t *tokenizer = sl_json_object(root, "tokenizer", err);
    if (!tokenizer)
        return false;
    if (!read_kind(&model_config->tokenizer, tokenizer, err))
        return sl_wrap(err, "tokenizer");
    const char *const files[] = {sl_vocabulary_file(model_config->tokenizer), NULL};
    int file = 0;
    model_config->lower = sl_vocabulary_splits(model_config->tokenizer);
    if (model_config->lower)
        keys[count++] = "lowercase";
    if (model_config->hyper.task != SL_TASK_COMPLETION)
        keys[count] = truncation_side;
    bool ok = sl_json_keys(tokenizer, keys, err) &&
              read_choice(tokenizer, "file", files, &file, err) &&
              read_flag(&model_config->lower, tokenizer, "lowercase", err) &&
              read_truncation_side(model_config, tokenizer, err);
    return ok || sl_wrap(err, "tokenizer");
}

static bool read_policy(struct sl_model_config *model_config, const json_t *root,
                        struct sl_err *err)
{
    const struct sl_param *rows = sl_policy_rows(model_config->arch);
    model_config->policy = sl_policy_defaults(model_config->arch);
    if (!json_object_get(root, "inference"))
        return true;
    json_t *inference = sl_json_object(root, "inference", err);
    return inference && (read_numbers(rows, model_config->policy.own, inference,
                                      model_config->hyper.task, err) ||
                         sl_wrap(err, "inference"));
}

/* The members of precisions that have a cost. */
static const char *const cost_members[SL_PRECISION_COUNT] =
    {[SL_PRECISION_BF16] = bf16_loss, [SL_PRECISION_INT8] = int8_loss};

static bool read_costs(struct sl_model_config *model_config, const json_t *root, struct sl_err *err)
{
    for (int p = SL_PRECISION_BF16; p < SL_PRECISION_COUNT; p++) {
        const json_t *value = json_object_get(root, cost_members[p]);
        if (value && !json_is_number(value))
            return sl_fail(err, SL_CORRUPT, "'%s' is %s: expected a number", cost_members[p],
                           sl_json_type(value));
        model_config->precision_costs[p] =
            (struct sl_precision_cost){.measured = value, .increase = json_number_value(value)};
    }
    return true;
}

static bool read_training(struct sl_model_config *model_config, const json_t *root,
                          struct sl_err *err)
{
    if (!json_object_get(root, "training"))
        return true;
    const json_t *training = sl_json_object(root, "training", err);
    if (!training)
        return false;
    model_config->training = sl_json_print_line(training, SL_JSON_SHORT, err);
    if (!model_config->training)
        return false;
    const size_t bytes = strlen(model_config->training); /* a response has it */
    return bytes <= TRAINING_BYTES_MAX ||
           sl_fail(err, SL_CORRUPT, "'training' has %zu bytes: expected at most %d", bytes,
                   TRAINING_BYTES_MAX);
}

static bool read_points(struct sl_model_config *model_config, const json_t *root,
                        struct sl_err *err)
{
    return sl_operating_points_read(root, model_config->arch, model_config->operating_points,
                                    &model_config->operating_point_count, err);
}

static bool read_base(struct sl_model_config *model_config, const json_t *root, struct sl_err *err)
{
    return sl_base_reference_read(&model_config->base, root, err);
}

static bool read_chat(struct sl_model_config *model_config, const json_t *root, struct sl_err *err)
{
    return sl_chat_member_read(&model_config->chat, root, err);
}

static bool read_prompts(struct sl_model_config *model_config, const json_t *root,
                         struct sl_err *err)
{
    if (!sl_prompts_read(&model_config->prompts, root, err))
        return false;
    return model_config->prompts.count == 0 || model_config->hyper.task == SL_TASK_PRETRAINING ||
           sl_fail(err, SL_CORRUPT, "'%s' is for models that give embeddings", sl_prompts_member);
}

/* The members in the order in which they need each other. */
static bool read_members(struct sl_model_config *model_config, const json_t *root,
                         struct sl_err *err)
{
    static bool (*const readers[])(struct sl_model_config *, const json_t *, struct sl_err *) = {
        read_arch,  read_task,      read_labels,  read_problem_type, read_hypers,
        read_vocab, read_tokenizer, read_policy,  read_points,       read_costs,
        read_base,  read_chat,      read_prompts, read_training};
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++)
        if (!readers[i](model_config, root, err))
            return false;
    return true;
}

bool sl_model_config_read(struct sl_model_config *model_config, const char *text, size_t bytes,
                          struct sl_err *err)
{
    static const char *const keys[] = {"format",
                                       "architecture",
                                       "task",
                                       "labels",
                                       problem_type,
                                       "hyperparameters",
                                       "vocab_size",
                                       "tokenizer",
                                       "inference",
                                       "operating_points",
                                       bf16_loss,
                                       int8_loss,
                                       "base",
                                       "chat",
                                       sl_prompts_member,
                                       sl_default_prompt_member,
                                       "training",
                                       NULL};
    json_auto_t *root = sl_json_parse(text, bytes, err);
    struct sl_model_config fresh = {0};
    /* The format first, because another format may have other keys. */
    bool ok = root && sl_json_format(root, err) && sl_json_keys(root, keys, err) &&
              read_members(&fresh, root, err);
    if (ok)
        *model_config = fresh;
    else
        sl_model_config_release(&fresh);
    return ok;
}

void sl_model_config_release(struct sl_model_config *model_config)
{
    for (int i = 0; model_config->labels && i < model_config->hyper.classes; i++)
        free(model_config->labels[i]);
    free(model_config->labels);
    free(model_config->training);
    sl_prompts_release(&model_config->prompts);
    *model_config = (struct sl_model_config){0};
}

/* -- printing -------------------------------------------------------------------------- */

static json_t *print_training(const struct sl_model_config *model_config, struct sl_err *err)
{
    if (!model_config->training)
        return json_object();
    json_t *training = sl_json_parse(model_config->training, strlen(model_config->training), err);
    if (!training)
        sl_wrap(err, "training");
    return training;
}

/* Nothing for an architecture without a policy. */
static bool print_policy(json_t *root, const struct sl_model_config *model_config)
{
    const struct sl_param *rows = sl_policy_rows(model_config->arch);
    return !rows->name ||
           json_object_set_new(root, "inference",
                               sl_json_numbers(rows, model_config->policy.own, 0)) == 0;
}

static bool print_costs(json_t *root, const struct sl_model_config *model_config)
{
    for (int p = SL_PRECISION_BF16; p < SL_PRECISION_COUNT; p++) {
        const struct sl_precision_cost *cost = &model_config->precision_costs[p];
        if (cost->measured &&
            json_object_set_new(root, cost_members[p], json_real(cost->increase)) != 0)
            return false;
    }
    return true;
}

static bool print_labels(json_t *root, const struct sl_model_config *model_config)
{
    json_t *labels = json_array();
    bool ok = true;
    for (int i = 0; i < model_config->hyper.classes && ok; i++)
        ok = json_array_append_new(labels, json_string(model_config->labels[i])) == 0;
    if (ok && sl_task_classifies(model_config->hyper.task))
        return json_object_set_new(root, "labels", labels) == 0;
    json_decref(labels);
    return ok;
}

static bool print_problem_type(json_t *root, const struct sl_model_config *model_config)
{
    return !model_config->hyper.multi_label ||
           json_object_set_new(root, problem_type, json_string(sl_problem_types[true])) == 0;
}

static bool has_side(const struct sl_model_config *model_config)
{
    const enum sl_task task = model_config->hyper.task;
    return sl_task_classifies(task) ||
           (task == SL_TASK_PRETRAINING && model_config->truncation_side == SL_TRUNCATE_RIGHT);
}

static json_t *print_tokenizer(const struct sl_model_config *model_config)
{
    const char *kind = model_config->tokenizer, *file = sl_vocabulary_file(kind);
    bool left = model_config->truncation_side == SL_TRUNCATE_LEFT;
    json_t *object = json_pack("{s:s, s:s}", "kind", kind, "file", file);
    bool ok = !sl_vocabulary_splits(kind) ||
              json_object_set_new(object, "lowercase", json_boolean(model_config->lower)) == 0;
    ok = ok &&
         (!has_side(model_config) ||
          json_object_set_new(object, truncation_side, json_string(truncation_sides[left])) == 0);
    if (ok)
        return object;
    json_decref(object);
    return NULL;
}

static char *card_print(const struct sl_model_config *model_config, struct sl_err *err)
{
    json_t *training = print_training(model_config, err);
    if (!training)
        return NULL;
    json_auto_t *root = json_pack("{s:s, s:s, s:s, s:o, s:i, s:o, s:o}", "format", sl_format,
                                  "architecture", model_config->arch->name, "task",
                                  sl_task_name(model_config->hyper.task), "hyperparameters",
                                  sl_json_numbers(model_config->arch->hypers, &model_config->hyper,
                                                  1u << model_config->hyper.task),
                                  "vocab_size", model_config->hyper.vocab, "tokenizer",
                                  print_tokenizer(model_config), "training", training);
    if (root && print_policy(root, model_config) &&
        sl_operating_points_print(root, model_config->arch, model_config->operating_points,
                                  model_config->operating_point_count) &&
        print_costs(root, model_config) && print_labels(root, model_config) &&
        print_problem_type(root, model_config) &&
        sl_base_reference_print(root, &model_config->base) &&
        sl_chat_member_print(root, &model_config->chat) &&
        sl_prompts_print(root, &model_config->prompts))
        return sl_json_print(root, SL_JSON_SHORT, err);
    sl_fail(err, SL_NO_MEMORY, "no memory for the description of a model");
    return NULL;
}

char *sl_model_config_print(const struct sl_model_config *model_config, struct sl_err *err)
{
    char *text = card_print(model_config, err);
    struct sl_model_config again = {0};
    if (text && !sl_model_config_read(&again, text, strlen(text), err)) {
        free(text);
        text = NULL;
    }
    sl_model_config_release(&again);
    return text;
}
