/* sentence_modules.c - modules.json, and the configuration of each module. */
#include "pretrained/sentence_modules.h"

#include "base/file.h"
#include "formats/json_io.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static const char modules_file[] = "modules.json";

bool sl_sentence_modules_are(const char *directory)
{
    char path[SL_PATH_MAX];
    return sl_path_find(path, directory, modules_file);
}

json_t *sl_sentence_json_open(const char *path, struct sl_err *err)
{
    enum { BYTES_MAX = 16 << 20 };

    json_t *root = sl_json_open_foreign(path, BYTES_MAX, err);
    if (!root)
        sl_wrap(err, "'%s'", path);
    return root;
}

struct reading {
    const char *directory;
    struct sl_published *p;
    int features;    /* of the vector so far */
    int dense_count; /* layers so far */
};

/* The config.json of a module; path: its own. */
static json_t *open_config(const struct reading *r, const char *module, char path[SL_PATH_MAX],
                           struct sl_err *err)
{
    char folder[SL_PATH_MAX];
    return sl_path_join(folder, r->directory, module, err) &&
                   sl_path_join(path, folder, "config.json", err)
               ? sl_sentence_json_open(path, err)
               : NULL;
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

static bool read_pooling(struct reading *r, const char *module, struct sl_err *err)
{
    char path[SL_PATH_MAX];
    json_auto_t *root = open_config(r, module, path, err);
    bool ok = root && choose_pooling(root, &r->p->config.pooling, err) &&
              check_prompts(root, &r->p->prompts, err);
    return ok || sl_wrap(err, "'%s'", path);
}

/* SPLADE: the largest of log(1 + max(0, logit)), which is what a run computes. */
static bool check_sparse_pooling(struct reading *r, const char *module, struct sl_err *err)
{
    static const char *const wanted[][2] = {{"pooling_strategy", "max"},
                                            {"activation_function", "relu"}};
    char path[SL_PATH_MAX];
    json_auto_t *root = open_config(r, module, path, err);
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

/* -- dense layers ------------------------------------------------------------------------------ */

static bool set(struct reading *r, const char *suffix, double value, struct sl_err *err)
{
    char name[64];
    (void)snprintf(name, sizeof name, "embedding_dense_%d%s", r->dense_count + 1, suffix);
    return sl_param_set(sl_param_find(r->p->arch->hypers, name), &r->p->config, value, err);
}

/* A class of PyTorch's; it was a Tanh before there was a choice. */
static bool read_activation(const json_t *root, bool *tanh, struct sl_err *err)
{
    const json_t *value = json_object_get(root, "activation_function");
    const char *name = json_string_value(value), *last = name ? strrchr(name, '.') : NULL;
    const bool is_torch = last && strncmp(name, "torch.nn.", strlen("torch.nn.")) == 0;
    *tanh = !value || (is_torch && strcmp(last, ".Tanh") == 0);
    return *tanh || (is_torch && strcmp(last, ".Identity") == 0) ||
           sl_fail(err, SL_BAD_INPUT,
                   "'activation_function' is '%.64s', which is not supported: expected Tanh or "
                   "Identity of torch.nn",
                   name ? name : sl_json_type(value));
}

/* Reads another feature than the text's vector, or adds to it. */
static bool check_features(const json_t *root, struct sl_err *err)
{
    static const char *const names[] = {"module_input_name", "module_output_name"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *name = json_string_value(json_object_get(root, names[i]));
        if (name && strcmp(name, "sentence_embedding") != 0)
            return sl_fail(err, SL_BAD_INPUT, "'%s' is '%.64s', which is not supported", names[i],
                           name);
    }
    return !json_is_true(json_object_get(root, "use_residual")) ||
           sl_fail(err, SL_BAD_INPUT, "'use_residual' is true, which is not supported");
}

static bool set_layer(struct reading *r, const json_t *root, struct sl_err *err)
{
    static const struct sl_bounds bounds = {1, SL_EMBEDDING_DENSE_MAX};
    int64_t ins, outs;
    bool tanh;
    if (!sl_json_whole(root, "in_features", bounds, &ins, err) ||
        !sl_json_whole(root, "out_features", bounds, &outs, err) ||
        !read_activation(root, &tanh, err) || !check_features(root, err))
        return false;
    if (ins != r->features)
        return sl_fail(err, SL_BAD_INPUT, "'in_features' is %d: expected %d", (int)ins,
                       r->features);
    r->features = (int)outs;
    return set(r, "", (double)outs, err) && set(r, "_tanh", tanh, err) &&
           set(r, "_bias", !json_is_false(json_object_get(root, "bias")), err);
}

static bool read_dense(struct reading *r, const char *module, struct sl_err *err)
{
    char path[SL_PATH_MAX];
    if (r->dense_count == SL_DENSE_MAX)
        return sl_fail(err, SL_BAD_INPUT, "%s has more than %d modules 'Dense'", modules_file,
                       SL_DENSE_MAX);
    if (strlen(module) >= sizeof r->p->dense[0])
        return sl_fail(err, SL_BAD_INPUT, "%s: 'path' has more than %zu bytes", modules_file,
                       sizeof r->p->dense[0] - 1);
    json_auto_t *root = open_config(r, module, path, err);
    if (!root)
        return false;
    if (!set_layer(r, root, err))
        return sl_wrap(err, "'%s'", path);
    (void)snprintf(r->p->dense[r->dense_count++], sizeof r->p->dense[0], "%s", module);
    return true;
}

static bool read_normalize(struct reading *r, const char *module, struct sl_err *err)
{
    char path[SL_PATH_MAX], folder[SL_PATH_MAX];
    if (!sl_path_join(folder, r->directory, module, err) ||
        !sl_path_find(path, folder, "config.json")) /* older ones have none */
        return true;
    json_auto_t *root = sl_sentence_json_open(path, err);
    return root && (check_features(root, err) || sl_wrap(err, "'%s'", path));
}

/* -- modules ---------------------------------------------------------------------------------- */

static const char masked_transformer[] = "MLMTransformer";

/* In their order; only dense layers may follow each other, and only the last two may be missing. */
static const struct kind {
    const char *name;
    bool (*read)(struct reading *r, const char *path, struct sl_err *err);
    int place;
    bool is_sparse;
} kinds[] = {{"Transformer", NULL, 0, false},     {masked_transformer, NULL, 0, true},
             {"Pooling", read_pooling, 1, false}, {"SpladePooling", check_sparse_pooling, 1, true},
             {"Dense", read_dense, 2, false},     {"Normalize", read_normalize, 3, false}};

/* By the last part of "sentence_transformers.models.Pooling"; NULL: it is not supported. */
static const struct kind *kind_of(const json_t *module, const char **name)
{
    const char *type = json_string_value(json_object_get(module, "type"));
    const char *last = type ? strrchr(type, '.') : NULL;
    *name = last ? last + 1 : type ? type : "";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, *name) == 0)
            return &kinds[i];
    return NULL;
}

