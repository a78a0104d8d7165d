/* store_scan.c - what the store's directories hold. */
#include "base/comma_list.h"
#include "base/file.h"
#include "core/log.h"
#include "registry/registry_internal.h"
#include "json/json_peek.h"

#include "sluice/model.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DIRECTORY_MAX = 4096 };

const char *sv_check_model_name(const char *name, char reason[static SV_REASON_MAX])
{
    static const char accepted[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                   "-_.";
    if (name[0] == '.' || name[strspn(name, accepted)] != '\0')
        return "a model name may hold only letters, digits, '-', '_' and '.'";
    (void)snprintf(reason, SV_REASON_MAX, "a model name has at most %d characters",
                   SV_MODEL_NAME_BYTES_MAX);
    return strlen(name) > SV_MODEL_NAME_BYTES_MAX ? reason : NULL;
}

static bool fail_store(const char *store, struct sl_err *err)
{
    return sl_fail(err, SL_BAD_INPUT,
                   "cannot read the model store '%s': %s; set another with --store or SLUICE_STORE",
                   store, strerrordesc_np(errno));
}

bool sv_registry_check_store(const char *store, struct sl_err *err)
{
    DIR *entries = opendir(store);
    if (!entries)
        return fail_store(store, err);
    (void)closedir(entries);
    return true;
}

static bool is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* ---- classifiers ----------------------------------------------------------------------------- */

/* What the versions of a model are for. Unknown: none has a task that can be read (yet). */
enum purpose { UNKNOWN, OTHER, CLASSIFIER };

static enum purpose version_purpose(const char *directory)
{
    char path[DIRECTORY_MAX + 16], task[32] = "";
    struct sl_map map;
    struct sl_err err;
    struct sl_buffer text = {0};
    (void)snprintf(path, sizeof path, "%s/config.json", directory);
    if (!sl_map_open(&map, path, &err))
        return UNKNOWN;
    sl_buffer_append(&text, map.data ? map.data : "", map.size);
    sl_map_close(&map);
    bool found = !text.failed && sv_json_peek_string(&text, "task", task, sizeof task);
    sl_buffer_release(&text);
    if (!found)
        return UNKNOWN;
    return strcmp(task, "classification") == 0 ? CLASSIFIER : OTHER;
}

/* Of one version, or of all (0): a model is a classifier if one of its versions is, because that
 * may be the stable one. */
static enum purpose model_purpose(const char *directory, long version)
{
    char path[DIRECTORY_MAX];
    enum purpose best = UNKNOWN;
    struct dirent **entries = NULL;
    int count = scandir(directory, &entries, NULL, NULL);
    for (int i = 0; i < count; i++) {
        long number = sl_version_parse(entries[i]->d_name);
        int length = snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name);
        free(entries[i]);
        if (number == 0 || (version > 0 && number != version) || length >= DIRECTORY_MAX)
            continue;
        enum purpose purpose = version_purpose(path);
        best = purpose > best ? purpose : best;
    }
    free(entries);
    return best;
}

