/* base_model.c - finds a base by its name and its digest. */
#include "checkpoint/base_model.h"

#include "base/sha256.h"
#include "formats/json_io.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- its name -------------------------------------------------------------------------------- */

static bool is_name(const char *name)
{
    char model[SL_BASE_NAME_MAX];
    const char *slash = strchr(name, '/');
    if (!slash || strlen(name) >= SL_BASE_NAME_MAX)
        return false;
    (void)snprintf(model, sizeof model, "%.*s", (int)(slash - name), name);
    return sl_model_name_is_valid(model) && sl_version_parse(slash + 1) > 0;
}

bool sl_base_name(char name[static SL_BASE_NAME_MAX], const char *directory)
{
    char path[PATH_MAX];
    if (!realpath(directory, path))
        return false;
    const char *version = strrchr(path, '/'), *model = version;
    while (model > path && model[-1] != '/')
        model--;
    return is_name(model) && snprintf(name, SL_BASE_NAME_MAX, "%s", model) < SL_BASE_NAME_MAX;
}

static bool read_members(struct sl_base_reference *reference, json_t *object, struct sl_err *err)
{
    static const char *const keys[] = {"model", "sha256", NULL};
    const char *model = sl_json_text(object, "model", err);
    const char *sha256 = model ? sl_json_text(object, "sha256", err) : NULL;
    if (!sha256 || !sl_json_keys(object, keys, err))
        return false;
    if (!is_name(model))
        return sl_fail(err, SL_CORRUPT, "invalid 'model' '%.64s': expected <model>/<version>",
                       model);
    if (strlen(sha256) != 64 || strspn(sha256, "0123456789abcdef") != 64)
        return sl_fail(err, SL_CORRUPT, "invalid 'sha256' '%.64s': expected 64 hex digits", sha256);
    (void)snprintf(reference->model, sizeof reference->model, "%s", model);
    (void)snprintf(reference->sha256, sizeof reference->sha256, "%s", sha256);
    return true;
}

bool sl_base_reference_read(struct sl_base_reference *reference, const json_t *root,
                            struct sl_err *err)
{
    *reference = (struct sl_base_reference){0};
    if (!json_object_get(root, "base"))
        return true;
    json_t *object = sl_json_object(root, "base", err);
    return object && (read_members(reference, object, err) || sl_wrap(err, "base"));
}

bool sl_base_reference_print(json_t *root, const struct sl_base_reference *reference)
{
    return !reference->model[0] ||
           json_object_set_new(root, "base",
                               json_pack("{s:s, s:s}", "model", reference->model, "sha256",
                                         reference->sha256)) == 0;
}

/* ---- where it is ----------------------------------------------------------------------------- */

enum { INSTALLED = 2 };

bool sl_installed_folder(const char *folder, int place, char path[static SL_PATH_MAX])
{
    static const char *const places[INSTALLED] = {"../share/sluice", "../.."};
    char program[SL_PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    path[0] = '\0';
    if (place >= INSTALLED)
        return false;
    program[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(program, '/');
    if (slash) {
        slash[1] = '\0';
        const int bytes = snprintf(path, SL_PATH_MAX, "%s%s/%s", program, places[place], folder);
        if (bytes >= SL_PATH_MAX)
            path[0] = '\0';
    }
    return true;
}

/* A place of SLUICE_MODELS. */
static bool listed(int place, char path[static SL_PATH_MAX])
{
    // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread sets it
    const char *at = getenv("SLUICE_MODELS");
    for (; at && place > 0; place--)
        at = (at = strchr(at, ':')) ? at + 1 : NULL;
    if (!at)
        return false;
    (void)snprintf(path, SL_PATH_MAX, "%.*s", (int)strcspn(at, ":"), at);
    return true;
}

/* Reads the file there. *is_other: there is one, with another digest. */
static bool open_at(struct sl_map *file, const char *place,
                    const struct sl_base_reference *reference, bool *is_other)
{
    char path[SL_PATH_MAX], sha256[65];
    const int bytes =
        snprintf(path, sizeof path, "%s/%s/model.safetensors", place, reference->model);
    if (!place[0] || bytes >= SL_PATH_MAX || !sl_map_copy(file, path, NULL))
        return false;
    sl_sha256_hex(file->data, file->size, sha256);
    if (strcmp(sha256, reference->sha256) == 0)
        return true;
    *is_other = true;
    sl_map_close(file);
    return false;
}

static bool find(struct sl_map *file, const struct sl_base_reference *reference, const char *store,
                 bool *is_other)
{
    char place[SL_PATH_MAX];
    if (open_at(file, store, reference, is_other))
        return true;
    for (int i = 0; sl_installed_folder("models", i, place); i++)
        if (open_at(file, place, reference, is_other))
            return true;
    for (int i = 0; listed(i, place); i++)
        if (open_at(file, place, reference, is_other))
            return true;
    return false;
}

bool sl_base_open(struct sl_base_weights *base, const struct sl_base_reference *reference,
                  const char *store, struct sl_err *err)
{
    bool is_other = false;
    *base = (struct sl_base_weights){0};
    if (!find(&base->file, reference, store, &is_other))
        return sl_fail(
            err, SL_NOT_FOUND,
            "it needs the word vectors of the model %s with the SHA-256 %s, and %s: copy "
            "that model into the same store, name the directory of its store in "
            "SLUICE_MODELS, or train with --standalone",
            reference->model, reference->sha256,
            is_other ? "the one that was found has another" : "it was not found");
    if (sl_safetensors_parse(&base->tensors, base->file.data, base->file.size, err))
        return true;
    sl_base_close(base);
    return sl_wrap(err, "base '%s'", reference->model);
}

void sl_base_close(struct sl_base_weights *base)
{
    sl_safetensors_close(&base->tensors);
    sl_map_close(&base->file);
    *base = (struct sl_base_weights){0};
}
