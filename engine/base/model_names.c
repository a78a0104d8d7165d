/* model_names.c - the rules for names, and the versions in a model's directory. */
#include "base/model_names.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(LONG_MAX == 9223372036854775807, "as the rule says");

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS  "0123456789"

/* `first`: what the first character may be. */
static bool is_name(const char *name, const char *first, size_t bytes_max)
{
    size_t bytes = strspn(name, LETTERS DIGITS "-_.");
    return strspn(name, first) > 0 && !name[bytes] && bytes <= bytes_max;
}

bool sl_model_name_is_valid(const char *name)
{
    return is_name(name, LETTERS DIGITS, SL_MODEL_NAME_BYTES_MAX);
}

bool sl_version_label_is_valid(const char *label)
{
    return is_name(label, LETTERS, SL_VERSION_LABEL_BYTES_MAX);
}

long sl_version_parse(const char *name)
{
    size_t digits = strspn(name, DIGITS);
    if (digits == 0 || digits > SL_VERSION_DIGITS_MAX || name[digits] || name[0] == '0')
        return 0;
    errno = 0;
    long version = strtol(name, NULL, 10);
    return errno == 0 ? version : 0;
}

long sl_version_latest(const char *directory)
{
    long highest = 0;
    DIR *entries = opendir(directory);
    if (!entries)
        return 0;
    /* The stream is local. NOLINTNEXTLINE(concurrency-mt-unsafe) */
    for (const struct dirent *entry; (entry = readdir(entries));) {
        long version = sl_version_parse(entry->d_name);
        highest = version > highest ? version : highest;
    }
    (void)closedir(entries);
    return highest;
}

long sl_version_next(const char *directory)
{
    long latest = sl_version_latest(directory);
    return latest < LONG_MAX ? latest + 1 : 0;
}