/* "none" if there are none. False: the store has no models at all. */
static bool list_classifiers(const char *store, char *list, size_t bytes)
{
    bool any = false;
    char path[DIRECTORY_MAX];
    struct dirent **entries = NULL;
    int count = scandir(store, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", store, entries[i]->d_name);
        bool is_model = entries[i]->d_name[0] != '.' && is_directory(path);
        any = any || is_model;
        if (is_model && model_purpose(path, 0) == CLASSIFIER)
            sl_list_add(list, bytes, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    if (!list[0])
        sl_list_add(list, bytes, "none");
    return any;
}

bool sv_registry_check_classifier(const char *store, const char *id, struct sl_err *err)
{
    char list[256] = "", path[DIRECTORY_MAX];
    (void)snprintf(path, sizeof path, "%s/%.*s", store, (int)strcspn(id, "@:"), id);
    const char *at = strchr(id, '@');
    bool exists = is_directory(path);
    if (exists && model_purpose(path, at ? sl_version_parse(at + 1) : 0) != OTHER)
        return true;
    bool has_models = list_classifiers(store, list, sizeof list);
    if (exists)
        return sl_fail(err, SL_BAD_INPUT,
                       "'%s' is not a classifier; the classifiers of the store '%s': %s", id, store,
                       list);
    return !has_models ||
           sl_fail(err, SL_BAD_INPUT, "the store '%s' has no model '%s'; its classifiers: %s",
                   store, id, list);
}

/* ---- versions -------------------------------------------------------------------------------- */

/* The manifest is what sluice writes last. A copy may have it before the rest, so copies are to be
 * renamed when they are whole. */
bool sv_version_is_complete(const struct sv_registry *registry, const struct sv_model *model,
                            const struct sv_version *version)
{
    char path[DIRECTORY_MAX];
    struct stat status;
    (void)snprintf(path, sizeof path, "%s/%s/%s/manifest.json", registry->options.store,
                   model->name, version->directory);
    return lstat(path, &status) == 0 && S_ISREG(status.st_mode);
}

long sv_note_complete(const struct sv_registry *registry, struct sv_model *model)
{
    long known = 0, found = 0;
    for (int i = 0; i < model->count; i++) {
        struct sv_version *version = &model->versions[i];
        if (version->is_known)
            known = version->number;
        else if (sv_version_is_complete(registry, model, version))
            found = version->number;
        version->is_known = version->is_known || found == version->number;
    }
    return found > known ? found : 0;
}

static bool has_directory(const struct sv_registry *registry, const struct sv_model *model)
{
    char path[DIRECTORY_MAX];
    struct stat status;
    (void)snprintf(path, sizeof path, "%s/%s", registry->options.store, model->name);
    return lstat(path, &status) == 0 || errno != ENOENT;
}

/* Files in the store are ignored; a directory was probably meant to be a model. */
static void warn_no_version(const char *directory)
{
    if (is_directory(directory))
        SV_LOG(SV_LOG_WARN, "directory without a model version", sv_str("directory", directory),
               sv_str("accepted", "<store>/<model>/<number from 1>"));
}

/* Adds a directory's version, unless there are too many. The first name found of a version stays: 7
 * or 007. */
static void add(struct sv_registry *registry, const char *name, const char *directory)
{
    pthread_mutex_lock(&registry->lock);
    struct sv_model *model = sv_add_model(registry, name);
    struct sv_version *version =
        model ? sv_add_version(registry, model, sl_version_parse(directory)) : NULL;
    if (version && !version->directory[0])
        memcpy(version->directory, directory, strlen(directory) + 1); /* at most nine digits */
    pthread_mutex_unlock(&registry->lock);
}

static bool is_gone(const struct sv_registry *registry, const char *name,
                    const struct sv_version *version)
{
    char path[DIRECTORY_MAX];
    struct stat status;
    if (version->ref || version->retired > 0 || version->state == SV_VERSION_LOADING)
        return false;
    (void)snprintf(path, sizeof path, "%s/%s/%s", registry->options.store, name,
                   version->directory);
    return lstat(path, &status) != 0 && errno == ENOENT;
}

/* A version that is neither in the store nor in use is forgotten. */
static void forget_gone(struct sv_registry *registry, const char *name)
{
    struct sv_model *model = sv_find_model(registry, name);
    for (int i = model ? model->count - 1 : -1; i >= 0; i--) {
        if (!is_gone(registry, name, &model->versions[i]))
            continue;
        pthread_mutex_lock(&registry->lock);
        sv_forget_version(registry, model, i);
        pthread_mutex_unlock(&registry->lock);
    }
}

void sv_forget_models(struct sv_registry *registry)
{
    for (int i = registry->count - 1; i >= 0; i--) {
        struct sv_model *model = &registry->models[i];
        if (has_directory(registry, model))
            continue;
        forget_gone(registry, model->name);
        if (model->count > 0)
            continue;
        SV_LOG(SV_LOG_INFO, "model forgotten", sv_str("model", model->name));
        pthread_mutex_lock(&registry->lock);
        sv_record_model_forgotten(registry, model);
        free(model->versions);
        registry->count--;
        memmove(model, model + 1, (size_t)(registry->count - i) * sizeof *model);
        pthread_mutex_unlock(&registry->lock);
    }
}

int sv_scan_model(struct sv_registry *registry, const char *name)
{
    char path[DIRECTORY_MAX];
    int found = 0;
    (void)snprintf(path, sizeof path, "%s/%s", registry->options.store, name);
    forget_gone(registry, name);
    if (registry->count == SV_MODELS_MAX && !sv_find_model(registry, name))
        sv_forget_models(registry);
    DIR *entries = opendir(path);
    if (!entries)
        return 0;
    /* No other thread has this stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
    for (const struct dirent *entry; (entry = readdir(entries));)
        if (sl_version_parse(entry->d_name) > 0) {
            add(registry, name, entry->d_name);
            found++;
        }
    (void)closedir(entries);
    if (found == 0)
        warn_no_version(path);
    return found;
}
