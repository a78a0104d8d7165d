/* store_check.c - checks of the store before anything is loaded from it. */
#include "base/comma_list.h"
#include "base/file.h"
#include "registry/store_scan.h"
#include "json/json_peek.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* What the versions of a model are for. Unknown: none has a task that can be read (yet). */
enum purpose { UNKNOWN, OTHER, CLASSIFIER };

static enum purpose version_purpose(const char *directory)
{
    char path[SL_PATH_MAX + 16], task[32] = "";
    struct sl_err err;
    struct sl_buffer text = {0};
    (void)snprintf(path, sizeof path, "%s/config.json", directory);
    bool found =
        sl_file_append(&text, path, &err) && sv_json_peek_string(&text, "task", task, sizeof task);
    sl_buffer_release(&text);
    if (!found)
        return UNKNOWN;
    return strcmp(task, "classification") == 0 ? CLASSIFIER : OTHER;
}

/* Of one version, or of all (0): a model is a classifier if one of its versions is, because that
 * may be the stable one. */
static enum purpose model_purpose(const char *directory, long version)
{
    char path[SL_PATH_MAX];
    enum purpose best = UNKNOWN;
    struct dirent **entries = NULL;
    int count = scandir(directory, &entries, NULL, NULL);
    for (int i = 0; i < count; i++) {
        long number = sl_version_parse(entries[i]->d_name);
        int length = snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name);
        free(entries[i]);
        if (number == 0 || (version > 0 && number != version) || length >= SL_PATH_MAX)
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
    char path[SL_PATH_MAX];
    struct dirent **entries = NULL;
    int count = scandir(store, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", store, entries[i]->d_name);
        bool is_model = sl_model_name_is_valid(entries[i]->d_name) && sv_is_directory(path);
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
    char list[256] = "", path[SL_PATH_MAX], name[SV_OPTION_TEXT_MAX];
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(id, "@:"), id);
    (void)snprintf(path, sizeof path, "%s/%s", store, name);
    const char *at = strchr(id, '@');
    bool exists = sl_model_name_is_valid(name) && sv_is_directory(path);
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
