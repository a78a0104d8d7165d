/* sentence_files.c - modules.json, 1_Pooling/config.json and sentence_bert_config.json. */
#include "pretrained/sentence_files.h"

#include "base/file.h"
#include "formats/json_io.h"

#include <jansson.h>
#include <string.h>

static const char modules_file[] = "modules.json";

bool sl_sentence_files_are(const char *directory)
{
    char path[SL_PATH_MAX];
    return sl_path_find(path, directory, modules_file);
}

/* A JSON file, of an object or an array; NULL on failure. */
static json_t *read_json(const char *path, struct sl_err *err)
{
    enum { BYTES_MAX = 1 << 20 };

    json_error_t error;
    struct sl_map map;
    json_t *root = NULL;
    if (!sl_map_open(&map, path, err))
        return NULL;
    if (map.size > BYTES_MAX)
        sl_fail(err, SL_BAD_INPUT, "'%s': %zu bytes: expected at most %d", path, map.size,
                BYTES_MAX);
    else if (!(root = json_loadb(map.data, map.size, JSON_REJECT_DUPLICATES, &error)))
        sl_fail(err, SL_BAD_INPUT, "'%s' line %d: %s", path, error.line, error.text);
    sl_map_close(&map);
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

/* -- pooling ---------------------------------------------------------------------------------- */

static const struct mode {
    const char *key;
    int pooling; /* -1: not supported */
} modes[] = {
    {"pooling_mode_mean_tokens", SL_POOLING_MEAN}, {"pooling_mode_cls_token", SL_POOLING_FIRST},
    {"pooling_mode_lasttoken", SL_POOLING_LAST},   {"pooling_mode_max_tokens", -1},
    {"pooling_mode_mean_sqrt_len_tokens", -1},     {"pooling_mode_weightedmean_tokens", -1}};

static bool choose_pooling(const json_t *root, int *pooling, struct sl_err *err)
{
    const struct mode *chosen = NULL;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        if (!json_is_true(json_object_get(root, modes[i].key)))
            continue;
        if (chosen || modes[i].pooling < 0)
            return sl_fail(err, SL_BAD_INPUT, "'%s' is not supported%s%s", modes[i].key,
                           chosen ? " together with " : "", chosen ? chosen->key : "");
        chosen = &modes[i];
    }
    if (!chosen)
        return sl_fail(err, SL_BAD_INPUT, "no pooling mode is true");
    *pooling = chosen->pooling;
    return true;
}

static bool read_pooling(const char *directory, const char *module, int *pooling,
                         struct sl_err *err)
{
    char path[SL_PATH_MAX];
    json_auto_t *root = read_module_config(directory, module, path, err);
    return root && (choose_pooling(root, pooling, err) || sl_wrap(err, "'%s'", path));
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
                     : read_pooling(directory, path, &p->config.pooling, err);
}

/* Texts are cut here, whatever tokenizer.json says. */
static bool read_length(const char *directory, struct sl_published *p, struct sl_err *err)
{
    char path[SL_PATH_MAX];
    int64_t length;
    const int max = p->config.context_length;
    if (!sl_path_find(path, directory, "sentence_bert_config.json"))
        return true;
    json_auto_t *root = read_json(path, err);
    if (!root)
        return false;
    if (json_is_null(json_object_get(root, "max_seq_length")))
        return true;
    if (!sl_json_whole(root, "max_seq_length", (struct sl_bounds){2, INT32_MAX}, &length, err))
        return sl_wrap(err, "'%s'", path);
    p->config.context_length = length < max ? (int)length : max;
    return true;
}

/* A prompt that every text gets would be missing. */
static bool check_prompts(const char *directory, struct sl_err *err)
{
    char path[SL_PATH_MAX];
    if (!sl_path_find(path, directory, "config_sentence_transformers.json"))
        return true;
    json_auto_t *root = read_json(path, err);
    const char *name = json_string_value(json_object_get(root, "default_prompt_name"));
    if (name)
        return sl_fail(err, SL_BAD_INPUT,
                       "'%s': 'default_prompt_name' is '%.64s', which is not supported: set it to "
                       "null, and put the prompt into the texts",
                       path, name);
    return root;
}

bool sl_sentence_files_read(const char *directory, struct sl_published *p, struct sl_err *err)
{
    char path[SL_PATH_MAX];
    if (!sl_path_find(path, directory, modules_file))
        return sl_fail(err, SL_NOT_FOUND, "%s is missing", modules_file);
    json_auto_t *modules = read_json(path, err);
    if (!modules)
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
    return check_prompts(directory, err) && read_length(directory, p, err);
}
