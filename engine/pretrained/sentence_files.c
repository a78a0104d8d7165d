/* sentence_files.c - modules.json, 1_Pooling/config.json and sentence_bert_config.json. */
#include "pretrained/sentence_files.h"

#include "base/file.h"
#include "formats/json_io.h"
#include "formats/prompts_json.h"

#include <jansson.h>
#include <string.h>

static const char modules_file[] = "modules.json";

bool sl_sentence_files_are(const char *directory)
{
    char path[SL_PATH_MAX];
    return sl_path_find(path, directory, modules_file);
}

static json_t *read_json(const char *path, struct sl_err *err)
{
    enum { BYTES_MAX = 16 << 20 };

    json_t *root = sl_json_open_foreign(path, BYTES_MAX, err);
    if (!root)
        sl_wrap(err, "'%s'", path);
    return root;
}

/* The config.json of a module; path: its own. */
static json_t *read_module_config(const char *directory, const char *module, char path[SL_PATH_MAX],
                                  struct sl_err *err)
{
    char folder[SL_PATH_MAX];
    return sl_path_join(folder, directory, module, err) &&
                   sl_path_join(path, folder, "config.json", err)
               ? read_json(path, err)
               : NULL;
}

static bool read_prompts(const char *directory, struct sl_published *p, struct sl_err *err)
{
    char path[SL_PATH_MAX];
    if (!sl_path_find(path, directory, "config_sentence_transformers.json"))
        return true;
    json_auto_t *root = read_json(path, err);
    return root && (sl_prompts_read(&p->prompts, root, err) || sl_wrap(err, "'%s'", path));
}

/* -- pooling ---------------------------------------------------------------------------------- */

/* Since version 5.4 a name, before that a flag for each mode. */
static const struct mode {
    const char *name, *flag;
    int pooling; /* -1: not supported */
} modes[] = {{"mean", "pooling_mode_mean_tokens", SL_POOLING_MEAN},
             {"cls", "pooling_mode_cls_token", SL_POOLING_FIRST},
             {"lasttoken", "pooling_mode_lasttoken", SL_POOLING_LAST},
             {"max", "pooling_mode_max_tokens", -1},
             {"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens", -1},
             {"weightedmean", "pooling_mode_weightedmean_tokens", -1}};

enum { MODES = sizeof modes / sizeof *modes };

static bool choose_by_name(const json_t *value, int *pooling, struct sl_err *err)
{
    const json_t *only = json_array_size(value) == 1 ? json_array_get(value, 0) : value;
    const char *name = json_string_value(only);
    int i = 0;
    while (name && i < MODES && strcmp(modes[i].name, name) != 0)
        i++;
    if (!name || i == MODES || modes[i].pooling < 0)
        return sl_fail(err, SL_BAD_INPUT,
                       "'pooling_mode' is '%.64s', which is not supported: expected mean, cls or "
                       "lasttoken",
                       name ? name : sl_json_type(value));
    *pooling = modes[i].pooling;
    return true;
}

static bool choose_by_flags(const json_t *root, int *pooling, struct sl_err *err)
{
    const struct mode *chosen = NULL;
    for (int i = 0; i < MODES; i++) {
        if (!json_is_true(json_object_get(root, modes[i].flag)))
            continue;
        if (chosen || modes[i].pooling < 0)
            return sl_fail(err, SL_BAD_INPUT, "'%s' is not supported%s%s", modes[i].flag,
                           chosen ? " together with " : "", chosen ? chosen->flag : "");
        chosen = &modes[i];
    }
    if (!chosen)
        return sl_fail(err, SL_BAD_INPUT, "no pooling mode is true");
    *pooling = chosen->pooling;
    return true;
}

static bool choose_pooling(const json_t *root, int *pooling, struct sl_err *err)
{
    const json_t *name = json_object_get(root, "pooling_mode");
    return name ? choose_by_name(name, pooling, err) : choose_by_flags(root, pooling, err);
}

/* A prompt of no characters has no tokens to leave out. */
static bool check_prompts(const json_t *root, const struct sl_prompts *prompts, struct sl_err *err)
{
    if (!json_is_false(json_object_get(root, "include_prompt")))
        return true;
    for (int i = 0; i < prompts->count; i++)
        if (prompts->list[i].text[0])
            return sl_fail(err, SL_BAD_INPUT,
                           "'include_prompt' is false, which is not supported with prompts, such "
                           "as '%s'",
                           prompts->list[i].name);
    return true;
}

static bool read_pooling(const char *directory, const char *module, struct sl_published *p,
                         struct sl_err *err)
{
    char path[SL_PATH_MAX];
    json_auto_t *root = read_module_config(directory, module, path, err);
    bool ok = root && choose_pooling(root, &p->config.pooling, err) &&
              check_prompts(root, &p->prompts, err);
    return ok || sl_wrap(err, "'%s'", path);
}

