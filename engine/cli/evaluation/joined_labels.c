/* joined_labels.c - splits labels at a separator, and looks their parts up among the labels. */
#include "cli/evaluation/joined_labels.h"

#include <string.h>

static const char *const separators[] = {"|", " | ", ";", "; ", ",", ", ", "/", " / ", "+", " + "};

enum { SEPARATORS = sizeof separators / sizeof separators[0] };

static bool is_joined(const struct sl_labels *labels, const char *key, const char *separator)
{
    const size_t width = strlen(separator);
    const char *end = strstr(key, separator);
    if (!end)
        return false;
    for (; end; end = strstr(key, separator)) {
        if (sl_labels_find(labels, key, (size_t)(end - key)) < 0)
            return false;
        key = end + width;
    }
    return sl_labels_find(labels, key, strlen(key)) >= 0;
}

void joined_labels_find(struct joined_labels *joined, const struct sl_labels *labels)
{
    *joined = (struct joined_labels){0};
    for (int s = 0; s < SEPARATORS; s++) {
        struct joined_labels found = {.separator = separators[s]};
        for (int32_t i = 0; i < labels->count; i++) {
            if (!is_joined(labels, labels->list[i].key, separators[s]))
                continue;
            found.first = found.count == 0 ? i : found.first;
            found.count++;
        }
        if (found.count > joined->count)
            *joined = found;
    }
}
