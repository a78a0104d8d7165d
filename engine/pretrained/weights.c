/* weights.c - opens the files of a directory and lists their tensors. */
#include "pretrained/weights.h"

#include "base/file.h"
#include "base/sha256.h"
#include "formats/json_io.h"
#include "formats/safetensors.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHARDS_MAX = 128, FILES_MAX = SHARDS_MAX + 8, INDEX_BYTES_MAX = 16 << 20 };

static const char whole_file[] = "model.safetensors", index_file[] = "model.safetensors.index.json";

struct sl_weight_file {
    char *name; /* within the directory */
    struct sl_map map;
    struct sl_safetensors content;
};

/* -- the list --------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const struct sl_weight *first = a, *second = b;
    return strcmp(first->name, second->name);
}

bool sl_weights_sort(struct sl_weights *weights, struct sl_err *err)
{
    if (weights->count > 0)
        qsort(weights->list, weights->count, sizeof *weights->list, by_name);
    for (size_t i = 1; i < weights->count; i++)
        if (by_name(&weights->list[i - 1], &weights->list[i]) == 0)
            return sl_fail(err, SL_CORRUPT, "tensor '%s' is there twice", weights->list[i].name);
    return true;
}

static int compare_name(const void *name, const void *weight)
{
    return strcmp(name, ((const struct sl_weight *)weight)->name);
}

struct sl_weight *sl_weights_find(const struct sl_weights *weights, const char *name)
{
    return weights->count == 0
               ? NULL
               : bsearch(name, weights->list, weights->count, sizeof *weights->list, compare_name);
}

void sl_weights_close(struct sl_weights *weights)
{
    for (size_t i = 0; i < weights->count; i++)
        free(weights->list[i].name);
    for (size_t i = 0; i < weights->file_count; i++) {
        free(weights->files[i].name);
        sl_safetensors_close(&weights->files[i].content);
        sl_map_close(&weights->files[i].map);
    }
    free(weights->list);
    free(weights->files);
    *weights = (struct sl_weights){0};
}

/* -- safetensors ------------------------------------------------------------------------------ */

/* "PREFIX.NAME", to be freed; prefix "": the name. */
static char *joined_name(const char *prefix, const char *name)
{
    const size_t before = strlen(prefix), bytes = before + strlen(name) + 2;
    char *joined = malloc(bytes);
    if (joined)
        (void)snprintf(joined, bytes, "%s%s%s", prefix, before > 0 ? "." : "", name);
    return joined;
}

/* prefix: of the name; "": none. */
static bool add_tensor(struct sl_weights *weights, const struct sl_safetensor *t,
                       const char *prefix, struct sl_err *err)
{
    struct sl_weight *w = &weights->list[weights->count];
    if (t->rank > SL_WEIGHT_RANK_MAX)
        return sl_fail(err, SL_CORRUPT, "tensor '%s' has %d dimensions: expected at most %d",
                       t->name, t->rank, SL_WEIGHT_RANK_MAX);
    *w = (struct sl_weight){.name = joined_name(prefix, t->name),
                            .data = t->data,
                            .type = sl_dtype_numbers(t->dtype),
                            .rank = t->rank,
                            .count = t->count};
    for (int i = 0; i < t->rank; i++)
        w->shape[i] = t->shape[i];
    if (!w->name)
        return sl_fail(err, SL_NO_MEMORY, "no memory for the name of a tensor");
    weights->count++;
    return true;
}

bool sl_weights_copy(struct sl_map *map, const char *path, struct sl_err *err)
{
    char *target = realpath(path, NULL);
    bool ok = target ? sl_map_copy(map, target, err) : sl_map_open(map, path, err);
    free(target);
    return ok;
}

static bool add_file(struct sl_weights *weights, const char *directory, const char *name,
                     const char *prefix, struct sl_err *err)
{
    char path[SL_PATH_MAX];
    struct sl_weight_file *files =
        reallocarray(weights->files, weights->file_count + 1, sizeof *files);
    if (!files)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %s", name);
    weights->files = files;
    struct sl_weight_file *file = &files[weights->file_count++];
    *file = (struct sl_weight_file){.name = strdup(name)};
    if (!file->name || !sl_path_join(path, directory, name, err) ||
        !sl_weights_copy(&file->map, path, err) ||
        !sl_safetensors_parse(&file->content, file->map.data, file->map.size, err))
        return sl_wrap(err, "%s", name);
    const size_t total = weights->count + (size_t)file->content.count;
    struct sl_weight *list = reallocarray(weights->list, total + 1, sizeof *list);
    if (!list)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %zu tensors", total);
    weights->list = list;
    for (int i = 0; i < file->content.count; i++)
        if (!add_tensor(weights, &file->content.tensors[i], prefix, err))
            return sl_wrap(err, "%s", name);
    return true;
}

/* -- shards ----------------------------------------------------------------------------------- */