/* -- modules ---------------------------------------------------------------------------------- */

/* The last part of "sentence_transformers.models.Pooling". */
static const char *class_of(const json_t *module)
{
    const char *type = json_string_value(json_object_get(module, "type"));
    const char *last = type ? strrchr(type, '.') : NULL;
    return last ? last + 1 : type ? type : "";
}

static const char masked_transformer[] = "MLMTransformer";

bool sl_sentence_files_are_sparse(const char *directory)
{
    char path[SL_PATH_MAX];
    struct sl_err ignored;
    json_auto_t *modules =
        sl_path_find(path, directory, modules_file) ? read_json(path, &ignored) : NULL;
    for (size_t i = 0; i < json_array_size(modules); i++)
        if (strcmp(class_of(json_array_get(modules, i)), masked_transformer) == 0)
            return true;
    return false;
}

/* SPLADE: the largest of log(1 + max(0, logit)), which is what a run computes. */
static bool check_sparse_pooling(const char *directory, const char *module, struct sl_err *err)
{
    static const char *const wanted[][2] = {{"pooling_strategy", "max"},
                                            {"activation_function", "relu"}};
    char path[SL_PATH_MAX];
    json_auto_t *root = read_module_config(directory, module, path, err);
    if (!root)
        return false;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const char *text = json_string_value(json_object_get(root, wanted[i][0]));
        if (text && strcmp(text, wanted[i][1]) != 0)
            return sl_fail(err, SL_BAD_INPUT, "'%s': '%s' is '%.32s', which is not supported", path,
                           wanted[i][0], text);
    }
    return true;
}

static bool read_module(const char *directory, const json_t *module, struct sl_published *p,
                        struct sl_err *err)
{
    const char *name = class_of(module);
    const char *path = json_string_value(json_object_get(module, "path"));
    const bool is_sparse = strcmp(name, "SpladePooling") == 0;
    if (strcmp(name, "Transformer") == 0 || strcmp(name, "Normalize") == 0 ||
        strcmp(name, masked_transformer) == 0)
        return true;
    if (strcmp(name, "Pooling") != 0 && !is_sparse)
        return sl_fail(err, SL_BAD_INPUT, "%s: the module '%.64s' is not supported", modules_file,
                       name);
    if (!path || strstr(path, "..") || path[0] == '/')
        return sl_fail(err, SL_BAD_INPUT, "%s: 'path' is '%.64s': expected a directory within it",
                       modules_file, path ? path : "none");
    return is_sparse ? check_sparse_pooling(directory, path, err)
                     : read_pooling(directory, path, p, err);
}

/* The member of a file, which both may be missing: then *length stays. */
static bool read_length_of(const char *directory, const char *name, const char *key,
                           int64_t *length, struct sl_err *err)
{
    char path[SL_PATH_MAX];
    if (!sl_path_find(path, directory, name))
        return true;
    json_auto_t *root = read_json(path, err);
    const json_t *value = json_object_get(root, key);
    if (!value || json_is_null(value))
        return root;
    const double number = json_number_value(value);
    if (!json_is_number(value) || number < 2)
        return sl_fail(err, SL_BAD_INPUT, "'%s': '%s' is %s: expected a number from 2 on", path,
                       key, json_is_number(value) ? "too small" : sl_json_type(value));
    *length = number < INT32_MAX ? (int64_t)number : INT32_MAX;
    return true;
}

/* Texts are cut here, whatever tokenizer.json says. Since version 5.4 it is the tokenizer's length,
 * which a model without one has as 1e30. */
static bool read_length(const char *directory, struct sl_published *p, struct sl_err *err)
{
    int64_t length = INT32_MAX;
    const int max = p->config.context_length;
    if (!read_length_of(directory, "tokenizer_config.json", "model_max_length", &length, err) ||
        !read_length_of(directory, "sentence_bert_config.json", "max_seq_length", &length, err))
        return false;
    p->config.context_length = length < max ? (int)length : max;
    return true;
}

bool sl_sentence_files_read(const char *directory, struct sl_published *p, struct sl_err *err)
{
    char path[SL_PATH_MAX];
    if (!sl_path_find(path, directory, modules_file))
        return sl_fail(err, SL_NOT_FOUND, "%s is missing", modules_file);
    json_auto_t *modules = read_json(path, err);
    if (!modules || !read_prompts(directory, p, err))
        return false;
    if (!json_is_array(modules))
        return sl_fail(err, SL_BAD_INPUT, "%s is %s: expected an array", modules_file,
                       sl_json_type(modules));
    size_t i;
    json_t *module;
    json_array_foreach (modules, i, module) {
        if (!read_module(directory, module, p, err))
            return false;
    }
    return read_length(directory, p, err);
}
