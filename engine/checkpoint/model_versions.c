/* model_versions.c - the versions that a model has in a store. */
#include "sluice/model.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

long sl_version_parse(const char *name)
{
    size_t digits = strspn(name, "0123456789");
    bool fits = digits > 0 && digits <= SL_VERSION_DIGITS_MAX && !name[digits];
    return fits ? strtol(name, NULL, 10) : 0;
}

long sl_version_latest(const char *directory, char found[SL_VERSION_DIGITS_MAX + 1])
{
    long highest = 0;
    DIR *entries = opendir(directory);
    if (!entries)
        return 0;
    /* The stream is local. NOLINTNEXTLINE(concurrency-mt-unsafe) */
    for (const struct dirent *entry; (entry = readdir(entries));) {
        long version = sl_version_parse(entry->d_name);
        if (version <= highest)
            continue;
        highest = version;
        memcpy(found, entry->d_name, strlen(entry->d_name) + 1);
    }
    (void)closedir(entries);
    return highest;
}
