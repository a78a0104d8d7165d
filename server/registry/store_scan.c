/* store_scan.c - what the store's directories hold. */
#include "registry/store_scan.h"
#include "core/log.h"
#include "registry/ignored_directories.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool sv_is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* The manifest is what sluice writes last. A copy may have it before the rest, and models of other
 * programs have none, so copies are to be renamed when they are whole. */
bool sv_version_is_complete(const struct sv_registry *registry, const struct sv_model *model,
                            const struct sv_version *version)
{
    char path[SL_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s/%ld", registry->options.store, model->name,
                   version->number);
    return sl_model_exists(path);
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
    char path[SL_PATH_MAX];
    struct stat status;
    (void)snprintf(path, sizeof path, "%s/%s", registry->options.store, model->name);
    return lstat(path, &status) == 0 || errno != ENOENT;
}

/* Adds a version, unless there are too many. */
static void add(struct sv_registry *registry, const char *name, long number)
{
    pthread_mutex_lock(&registry->lock);
    struct sv_model *model = sv_add_model(registry, name);
    if (model)
        (void)sv_add_version(registry, model, number);
    pthread_mutex_unlock(&registry->lock);
}

static bool is_gone(const struct sv_registry *registry, const char *name,
                    const struct sv_version *version)
{
    char path[SL_PATH_MAX];
    struct stat status;
    if (version->ref || version->retired > 0 || version->state == SV_VERSION_LOADING)
        return false;
    (void)snprintf(path, sizeof path, "%s/%s/%ld", registry->options.store, name, version->number);
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
        sv_forget_model(registry, model);
        pthread_mutex_unlock(&registry->lock);
    }
}

/* Whether an entry of a model's directory was probably meant to be a version. */
static bool is_misnamed_version(const char *model, const char *name)
{
    char path[SL_PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s", model, name);
    const char *suffix = strstr(name, SL_VERSION_UNFINISHED_SUFFIX);
    return name[0] != '.' && !suffix && length < SL_PATH_MAX && sv_is_directory(path);
}

int sv_scan_model(struct sv_registry *registry, const char *name)
{
    char path[SL_PATH_MAX];
    int found = 0;
    (void)snprintf(path, sizeof path, "%s/%s", registry->options.store, name);
    forget_gone(registry, name);
    if (registry->count == SV_MODELS_MAX && !sv_find_model(registry, name))
        sv_forget_models(registry);
    DIR *entries = opendir(path);
    /* No other thread has this stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
    for (const struct dirent *entry; entries && (entry = readdir(entries));) {
        long number = sl_version_parse(entry->d_name);
        if (number > 0)
            add(registry, name, number);
        else if (is_misnamed_version(path, entry->d_name))
            sv_ignored_add(registry, name, entry->d_name, SL_VERSION_RULE);
        found += number > 0;
    }
    if (entries)
        (void)closedir(entries);
    sv_ignored_refresh(registry);
    if (entries && !sv_find_model(registry, name) && !sv_ignored_find(registry, name))
        sv_ignored_add(registry, name, "", "it has no version: " SL_VERSION_RULE);
    return found;
}

int sv_scan_store(struct sv_registry *registry,
                  bool (*visit)(struct sv_registry *registry, const char *name))
{
    char path[SL_PATH_MAX];
    int visited = 0;
    struct dirent **entries = NULL;
    int count = scandir(registry->options.store, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        (void)snprintf(path, sizeof path, "%s/%s", registry->options.store, name);
        if (sl_model_name_is_valid(name))
            visited += visit(registry, name);
        else if (name[0] != '.' && sv_is_directory(path))
            sv_ignored_add(registry, name, "", SL_MODEL_NAME_RULE);
        free(entries[i]);
    }
    free(entries);
    sv_ignored_refresh(registry);
    return visited;
}
