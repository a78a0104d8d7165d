/* ignored_directories.c - what is in the store and not served because of its name. */
#include "registry/ignored_directories.h"

#include "core/log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int compare(const struct sv_ignored *ignored, const char *model, const char *version)
{
    int order = strcmp(ignored->model, model);
    return order != 0 ? order : strcmp(ignored->version, version);
}

void sv_ignored_add(struct sv_registry *registry, const char *model, const char *version,
                    const char *reason)
{
    int place = 0;
    while (place < registry->ignored_count &&
           compare(&registry->ignored[place], model, version) < 0)
        place++;
    struct sv_ignored *ignored = &registry->ignored[place];
    bool is_listed = place < registry->ignored_count && compare(ignored, model, version) == 0;
    if (is_listed || registry->ignored_count == SV_IGNORED_MAX)
        return;
    SV_LOG(SV_LOG_WARN, "a directory of the store is ignored", sv_str("directory", model),
           sv_str("version", version), sv_str("reason", reason));
    pthread_mutex_lock(&registry->lock);
    memmove(ignored + 1, ignored, (size_t)(registry->ignored_count - place) * sizeof *ignored);
    *ignored = (struct sv_ignored){.reason = reason};
    (void)snprintf(ignored->model, sizeof ignored->model, "%s", model);
    (void)snprintf(ignored->version, sizeof ignored->version, "%s", version);
    registry->ignored_count++;
    pthread_mutex_unlock(&registry->lock);
}

static bool is_outdated(struct sv_registry *registry, const struct sv_ignored *ignored)
{
    char path[SL_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s/%s", registry->options.store, ignored->model,
                   ignored->version);
    return access(path, F_OK) != 0 ||
           (!ignored->version[0] && sv_find_model(registry, ignored->model));
}

void sv_ignored_refresh(struct sv_registry *registry)
{
    for (int i = registry->ignored_count - 1; i >= 0; i--) {
        struct sv_ignored *ignored = &registry->ignored[i];
        if (!is_outdated(registry, ignored))
            continue;
        pthread_mutex_lock(&registry->lock);
        registry->ignored_count--;
        memmove(ignored, ignored + 1, (size_t)(registry->ignored_count - i) * sizeof *ignored);
        pthread_mutex_unlock(&registry->lock);
    }
}

const struct sv_ignored *sv_ignored_find(const struct sv_registry *registry, const char *model)
{
    for (int i = 0; i < registry->ignored_count; i++)
        if (strcmp(registry->ignored[i].model, model) == 0)
            return &registry->ignored[i];
    return NULL;
}
