/* version_labels.c - the labels of one model, in memory. */
#include "registry/registry_internal.h"

#include <string.h>

const char sv_stable[] = "stable", sv_canary[] = "canary";

/* Letters first, so that a label is never taken for a version. */
const char *sv_check_label(const char *label)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    static const char accepted[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                   "-_.";
    size_t bytes = strlen(label);
    if (bytes == 0 || bytes > SV_LABEL_BYTES_MAX || !strchr(letters, label[0]) ||
        label[strspn(label, accepted)] != '\0')
        return "a label begins with a letter and has at most 31 letters, digits, '-', '_' and '.'";
    return NULL;
}

static struct sv_label *find(struct sv_labels *labels, const char *name)
{
    for (int i = 0; i < labels->count; i++)
        if (strcmp(labels->items[i].name, name) == 0)
            return &labels->items[i];
    return NULL;
}

long sv_labels_find(const struct sv_labels *labels, const char *label)
{
    if (strcmp(label, sv_stable) == 0)
        return labels->stable;
    for (int i = 0; i < labels->count; i++)
        if (strcmp(labels->items[i].name, label) == 0)
            return labels->items[i].version;
    return 0;
}

static void move_stable(struct sv_labels *labels, long version)
{
    if (version != labels->stable)
        labels->previous = labels->stable;
    labels->stable = version;
    if (sv_labels_find(labels, sv_canary) == version)
        (void)sv_labels_remove(labels, sv_canary);
}

bool sv_labels_set(struct sv_labels *labels, const char *label, long version)
{
    struct sv_label *item = find(labels, label);
    if (strcmp(label, sv_stable) == 0) {
        move_stable(labels, version);
        return true;
    }
    if (!item && labels->count == SV_LABELS_MAX - 1)
        return false;
    if (!item) {
        item = &labels->items[labels->count++];
        memcpy(item->name, label, strlen(label) + 1); /* it was checked */
    }
    item->version = version;
    return true;
}

bool sv_labels_remove(struct sv_labels *labels, const char *label)
{
    struct sv_label *item = find(labels, label);
    if (!item)
        return false;
    if (strcmp(label, sv_canary) == 0)
        labels->weight = 0;
    labels->count--;
    memmove(item, item + 1, (size_t)(&labels->items[labels->count] - item) * sizeof *item);
    return true;
}

bool sv_labels_name(const struct sv_labels *labels, long version)
{
    for (int i = 0; i < labels->count; i++)
        if (labels->items[i].version == version)
            return true;
    return false;
}