bool sl_sentence_modules_are_sparse(const char *directory)
{
    char path[SL_PATH_MAX];
    struct sl_err ignored;
    const char *name;
    json_auto_t *modules =
        sl_path_find(path, directory, modules_file) ? sl_sentence_json_open(path, &ignored) : NULL;
    const struct kind *first = kind_of(json_array_get(modules, 0), &name);
    return first && first->is_sparse;
}

static bool may_follow(const struct kind *last, const struct kind *next)
{
    if (!last || next->place < 2)
        return next->place == (last ? last->place + 1 : 0) &&
               (!last || last->is_sparse == next->is_sparse);
    return !last->is_sparse && last->place > 0 && last->place < 3 && next->place >= last->place;
}

static bool fail_order(const struct kind *last, const char *next, struct sl_err *err)
{
    return sl_fail(
        err, SL_BAD_INPUT,
        "%s: %s%s%s%s%s: expected Transformer, Pooling, any Dense, and Normalize or not, "
        "in this order; or MLMTransformer and SpladePooling",
        modules_file, next[0] ? "'" : "it ends", next, next[0] ? "' comes" : "",
        last ? " after " : " first", last ? last->name : "");
}

static bool read_module(struct reading *r, const json_t *module, const struct kind **last,
                        struct sl_err *err)
{
    const char *name;
    const struct kind *kind = kind_of(module, &name);
    const char *path = json_string_value(json_object_get(module, "path"));
    if (!kind)
        return sl_fail(err, SL_BAD_INPUT, "%s: the module '%.64s' is not supported", modules_file,
                       name);
    if (!may_follow(*last, kind))
        return fail_order(*last, kind->name, err);
    *last = kind;
    if (!kind->read)
        return true;
    if (!path || strstr(path, "..") || path[0] == '/')
        return sl_fail(err, SL_BAD_INPUT, "%s: 'path' is '%.64s': expected a directory within it",
                       modules_file, path ? path : "none");
    return kind->read(r, path, err);
}

static bool read_modules(struct reading *r, bool ranks, const json_t *modules, struct sl_err *err)
{
    const struct kind *last = NULL;
    size_t i;
    json_t *module;
    if (!json_is_array(modules))
        return sl_fail(err, SL_BAD_INPUT, "%s is %s: expected an array", modules_file,
                       sl_json_type(modules));
    json_array_foreach (modules, i, module) {
        if (!read_module(r, module, &last, err))
            return false;
    }
    if (ranks)
        return (last && last->place == 0) ||
               sl_fail(err, SL_BAD_INPUT, "%s of a reranker: expected only Transformer",
                       modules_file);
    return (last && last->place > 0) || fail_order(last, "", err);
}

bool sl_sentence_modules_read(const char *directory, bool ranks, struct sl_published *p,
                              struct sl_err *err)
{
    char path[SL_PATH_MAX];
    struct reading r = {.directory = directory, .p = p, .features = p->config.width};
    if (!sl_path_join(path, directory, modules_file, err))
        return false;
    json_auto_t *modules = sl_sentence_json_open(path, err);
    return modules && read_modules(&r, ranks, modules, err);
}
