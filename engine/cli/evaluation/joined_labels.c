/* joined_labels.c - splits labels at a separator, and looks their parts up among the labels. */
#include "cli/evaluation/joined_labels.h"

#include <string.h>

/* Of those that split the same labels the first one counts. */
static const char *const separators[] = {" | ", "|",   "; ", ";",   ", ", ",", " / ",
                                         "/",   " + ", "+",  " & ", "#",  " "};

enum { SEPARATORS = sizeof separators / sizeof separators[0] };

/* The next part of a label; *key moves to the one after, or becomes NULL. */
static size_t next_part(const char **key, const char *separator)
{
    const char *end = strstr(*key, separator);
    const size_t bytes = end ? (size_t)(end - *key) : strlen(*key);
    *key = end ? end + strlen(separator) : NULL;
    return bytes;
}

static bool has_part(const char *key, const char *separator, const char *part, size_t bytes)
{
    while (key) {
        const char *at = key;
        if (next_part(&key, separator) == bytes && memcmp(at, part, bytes) == 0)
            return true;
    }
    return false;
}

static bool recurs(const struct sl_labels *labels, int32_t in, const char *separator,
                   const char *part, size_t bytes)
{
    for (int32_t i = 0; i < labels->count; i++)
        if (i != in && has_part(labels->list[i].key, separator, part, bytes))
            return true;
    return false;
}

/* Whether at least one part of a label is a label, too, and all others recur in labels. */
static bool is_joined(const struct sl_labels *labels, int32_t label, const char *separator)
{
    const char *key = labels->list[label].key;
    bool any = false, all = strstr(key, separator);
    while (key && all) {
        const char *part = key;
        const size_t bytes = next_part(&key, separator);
        any = any || sl_labels_find(labels, part, bytes) >= 0;
        all = bytes > 0;
    }
    for (key = labels->list[label].key; any && all && key;) {
        const char *part = key;
        const size_t bytes = next_part(&key, separator);
        all = sl_labels_find(labels, part, bytes) >= 0 ||
              recurs(labels, label, separator, part, bytes);
    }
    return any && all;
}

void joined_labels_find(struct joined_labels *joined, const struct sl_labels *labels)
{
    *joined = (struct joined_labels){0};
    for (int s = 0; s < SEPARATORS; s++) {
        struct joined_labels found = {.separator = separators[s]};
        for (int32_t i = 0; i < labels->count; i++) {
            if (!is_joined(labels, i, separators[s]))
                continue;
            found.first = found.count == 0 ? i : found.first;
            found.count++;
        }
        if (found.count > joined->count)
            *joined = found;
    }
}