static bool has_file(const struct sl_weights *weights, const char *name)
{
    for (size_t i = 0; i < weights->file_count; i++)
        if (strcmp(weights->files[i].name, name) == 0)
            return true;
    return false;
}

/* A shard lies in the directory itself. */
static bool is_plain_name(const char *name)
{
    const char *end = strrchr(name, '.');
    return end && strcmp(end, ".safetensors") == 0 && end > name && !strchr(name, '/');
}

static bool add_shards(struct sl_weights *weights, const char *directory, json_t *map,
                       struct sl_err *err)
{
    const char *tensor;
    json_t *value;
    json_object_foreach (map, tensor, value) {
        const char *name = json_string_value(value);
        if (!name || !is_plain_name(name))
            return sl_fail(
                err, SL_BAD_INPUT,
                "%s: the file of '%.64s' is '%.64s': expected the name of a .safetensors "
                "file beside it",
                index_file, tensor, name ? name : sl_json_type(value));
        if (has_file(weights, name))
            continue;
        if (weights->file_count == SHARDS_MAX)
            return sl_fail(err, SL_BAD_INPUT, "%s: more than %d files", index_file, SHARDS_MAX);
        if (!add_file(weights, directory, name, "", err))
            return false;
    }
    return true;
}

/* Every tensor that the index lists is there. */
static bool check_index(const struct sl_weights *weights, json_t *map, struct sl_err *err)
{
    const char *tensor;
    json_t *value;
    json_object_foreach (map, tensor, value) {
        (void)value;
        if (!sl_weights_find(weights, tensor))
            return sl_fail(err, SL_BAD_INPUT, "tensor '%s' is in %s, but in no file", tensor,
                           index_file);
    }
    return true;
}

static bool open_shards(struct sl_weights *weights, const char *directory, const char *path,
                        struct sl_err *err)
{
    json_auto_t *root = sl_json_open(path, INDEX_BYTES_MAX, err);
    json_t *map = root ? sl_json_object(root, "weight_map", err) : NULL;
    if (!map)
        return sl_wrap(err, "%s", index_file);
    return add_shards(weights, directory, map, err) && sl_weights_sort(weights, err) &&
           check_index(weights, map, err);
}

/* -- a directory ------------------------------------------------------------------------------ */

/* Nothing is unpickled: that runs whatever code the file has in it. */
static bool fail_missing(const char *directory, const char *how, struct sl_err *err)
{
    static const char *const pickles[] = {"pytorch_model.bin", "pytorch_model.bin.index.json",
                                          "model.ckpt.index", "tf_model.h5", "flax_model.msgpack"};
    char path[SL_PATH_MAX];
    for (size_t i = 0; i < sizeof pickles / sizeof *pickles; i++)
        if (sl_path_find(path, directory, pickles[i]))
            return sl_fail(err, SL_BAD_INPUT,
                           "the weights are in %s, which is not read because it can run code; "
                           "convert it in Python: %s",
                           pickles[i], how);
    return sl_fail(err, SL_NOT_FOUND, "neither %s nor %s is there", whole_file, index_file);
}

bool sl_weights_open(struct sl_weights *weights, const char *directory, struct sl_err *err)
{
    char path[SL_PATH_MAX];
    bool ok;
    *weights = (struct sl_weights){0};
    if (sl_path_find(path, directory, whole_file))
        ok = add_file(weights, directory, whole_file, "", err) && sl_weights_sort(weights, err);
    else if (sl_path_find(path, directory, index_file))
        ok = open_shards(weights, directory, path, err);
    else
        ok = fail_missing(directory,
                          "AutoModel.from_pretrained(\"DIR\").save_pretrained(\"DIR\", "
                          "safe_serialization=True)",
                          err);
    if (!ok)
        sl_weights_close(weights);
    return ok;
}

bool sl_weights_add(struct sl_weights *weights, const char *directory, const char *within,
                    const char *prefix, struct sl_err *err)
{
    char path[SL_PATH_MAX], name[SL_PATH_MAX], ignored[SL_PATH_MAX];
    if (!sl_path_join(path, directory, within, err) || !sl_path_join(name, within, whole_file, err))
        return false;
    if (!sl_path_find(ignored, path, whole_file))
        return fail_missing(path, "SentenceTransformer(\"DIR\").save_pretrained(\"DIR\")", err) ||
               sl_wrap(err, "%s", within);
    assert(weights->file_count < FILES_MAX);
    return add_file(weights, directory, name, prefix, err) && sl_weights_sort(weights, err);
}

void sl_weights_digest(const struct sl_weights *weights, char sha256[65])
{
    char all[FILES_MAX * 64 + 1];
    for (size_t i = 0; i < weights->file_count; i++)
        sl_sha256_hex(weights->files[i].map.data, weights->files[i].map.size, all + 64 * i);
    if (weights->file_count == 1)
        memcpy(sha256, all, 65);
    else
        sl_sha256_hex(all, 64 * weights->file_count, sha256);
}
