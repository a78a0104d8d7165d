/* store_encoder.c - looks through a store for an encoder. */
#include "cli/training/store_encoder.h"

#include "base/model_names.h"
#include "tuning/encoder_trials.h"

#include <dirent.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sets the path of a model's latest version. */
static bool latest_of(const char *store, const char *model, char path[SL_PATH_MAX])
{
    char directory[SL_PATH_MAX];
    if (!sl_path_join(directory, store, model, NULL))
        return false;
    const long version = sl_version_latest(directory);
    return version > 0 &&
           snprintf(path, SL_PATH_MAX, "%s/%ld", directory, version) < (int)SL_PATH_MAX;
}

/* The one that came with this program is for those who have no other. */
static int is_model(const struct dirent *entry)
{
    return sl_model_name_is_valid(entry->d_name) && strcmp(entry->d_name, "base") != 0;
}

const char *store_encoder_find(const char *output, char path[SL_PATH_MAX])
{
    char copy[SL_PATH_MAX];
    struct dirent **models;
    const char *found = NULL;
    (void)snprintf(copy, sizeof copy, "%s", output);
    // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's writes to its argument alone
    const char *store = dirname(dirname(copy));
    const int count = scandir(store, &models, is_model, alphasort);
    for (int i = 0; i < count; i++) {
        if (!found && latest_of(store, models[i]->d_name, path) && sl_encoder_trials_can_use(path))
            found = path;
        free(models[i]);
    }
    if (count >= 0)
        free(models);
    return found;
}
